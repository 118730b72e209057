"""What users have: tables, images, arrays; read, checked, encoded, and joined with their bags' proportions."""

from llpgan.sources.arrays import rows_of_array
from llpgan.sources.assembly import bags_from_tables, label_values, shared_bags
from llpgan.sources.columns import Columns
from llpgan.sources.opening import open_rows
from llpgan.sources.reading import is_table, read_table
from llpgan.sources.rows import Encoder, Rows
from llpgan.sources.streams import RowStream, open_stream
from llpgan.sources.table_encoder import TableEncoder

__all__ = [
    "Columns",
    "Encoder",
    "RowStream",
    "Rows",
    "TableEncoder",
    "bags_from_tables",
    "is_table",
    "label_values",
    "open_rows",
    "open_stream",
    "read_table",
    "rows_of_array",
    "shared_bags",
]
