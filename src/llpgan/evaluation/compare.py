"""Comparison of methods on held-out bags."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import paired_error
from llpgan.evaluation.scores import bag_scores
from llpgan.evaluation.splitters import Splitter, row_splits
from llpgan.methods import METHODS, estimator_class
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array, to_frame
from llpgan.utils.files import lock_for_writing
from llpgan.utils.json_files import matches
from llpgan.utils.messages import html_table, remove_addresses
from llpgan.utils.workers import processes

#: Methods from the simplest to the most complex: one convex problem before several, all of them before trees and a
#: network, and one network before two that play against each other. :attr:`Comparison.simplest` uses this order.
SIMPLEST_FIRST = (
    "MeanMap",
    "LaplacianMeanMap",
    "InvCal",
    "AlternatingMeanMap",
    "BagLogistic",
    "ConvSVM",
    "AlterSVM",
    "BagBoosting",
    "AutoLLP",
    "DLLP",
    "MomentMatching",
    "CountLLP",
    "DSQ",
    "ROT",
    "MixBag",
    "LLPFC",
    "LLPDC",
    "LLPVAT",
    "LLPGAN",
)
#: The methods that :func:`compare` tries by default: each takes seconds on tens of thousands of rows.
QUICK = ("MeanMap", "LaplacianMeanMap", "InvCal", "BagLogistic", "BagBoosting", "AutoLLP")
#: The default for tables, which itself weighs methods by held-out bags: it is selected if it is close to the best.
PREFERRED = "AutoLLP"
OVERALL = "overall shares"
_CLEARLY = 2.0  # standard errors by which another method must be better than the preferred one


class OverallShares(LLPClassifier):
    """Baseline that ignores the features: it predicts the overall proportion of each class for every instance.

    Attributes
    ----------
    shares_ : ndarray of shape (n_classes,)
        The proportions of the classes among all instances.
    {inherited}
    """

    takes_weights = takes_bag_weights = takes_partial = True

    def fit_bags(self, bags: Bags) -> Self:
        """Note the shares."""
        bags = self._start(bags)
        self.shares_ = bags.prior
        return self

    def _probabilities(self, instances: Array) -> Array:
        return np.tile(self.shares_, (len(instances), 1))


def candidates(methods: Iterable[str | LLPClassifier] | None, random_state: int) -> dict[str, LLPClassifier]:
    """Untrained methods by name, with the seed where they take one; those of :data:`QUICK` if none are given.

    A name tells the settings that differ from the usual ones.

    >>> from llpgan import InvCal
    >>> list(candidates(["MeanMap", InvCal(kernel="rbf")], random_state=0))
    ['MeanMap', "InvCal(kernel='rbf')"]
    """
    given = [_as_method(method) for method in (QUICK if methods is None else methods)]
    named = {name_method(method): set_seed(method, random_state) for method in given}
    if not named:
        raise ValueError(f"no method to compare: name some of {', '.join(METHODS)}")
    if len(named) < len(given):
        raise ValueError(
            f"the same method is given twice, among {', '.join(name_method(method) for method in given)}"
        )
    return named


def default_candidates(bags: Bags) -> tuple[str, ...]:
    """The methods that are compared if none are named: those of :data:`QUICK`, and for images a network too."""
    return QUICK if bags.instances.ndim == 2 else (*QUICK, "DLLP")


def name_method(method: LLPClassifier) -> str:
    """The method, and the settings that differ from the usual ones; 3.0 does not differ from 3.

    >>> from llpgan import InvCal
    >>> name_method(InvCal(kernel="rbf", degree=3.0))
    "InvCal(kernel='rbf')"
    """
    usual = {name: parameter.default for name, parameter in signature(type(method)).parameters.items()}
    settings = {name: value for name, value in method.get_params(deep=False).items() if value != usual.get(name)}
    listed = ", ".join(f"{name}={getattr(value, '__name__', repr(value))}" for name, value in settings.items())
    return type(method).__name__ + (f"({remove_addresses(' '.join(listed.split()))})" if listed else "")


def simplicity(method: LLPClassifier) -> int:
    """Its place in :data:`SIMPLEST_FIRST`; methods of a user's own come last."""
    name = type(method).__name__
    return SIMPLEST_FIRST.index(name) if name in SIMPLEST_FIRST else len(SIMPLEST_FIRST)


