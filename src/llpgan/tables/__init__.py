"""What users have: tables, images, arrays; read, checked, encoded, and joined with their bags' proportions."""

from llpgan.tables.array_sources import rows_of_array
from llpgan.tables.assembly import bags_from_tables, label_values, shared_bags
from llpgan.tables.column_kinds import Columns
from llpgan.tables.open_rows import open_rows
from llpgan.tables.row_streams import RowStream, open_stream
from llpgan.tables.rows import Encoder, Rows
from llpgan.tables.table_encoder import TableEncoder
from llpgan.tables.table_readers import is_table, read_table

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
