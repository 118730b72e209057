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
    """Compare methods by cross-validation on held-out bags, and select one.

    No label is needed.

    Parameters
    ----------
    bags : Bags
        The bags.
    methods : iterable of str or LLPClassifier, default=None
        Names of methods with their default settings, or untrained estimators. None means the fast methods and
        DLLP, see :data:`~llpgan.evaluation.selection.QUICK`.
    cv : int or cross-validation splitter, default=5
        The number of folds of whole bags, or a splitter, such as ``WithinBagKFold(5)`` for few large bags.
    score : {"cross_entropy", "total_variation", "hard_total_variation"}, default="cross_entropy"
        The score of held-out bags, see :class:`~llpgan.evaluation.BagScores`.
    prefer_simple : bool, default=False
        Whether to select the simplest method within one standard error of the best, instead of the best. It is
        faster and easier to explain, but often less accurate if bags are few and the standard error is large.
    random_state : int, default=0
        The seed of the folds, and of methods that have none of their own.
    n_jobs : int, default=1
        The number of processes. -1 means one per core.
    rows : str or Path, default=None
        A file (.jsonl) to which a row is appended whenever a fold finishes. A later call runs only the folds that
        the file lacks, so that an interrupted comparison continues. Rows of other data, folds or seeds are
        ignored. Only one comparison may write to the file at a time.
    time_limit : float, default=None
        The maximum number of seconds of one fit. A method that takes longer, fails, or needs too much memory gets
        a row with the reason, and is not run on further folds.
    listener : callable, default=None
        A function that is called with each row.

    Returns
    -------
    Comparison
        The scores of the methods, and the selected one.

    Raises
    ------
    ValueError
        If there is no such method or score, or a number is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> X, bag = np.arange(80.0)[:, None] % 40, np.arange(80) // 8
    >>> bags = Bags.from_labels(X, X[:, 0] >= 20, groups=bag)
    >>> compare(bags, ["MeanMap", "InvCal"], cv=2).chosen
    'MeanMap'
    """
    if score not in SCORES:
        raise ValueError(f"score={score!r}: must be one of {', '.join(SCORES)}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give at least 1, or -1 for one process per core")
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