def _as_method(method: str | LLPClassifier) -> LLPClassifier:
    if isinstance(method, LLPClassifier):
        return method
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: name some of {', '.join(METHODS)}")
    made: LLPClassifier = estimator_class(method)()
    return made


def set_seed(method: LLPClassifier, random_state: int) -> LLPClassifier:
    """An untrained copy with this seed, if the method takes one and has none yet.

    >>> from llpgan import BagLogistic
    >>> set_seed(BagLogistic(), 7), set_seed(BagLogistic(random_state=0), 7)
    (BagLogistic(random_state=7), BagLogistic(random_state=0))
    """
    copied: LLPClassifier = clone(method)
    settings = copied.get_params(deep=False)
    if "random_state" in settings and settings["random_state"] is None:
        copied.set_params(random_state=random_state)
    return copied


Row = dict[str, Any]
SCORES = ("cross_entropy", "total_variation", "hard_total_variation")
_DIGITS = 10  # that a row keeps of a score


def run_trial(method: LLPClassifier, bags: Bags, train: Any, test: Any, time_limit: float | None = None) -> Row:
    """Every score of every bag that was held out; or why there is none.

    Parameters
    ----------
    method : LLPClassifier
        Untrained; a copy of it learns.
    bags : Bags
        All of them.
    train : object
        The rows to learn from.
    test : object
        The rows to judge by.
    time_limit : float, default=None
        Seconds that it may take.
    """
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            with run_within_time(time_limit):
                row = _score_trial(clone(method).fit_bags(bags.take_rows(train)), bags, test)
        except Exception as error:  # a method that fails must not end the comparison
            row = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())}", "time_limit": time_limit}
    notes = sorted({str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)})
    return {**row, "notes": notes, "seconds": round(time.perf_counter() - started, 3)}


@contextmanager
def run_within_time(seconds: float | None) -> Iterator[None]:
    """Raise :class:`TimeoutError` after so many seconds, as soon as Python code runs again."""
    if seconds is None:
        yield
        return
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise ValueError("a time limit needs a system with alarms (not Windows) and the main thread")
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _give_up(*_: object) -> None:
    raise TimeoutError("it took longer than the time limit")


def _score_trial(model: LLPClassifier, bags: Bags, test: Any) -> Row:
    held_out = bags.take_rows(test)
    scores = bag_scores(held_out, model.predict_proba(held_out))
    place = {name: position for position, name in enumerate(bags.bag_ids)}
    found = {name: [round(value, _DIGITS) for value in getattr(scores, name).tolist()] for name in SCORES}
    return {"bags": [place[name] for name in held_out.bag_ids], **found}


_BEGINNING = b'{"run": "'  # of every row
_TEXTS, _NUMBERS = ("run", "method"), ("fold", "seconds")


