"""One trial: a method learns from a part of the bags and is judged by the others; whatever happens is a row."""

import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import clone

from llpgan.bags import Bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.bag_scores import bag_scores

Row = dict[str, Any]
SCORES = ("cross_entropy", "total_variation", "hard_total_variation")
_DIGITS = 10  # that a row keeps of a score


def trial(method: LLPClassifier, bags: Bags, train: Any, test: Any, time_limit: float | None = None) -> Row:
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
            with limited(time_limit):
                row = _judged(clone(method).fit_bags(bags.part(train)), bags, test)
        except Exception as error:  # a method that fails must not end the comparison
            row = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())}", "time_limit": time_limit}
    notes = sorted({str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)})
    return {**row, "notes": notes, "seconds": round(time.perf_counter() - started, 3)}


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
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


def _judged(model: LLPClassifier, bags: Bags, test: Any) -> Row:
    held_out = bags.part(test)
    scores = bag_scores(held_out, model.predict_proba(held_out))
    place = {name: position for position, name in enumerate(bags.bag_ids)}
    found = {name: [round(value, _DIGITS) for value in getattr(scores, name).tolist()] for name in SCORES}
    return {"bags": [place[name] for name in held_out.bag_ids], **found}
