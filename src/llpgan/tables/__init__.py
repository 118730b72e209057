"""Tables, images and arrays of users: reading, checking, encoding, and joining with the proportions of bags."""

from llpgan.tables.array_sources import rows_of_array
from llpgan.tables.bag_counting import label_values
from llpgan.tables.column_kinds import Columns
from llpgan.tables.marginal_tables import MarginalTables
from llpgan.tables.open_rows import open_rows
from llpgan.tables.row_streams import open_stream
from llpgan.tables.rows import Encoder, Rows, RowStream
from llpgan.tables.table_bags import bags_from_tables, shared_bags
from llpgan.tables.table_encoder import TableEncoder
from llpgan.tables.table_readers import is_table, read_table
from llpgan.tables.table_spec import TableSpec

__all__ = [
    "Columns",
    "Encoder",
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
