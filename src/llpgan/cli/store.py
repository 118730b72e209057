"""``llpgan store``: rows that do not fit into memory, sorted by bag into a folder that ``fit`` can learn from."""

from typing import Any

from llpgan.bags import Bags
from llpgan.cli.command_options import passing_on
from llpgan.cli.console import terminal
from llpgan.cli.fit import in_words
from llpgan.tables.store import store_tables


@passing_on(Bags.from_tables, "instances")
def store(data: str, *, to: str = "store", overwrite: bool = False, **tables: Any) -> Bags:
    """Sort rows by bag into a store, in little memory for any number of rows; llpgan fit learns from it.

    Parameters
    ----------
    data : str
        A Parquet file or a folder of Parquet files, a CSV file, a folder with one folder of images per bag, or an
        .npy or .npz file.
    to : str, default="store"
        The folder for the store.
    overwrite : bool, default=False
        Replace a store that is there.
    **tables : dict
        The parameters of store_tables.

    Examples
    --------
    llpgan store people.parquet --bag state --proportions results.csv --to people_store
    """
    bags = store_tables(data, to, overwrite=overwrite, **tables)
    terminal(stderr=True).print(f"saved {to}: {in_words(bags)}")
    return bags