def read_rows(path: Path) -> list[Row]:
    r"""The rows of a file, but for a last one that a kill cut short. The file stays as it is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> append_row(path, {"run": "a", "method": "MeanMap", "fold": 0, "failed": "too slow", "seconds": 9.1})
    >>> _ = path.write_text(path.read_text() + '{"run": "a", "meth')
    >>> [row["failed"] for row in read_rows(path)]
    ['too slow']
    """
    content = _content(path)
    whole = content[: len(content) - len(_cut_short(content))]
    return [_parse_row(path, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def append_row(path: Path, row: Row) -> None:
    """Add a row, in place of one that was cut short, and see it on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _content(path)
    n_whole = len(content) - len(_cut_short(content))
    line_break = b"\n" if n_whole and not content[:n_whole].endswith(b"\n") else b""
    with path.open("ab") as file:
        file.truncate(n_whole)
        file.write(line_break + json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file of rows, but a folder or a device")
    return path.read_bytes() if path.exists() else b""


def _cut_short(content: bytes) -> bytes:
    """The last line, if it is the beginning of a row and not all of it."""
    last = content[content.rfind(b"\n") + 1 :]
    if not last or not (last.startswith(_BEGINNING) or _BEGINNING.startswith(last)):
        return b""
    try:
        json.loads(last)
    except ValueError:
        return last
    return b""


def _parse_row(path: Path, number: int, line: bytes) -> Row:
    try:
        row: Row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}, line {number}: not a row of a comparison ({error})") from error
    if not _is_row(row):
        raise ValueError(f"{path}, line {number}: not a row of a comparison, but {line[:60].decode()!r}")
    return row


def _is_row(row: Any) -> bool:
    """Whether it names a method and a fold, and either scores of bags or why there are none."""
    if not isinstance(row, dict):
        return False
    if not all(isinstance(row.get(name), str) for name in _TEXTS):
        return False
    if not all(_is_json_number(row.get(name)) for name in _NUMBERS):
        return False
    if not matches(row.get("notes", []), list[str]):
        return False
    if "failed" in row:
        return isinstance(row["failed"], str)
    lists: list[Any] = [row.get(name) for name in ("bags", *SCORES)]
    if not all(isinstance(each, list) and each and all(map(_is_json_number, each)) for each in lists):
        return False
    return len(set(map(len, lists))) == 1


def _is_json_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Result:
    """The result of one method in a comparison.

    Attributes
    ----------
    name : str
        The name of the method, with the settings that differ from the defaults.
    score : float or None
        The mean score over held-out bags. None if a fold failed.
    worse_by : float or None
        The difference to the score of the best method.
    error : float or None
        The standard error of ``worse_by``, computed from differences bag by bag.
    seconds : float or None
        The mean time of a fold.
    failed : str or None
        The reason why there is no score.
    notes : tuple of str
        The warnings of the method.
    """

    name: str
    score: float | None = None
    worse_by: float | None = None
    error: float | None = None
    seconds: float | None = None
    failed: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared by cross-validation on held-out bags.

    Attributes
    ----------
    methods : dict
        The untrained estimators by name.
    rows : sequence of dict
        One row per method and fold, in the order of folds and methods.
    score : str
        The score by which methods are compared, see :class:`~llpgan.evaluation.BagScores`. Lower is better.
    prefer_simple : bool
        Whether the simplest of the methods close to the best is selected.
    """

    methods: dict[str, LLPClassifier]
    rows: Sequence[Row]
    score: str
    prefer_simple: bool = False

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The result of each method, the best first and those that failed last."""
        found = (self._result(name) for name in [*self.methods, OVERALL])
        return tuple(sorted(found, key=lambda result: np.inf if result.score is None else result.score))

    @property
    def methods_with_scores(self) -> tuple[str, ...]:
        """The names of the methods that no fold failed for."""
        return tuple(name for name in self.methods if name in self._by_bag)

    @property
    def best(self) -> str:
        """The method with the lowest score."""
        if not self.methods_with_scores:
            why = "; ".join(f"{row['method']}: {row['failed']}" for row in self.rows if "failed" in row)
            raise ValueError(f"no method could be judged: {why}")
        return min(self.methods_with_scores, key=lambda name: float(np.mean(self._by_bag[name])))

    @property
    def chosen(self) -> str:
        """The name of the selected method.

        AutoLLP if it is within two standard errors of the best, bag by bag, else the best; with ``prefer_simple``
        the simplest close to it.
        """
        if self.prefer_simple:
            return self.simplest
        defaults = (name for name, method in self.methods.items() if type(method).__name__ == PREFERRED)
        return next((name for name in defaults if self.is_near(name, _CLEARLY)), self.best)

    @property
    def simplest(self) -> str:
        """The simplest method within one standard error of the best, bag by bag.

        :data:`~llpgan.evaluation.compare.SIMPLEST_FIRST` defines which method is simpler. Time does not matter,
        so that the same data give the same selection. Of two settings of one method, the first is selected.
        """
        near = [name for name in self.methods if self.is_near(name)]
        return min(near, key=lambda name: simplicity(self.methods[name]))  # the first of equals

    @property
    def beats_overall_shares(self) -> bool:
        """Whether the selected method beats the overall proportions on held-out bags by a standard error."""
        rise, error = self._compare_pair(OVERALL, self.chosen)
        return rise > error

    def refit(self, bags: Bags) -> LLPClassifier:
        """Train the selected method on all bags.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        LLPClassifier
            The fitted model.
        """
        model: LLPClassifier = clone(self.methods[self.chosen])
        return model.fit_bags(bags)

    def is_near(self, name: str, n_errors: float = 1.0) -> bool:
        """Return whether a method is within some standard errors of the best.

        Parameters
        ----------
        name : str
            The name of the method.
        n_errors : float, default=1.0
            The number of standard errors.

        Returns
        -------
        bool
            Whether it is; False if it failed.
        """
        best = self.best
        if name not in self._by_bag:
            return False
        rise, error = self._compare_pair(name, best)
        return rise <= n_errors * error

    def to_frame(self) -> Any:
        """The results as a pandas frame: one row per method, the best first.

        Returns
        -------
        pandas.DataFrame
            The columns of :class:`Result`, and ``chosen``.
        """
        shown = ("name", "score", "worse_by", "error", "seconds", "failed")
        columns = {name: [getattr(result, name) for result in self.results] for name in shown}
        return to_frame({**columns, "chosen": [result.name == self.chosen for result in self.results]})

    def __repr__(self) -> str:
        found = f"chosen: {self.chosen}" if self.methods_with_scores else "none could be judged"
        return f"Comparison({', '.join(self.methods)}; {found})"

    def _repr_html_(self) -> str:

        return as_html(self)

    @cached_property
    def _by_bag(self) -> dict[str, NDArray[np.float64]]:
        """The mean score of each bag, of the methods that no fold failed for."""
        names = [*self.methods, OVERALL]
        rows = {name: [row for row in self.rows if row["method"] == name] for name in names}
        return {
            name: _mean_by_bag(found, self.score)
            for name, found in rows.items()
            if found and not any("failed" in row for row in found)
        }

    def _compare_pair(self, name: str, other: str) -> tuple[float, float]:
        """By how much a method is worse than another, and the standard error of that."""
        losses, others = self._by_bag[name], self._by_bag[other]
        return float((losses - others).mean()), paired_error(losses, others)

    def _result(self, name: str) -> Result:
        rows = [row for row in self.rows if row["method"] == name]
        notes = tuple(sorted({note for row in rows for note in row.get("notes", ())}))
        seconds = float(np.mean([row["seconds"] for row in rows])) if rows else None
        if name not in self._by_bag:
            reasons: list[Any] = [row["failed"] for row in rows if "failed" in row]
            return Result(name, failed=reasons[0] if reasons else "not tried", seconds=seconds, notes=notes)
        worse_by, error = self._compare_pair(name, self.best)
        return Result(name, float(self._by_bag[name].mean()), worse_by, error, seconds, notes=notes)


def _mean_by_bag(rows: Sequence[Row], score: str) -> NDArray[np.float64]:
    """Each bag's mean over the folds that held it out, in the order of bags."""
    bags = np.concatenate([row["bags"] for row in rows])
    values = np.concatenate([row[score] for row in rows])
    _, place = np.unique(bags, return_inverse=True)
    return np.bincount(place, values) / np.bincount(place)


_HEAD = ("method", "score", "worse by", "s per fold", "")
SCORES_IN_WORDS = {
    "cross_entropy": "cross-entropy of held-out bags",
    "total_variation": "bag error (total variation) of held-out bags",
    "hard_total_variation": "bag error of predicted classes, held-out bags",
}


def as_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row a method, the best first: its score, how much worse than the best with the standard error, seconds."""
    return [(result.name, *_figures(result), remark(comparison, result)) for result in comparison.results]


def as_table(comparison: Comparison) -> Table:
    """For a terminal."""
    title = f"{SCORES_IN_WORDS[comparison.score].capitalize()}, the best method first"
    table = Table(*_HEAD, title=title, title_justify="left")
    for column in table.columns[:-1]:
        column.no_wrap = True
    for cells in as_cells(comparison):
        table.add_row(*cells)
    return table


def as_markdown(comparison: Comparison) -> str:
    """For a file: the table, and what methods warned of."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in as_cells(comparison)]
    notes = [f"- {result.name}: {note}" for result in comparison.results for note in result.notes]
    about = (
        f"Score: {SCORES_IN_WORDS[comparison.score]}; ± one standard error, bag by bag; near the best: within it."
    )
    return "\n".join(["# Comparison", "", about, "", *lines, *([""] if notes else []), *notes]) + "\n"


def as_html(comparison: Comparison) -> str:
    """For a notebook."""
    columns = dict(zip(_HEAD, zip(*as_cells(comparison), strict=True), strict=True))
    note = "± one standard error of the difference, bag by bag; the lower the score, the better."
    return html_table(columns, SCORES_IN_WORDS[comparison.score].capitalize(), most=40, note=note)


def _figures(result: Result) -> tuple[str, str, str]:
    seconds = "" if result.seconds is None else f"{result.seconds:.1f}"
    if result.score is None:
        return "", "", seconds
    return f"{result.score:.4f}", f"{result.worse_by:.4f} ± {result.error:.4f}", seconds


def remark(comparison: Comparison, result: Result) -> str:
    """What there is to say of a method: chosen, near the best, or why it failed."""
    if result.failed:
        return result.failed
    if result.name == comparison.chosen:
        return "chosen"
    if result.name == OVERALL:
        return "baseline"
    return "near the best" if comparison.is_near(result.name) else ""


def check_comparison(score: str, n_jobs: int, time_limit: float | None) -> None:
    """Refuse settings of a comparison that are out of their range."""
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, got {score!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give at least 1, or -1 for one process per core")
    if n_jobs != 1 and processes()[0] > 1:
        raise ValueError(f"n_jobs={n_jobs}, but torchrun divides each training already: leave it at 1 there")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"a fit cannot end within {time_limit:g} seconds (time_limit): give a number above 0")


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
        Names of methods with their default settings, or untrained estimators. None means those that take seconds,
        see :data:`~llpgan.evaluation.compare.QUICK`, and for images DLLP too.
    cv : int or cross-validation splitter, default=5
        The number of folds of whole bags, or a splitter, such as ``WithinBagKFold(5)`` for few large bags.
    score : {"cross_entropy", "total_variation", "hard_total_variation"}, default="cross_entropy"
        The score of held-out bags, see :class:`~llpgan.evaluation.BagScores`.
    prefer_simple : bool, default=False
        Whether to select the simplest method within one standard error of the best, which is faster and easier to
        explain, but often less accurate if bags are few and the standard error is large. Otherwise AutoLLP is
        selected if it is compared and within two standard errors of the best, and else the best.
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
    check_comparison(score, n_jobs, time_limit)
    if methods is None:
        methods = default_candidates(bags)
    bags, named = bags.drop_weightless(), candidates(methods, random_state)
    splits = row_splits(bags, cv, random_state)
    run = _digest(bags, splits, random_state)
    names = [OVERALL, *named]
    cells = [(name, fold) for fold in range(len(splits)) for name in names]
    with nullcontext() if rows is None else lock_for_writing(Path(rows)):
        found = _read_known_trials(rows, run, time_limit)
        known = {cell: found[cell] for cell in cells if cell in found}
        for (name, fold), row in _run_trials(
            {OVERALL: OverallShares(), **named}, cells, known, bags, splits, n_jobs, time_limit
        ):
            whole = {"run": run, "method": name, "fold": fold, **row}
            known[name, fold] = whole
            if rows is not None:
                append_row(Path(rows), whole)
            if listener is not None:
                listener(whole)
    return Comparison(named, [known[cell] for cell in cells if cell in known], score, prefer_simple)


def _run_trials(
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
        joblib.delayed(_run_cell)(cell, methods[cell[0]], bags, *splits[cell[1]], time_limit) for cell in missing
    )
    backend, _ = joblib.parallel.get_active_backend()
    as_they_come = "generator_unordered" if backend.supports_return_generator else "list"  # as with Ray
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as=as_they_come, pre_dispatch="n_jobs", batch_size=1)
    for cell, row in parallel(tasks):
        if "failed" in row:
            failed.add(cell[0])
        yield cell, row


def _run_cell(
    cell: _Cell, method: LLPClassifier, bags: Bags, train: Any, test: Any, time_limit: float | None
) -> tuple[_Cell, Row]:
    return cell, run_trial(method, bags, train, test, time_limit)


def _read_known_trials(path: str | Path | None, run: str, time_limit: float | None) -> dict[_Cell, Row]:
    """The rows that a file has of this run, but not those that failed under another time limit."""
    rows = [] if path is None else read_rows(Path(path))
    mine = [row for row in rows if row.get("run") == run]
    again = [row for row in mine if "failed" in row and row.get("time_limit") != time_limit]
    return {(row["method"], row["fold"]): row for row in mine if row not in again}


def _digest(bags: Bags, splits: _Splits, random_state: int) -> str:
    """A short name of the data, the folds and the seed."""
    tests = b"|".join(np.asarray(test, dtype=np.int64).tobytes() for _, test in splits)
    return hashlib.blake2b(f"{bags.digest}|{random_state}|".encode() + tests, digest_size=8).hexdigest()
