"""Tables, images and arrays of users: reading, checking, encoding, and joining with the proportions of bags."""

from llpgan.tables.backbones import ImagePreprocessing
from llpgan.tables.build import bags_from_tables, shared_bags
from llpgan.tables.embedding import Embedding
from llpgan.tables.encode import Columns, TableEncoder
from llpgan.tables.join import label_values
from llpgan.tables.marginals import MarginalTables
from llpgan.tables.read import Encoder, Rows, RowStream, is_table, read_table
from llpgan.tables.spec import TableSpec
from llpgan.tables.streams import open_rows, open_stream, rows_of_array

__all__ = [
    "Columns",
    "Embedding",
    "Encoder",
    "ImagePreprocessing",
    "MarginalTables",
    "RowStream",
    "Rows",
    "TableEncoder",
    "TableSpec",
    "bags_from_tables",
    "is_table",
    "label_values",
    "open_rows",
    "open_stream",
    "read_table",
    "rows_of_array",
    "shared_bags",
]
