"""``llpgan store``: rows that do not fit into memory, sorted by bag into a folder that ``fit`` can learn from."""

from typing import Any

from llpgan.bags import Bags
from llpgan.cli.command_options import passing_on
from llpgan.cli.console import terminal
from llpgan.cli.fit import in_words
from llpgan.tables.store import store_tables


@passing_on(Bags.from_tables, "instances")
def store(data: str, *, to: str = "store", overwrite: bool = False, **tables: Any) -> Bags:
    """Sort rows by bag into a store, in little memory however many there are; llpgan fit learns from it.

    Examples:
        llpgan store people.parquet --bag state --proportions results.csv --to people_store

    Args:
        data: a Parquet file or a folder of such, a CSV file, a folder of folders of images, or an .npy or .npz.
        to: the folder for the store.
        overwrite: replace the store that is there.
        tables: see store_tables.
    """
    bags = store_tables(data, to, overwrite=overwrite, **tables)
    terminal(stderr=True).print(f"saved {to}: {in_words(bags)}")
    return bags
