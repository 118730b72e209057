"""The comparison itself: every method on every fold, in any number of processes; what was stopped goes on."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.selection.candidates import OVERALL, OverallShares, candidates
from llpgan.evaluation.selection.comparison import Comparison
from llpgan.evaluation.selection.folds import Splitter, row_splits
from llpgan.evaluation.selection.trial_rows import append_row, read_rows
from llpgan.evaluation.selection.trials import SCORES, Row, trial
from llpgan.utils.file_locks import only_writer

_Splits = list[tuple[Any, Any]]
_Cell = tuple[str, int]  # a method, and a fold


def compare(
    bags: Bags,
    methods: Iterable[str | LLPClassifier] | None = None,
    *,
    cv: int | Splitter = 5,
    score: str = "cross_entropy",
    prefer_simple: bool = False,
    random_state: int = 0,
    n_jobs: int = 1,
    rows: str | Path | None = None,
    time_limit: float | None = None,
    listener: Callable[[Row], None] | None = None,
) -> Comparison:
    """Judge methods by bags that they have not seen, and choose one; no label is needed.

    Args:
        bags: that are known.
        methods: names or untrained estimators; None for those that are quick or good, see
            :data:`~llpgan.evaluation.selection.candidates.QUICK`. A name stands for the usual settings.
        cv: so many folds of whole bags; or a splitter, such as ``WithinBagKFold(5)`` for few large bags.
        score: "cross_entropy", "total_variation" or "hard_total_variation" of bags, see
            :class:`~llpgan.evaluation.BagScores`.
        prefer_simple: choose the simplest method within one standard error of the best, instead of the best; it is
            quicker and easier to explain, but with few bags, where the error is large, often less accurate.
        random_state: of the folds, and of methods that have none of their own.
        n_jobs: how many processes; -1 for one a core.
        rows: a file (.jsonl) that rows are appended to as folds finish. What it has is not run again, so that a
            comparison that was stopped goes on; rows of other data, folds or seeds are left alone. Only one
            comparison at a time may write to it.
        time_limit: seconds that one fit may take. A method that takes longer, fails, or is refused for want of
            memory has a row with the reason, and is not tried on further folds.
        listener: called with every row as it comes.

    >>> import numpy as np
    >>> X, bag = np.arange(80.0)[:, None] % 40, np.arange(80) // 8
    >>> bags = Bags.from_labels(X, X[:, 0] >= 20, groups=bag)
    >>> compare(bags, ["MeanMap", "InvCal"], cv=2).chosen
    'MeanMap'
    """
    if score not in SCORES:
        raise ValueError(f"score={score!r}: must be one of {', '.join(SCORES)}")
    if n_jobs == 0:
        raise ValueError("0 processes cannot run anything: give one at least, or -1 for one a core")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"a fit cannot end within {time_limit:g} seconds (time_limit): give a number above 0")
    named = candidates(methods, random_state)
    splits = row_splits(bags, cv, random_state)
    run = _digest(bags, splits, random_state)
    names = [OVERALL, *named]
    cells = [(name, fold) for fold in range(len(splits)) for name in names]
    with nullcontext() if rows is None else only_writer(Path(rows)):
        found = _known(rows, run, time_limit)
        known = {cell: found[cell] for cell in cells if cell in found}
        for (name, fold), row in _tried(
            {OVERALL: OverallShares(), **named}, cells, known, bags, splits, n_jobs, time_limit
        ):
            whole = {"run": run, "method": name, "fold": fold, **row}
            known[name, fold] = whole
            if rows is not None:
                append_row(Path(rows), whole)
            if listener is not None:
                listener(whole)
    return Comparison(named, [known[cell] for cell in cells if cell in known], score, prefer_simple)


def _tried(
    methods: dict[str, LLPClassifier],
    cells: list[_Cell],
    known: dict[_Cell, Row],
    bags: Bags,
    splits: _Splits,
    n_jobs: int,
    time_limit: float | None,
) -> Iterator[tuple[_Cell, Row]]:
    """A row for each cell that is not known, as it comes; fold after fold, so that methods stay comparable."""
    failed = {name for (name, _), row in known.items() if "failed" in row}
    missing = (cell for cell in cells if cell not in known and cell[0] not in failed)
    tasks = (
        joblib.delayed(_trial_of)(cell, methods[cell[0]], bags, *splits[cell[1]], time_limit) for cell in missing
    )
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    for cell, row in parallel(tasks):
        if "failed" in row:
            failed.add(cell[0])
        yield cell, row


def _trial_of(
    cell: _Cell, method: LLPClassifier, bags: Bags, train: Any, test: Any, time_limit: float | None
) -> tuple[_Cell, Row]:
    return cell, trial(method, bags, train, test, time_limit)


def _known(path: str | Path | None, run: str, time_limit: float | None) -> dict[_Cell, Row]:
    """The rows that a file has of this run, but not those that failed under another time limit."""
    rows = [] if path is None else read_rows(Path(path))
    mine = [row for row in rows if row.get("run") == run]
    again = [row for row in mine if "failed" in row and row.get("time_limit") != time_limit]
    return {(row["method"], row["fold"]): row for row in mine if row not in again}


def _digest(bags: Bags, splits: _Splits, random_state: int) -> str:
    """A short name of the data, the folds and the seed."""
    tests = b"|".join(np.asarray(test, dtype=np.int64).tobytes() for _, test in splits)
    return hashlib.blake2b(f"{bags.digest}|{random_state}|".encode() + tests, digest_size=8).hexdigest()
