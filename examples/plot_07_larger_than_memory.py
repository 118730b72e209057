"""
Data larger than memory
=======================

A store is a folder that holds encoded rows, sorted by bag. It is written once, in little memory, and training
reads only the bags of each step from it. Here the table is small, but nothing changes if it is not.
"""

# %%
# A Parquet file of 20,000 rows in 200 bags, written in row groups as a database would export it.
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
site = rng.integers(200, size=20_000)
bought = rng.random(20_000) < np.linspace(0.1, 0.7, 200)[site]
visits = pa.table(
    {
        "site": site,
        "seconds": rng.gamma(2 + 2 * bought, 20),
        "device": np.where(rng.random(20_000) < 0.3 + 0.3 * bought, "desktop", "phone"),
    }
)
pq.write_table(visits, folder / "visits.parquet", row_group_size=4096)
sites = np.arange(200)
bought_share = np.array([bought[site == number].mean() for number in sites])
shares = {"site": sites, "left": 1 - bought_share, "bought": bought_share}

# %%
# Write the store. Its memory depends on the number of bags, not on the number of rows.
from llpgan.tables import store

bags = store.store_tables(
    folder / "visits.parquet", folder / "visits_store", shares, bag="site"
)
print(*sorted(path.name for path in (folder / "visits_store").iterdir()))

# %%
# ``bags.instances`` stays on disk; a bag is read when it is needed.
bags.instances[bags.rows_of(0)].shape

# %%
# Deep methods learn from it step by step.
from llpgan import DLLP

model = DLLP(epochs=3, bags_per_step=8, calibrate=False, random_state=0).fit_bags(bags)
predicted = model.predict(folder / "visits.parquet")
print(
    f"accuracy on single visits: {np.mean(predicted == np.where(bought, 'bought', 'left')):.3f}"
)

# %%
from llpgan.report import ProportionDisplay

display = ProportionDisplay.from_estimator(
    model, store.open_store(folder / "visits_store"), n_named=0
)
