"""Bags larger than memory: a folder that holds the instances sorted by bag, which are read as needed.

>>> import tempfile
>>> from llpgan.tables import store as stores
>>> people = {"age": [20, 60, 44, 31], "state": ["Ohio", "Iowa", "Ohio", "Iowa"]}  # or a file: people.parquet
>>> results = {"state": ["Iowa", "Ohio"], "no": [1.0, 0.5], "yes": [0.0, 0.5]}
>>> with tempfile.TemporaryDirectory() as folder:
...     stored = stores.store_tables(people, f"{folder}/people", results, bag="state")
...     bags = stores.open_store(f"{folder}/people")  # on another day
...     bags, bags.instances[bags.rows_of(1)].round(2)
(Bags(4 instances of shape (1,), 2 bags of 2 to 2, 2 classes), array([[-1.26],
       [ 0.35]], dtype=float32))
"""

from llpgan.bags.stored_instances import StoredInstances
from llpgan.tables.store.store_folder import is_store, open_store
from llpgan.tables.store.store_writing import store_bags, store_tables

__all__ = ["StoredInstances", "is_store", "open_store", "store_bags", "store_tables"]
