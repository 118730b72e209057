"""Fit PyEI's model of one district, in an environment that has it: ``python -P pyei_fit.py margins.npz out.json``.

PyEI's requirements are not those of llpgan, so this file imports nothing from it.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

MODEL = "multinomial-dirichlet"
TUNE, DRAWS, CHAINS = 500, 500, 2


def main(margins: str, shares: str) -> None:
    warnings.filterwarnings("ignore")
    from pyei import RowByColumnEI  # type: ignore[import-not-found, unused-ignore]

    given, started = np.load(margins), time.process_time()
    groups, outcomes = given["groups"], given["outcomes"]
    totals = groups.sum(axis=1)
    model = RowByColumnEI(model_name=MODEL)
    model.fit(
        (groups / totals[:, None]).T,
        (outcomes / totals[:, None]).T,
        totals.astype(int),
        [f"group {i}" for i in range(groups.shape[1])],
        [f"outcome {i}" for i in range(outcomes.shape[1])],
        tune=TUNE,
        draws=DRAWS,
        chains=CHAINS,
        cores=1,
        random_seed=0,
        progressbar=False,
    )
    ends = np.asarray(model.credible_interval_95_mean_voting_prefs)
    found = {
        "shares": np.asarray(model.posterior_mean_voting_prefs).tolist(),
        "low": ends[..., 0].tolist(),
        "high": ends[..., 1].tolist(),
        "seconds": round(time.process_time() - started, 2),
    }
    Path(shares).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
