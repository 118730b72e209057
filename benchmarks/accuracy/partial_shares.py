"""Shares that are unknown, bounded or noisy, and what it is worth to say so: digits and Adult, three draws.

For each form of proportions: the test accuracy from clean shares, from what is known when the method is told of
it, and from the same figures taken at face value. Rows go to ``results/partial_shares.jsonl``.
"""

import statistics
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.rows import RESULTS, Row, as_markdown, find_data_folder, measure_rows, write_whole
from llpgan import BagLogistic, Bags
from llpgan.data.bagging import random_bags
from llpgan.tables import TableEncoder, open_rows
from llpgan.utils.arrays import Array
from reproduction.datasets import load_adult, load_digits

DATA, BAG_SIZES, DRAWS = ("digits", "adult"), (16, 64), range(3)
N_ADULT = 8000  # of the training rows, drawn anew each time
NAMES = ("data", "bag_size", "form", "told", "draw")
Options = dict[str, Any]


def _clean(shares: Array, _: np.random.Generator, told: bool) -> Options:
    return {"proportions": shares}


def _one_unknown(shares: Array, rng: np.random.Generator, told: bool) -> Options:
    """In half of the bags the share of one class, drawn at random, is not reported; else those are left out."""
    unknown = rng.permuted(np.arange(len(shares)) % 2 == 0)[:, None] & _draw_classes(shares, rng, 1)
    if told:
        return {"proportions": np.where(unknown, np.nan, shares), "partial": True}
    return {"proportions": shares, "left_out": unknown.any(axis=1)}


def _two_unknown(shares: Array, rng: np.random.Generator, told: bool) -> Options:
    """Two classes drawn at random are not reported; at face value, what is left is divided equally."""
    unknown = _draw_classes(shares, rng, 2)
    left = np.where(unknown, shares, 0).sum(axis=1, keepdims=True)
    if told:
        return {"proportions": np.where(unknown, np.nan, shares), "partial": True}
    return {"proportions": np.where(unknown, left / 2, shares)}


def _known_shares(at_face_value: bool, shares: Array, rng: np.random.Generator, told: bool) -> Options:
    """In three of four bags nobody counted the first class: the others have their shares within these."""
    uncounted = rng.permuted(np.arange(len(shares)) % 4 != 0)[:, None] & (np.arange(shares.shape[1]) == 0)
    rest = np.where(uncounted, 0, shares)
    rest /= rest.sum(axis=1, keepdims=True)
    if told:
        return {"proportions": np.where(uncounted, np.nan, rest), "within": True}
    return {"proportions": rest} if at_face_value else {"proportions": shares, "left_out": uncounted.any(axis=1)}


def _draw_classes(shares: Array, rng: np.random.Generator, n_classes: int) -> Array:
    """For each bag which classes are drawn, all equally likely."""
    return np.argsort(rng.random(shares.shape), axis=1) < n_classes


def _bounds(shares: Array, rng: np.random.Generator, told: bool) -> Options:
    """Each share is known to lie in an interval of width 0.1; at face value, its middle is taken."""
    middle = shares + rng.uniform(-0.05, 0.05, shares.shape)
    low, high = np.clip(middle - 0.05, 0, 1), np.clip(middle + 0.05, 0, 1)
    return {"lower": low, "upper": high} if told else {"proportions": _as_shares((low + high) / 2)}


def _noise(sd: float, shares: Array, rng: np.random.Generator, told: bool) -> Options:
    noisy = shares + rng.normal(scale=sd, size=shares.shape)
    return {"proportions": noisy, "proportions_sd": sd} if told else {"proportions": _as_shares(noisy)}


def _as_shares(values: Array) -> Array:
    """Clipped and divided by their sum, as anybody would."""
    positive = np.maximum(values, 0)
    return positive / positive.sum(axis=1, keepdims=True)


FORMS: dict[str, Callable[[Array, np.random.Generator, bool], Options]] = {
    "clean": _clean,
    "one class unknown in half of the bags": _one_unknown,
    "two classes unknown": _two_unknown,
    "one class not counted in three of four bags; these are left out": lambda *of: _known_shares(False, *of),
    "one class not counted in three of four bags; it is taken for 0": lambda *of: _known_shares(True, *of),
    "intervals of ±0.05": _bounds,
    "noise of sd 0.05": lambda *of: _noise(0.05, *of),
    "noise of sd 0.15": lambda *of: _noise(0.15, *of),
}


def run() -> list[Row]:
    grid = product(DATA, BAG_SIZES, FORMS, (True, False), DRAWS)
    cells = (cell for cell in grid if _makes_sense(*cell))
    rows = measure_rows(RESULTS / "partial_shares.jsonl", NAMES, cells, measure)
    found = summary(rows)
    about = (
        "Test accuracy (%) of BagLogistic with 5 resamples, mean and standard deviation over three draws of bags "
        "and noise; of Adult, 8,000 training rows in each. Told: the method knows the form of the shares. "
        "Ignored: it leaves out bags with one unknown class, gives two unknown classes equal parts of what is "
        "left, and takes the middle of the intervals and noisy shares clipped to [0, 1] and renormalised. If a "
        "class was not counted, the shares are those within the other classes; ignored means what is said there."
    )
    write_whole(RESULTS / "partial_shares.md", as_markdown("Shares of which less is known", about, found))
    return found


def _makes_sense(data: str, bag_size: int, form: str, told: bool, draw: int) -> bool:
    """Clean shares have nothing to ignore; of two classes not both can be unknown, nor one be a subset."""
    of_two_classes = not form.startswith("two") and "not counted" not in form
    return not (form == "clean" and not told) and (data != "adult" or of_two_classes)


@cache
def _data(name: str, draw: int) -> tuple[Array, Array, Array, Array]:
    if name == "digits":
        digits = load_digits(draw)
        return digits.instances, digits.labels, digits.test_instances, digits.test_labels
    adult = load_adult(str(find_data_folder("adult.csv.gz")))
    encoder = TableEncoder.learn(open_rows(adult.columns).table)
    train, test = (encoder.encode(open_rows(columns)) for columns in (adult.columns, adult.test_columns))
    some = np.random.default_rng(draw).choice(len(train), N_ADULT, replace=False)
    return train[some], adult.labels[some], test, adult.test_labels


def measure(data: str, bag_size: int, form: str, told: bool, draw: int) -> Row:
    instances, labels, test_instances, test_labels = _data(data, draw)
    bag = random_bags(len(labels), bag_size, draw)
    true = Bags.from_labels(instances, labels, bag)
    options = FORMS[form](true.proportions, np.random.default_rng([draw, bag_size]), told)
    left_out = options.pop("left_out", np.zeros(true.n_bags, bool))
    bags = Bags.from_arrays(instances, bag, classes=true.classes, **options).take_bags(~left_out)
    model = BagLogistic(n_resamples=5, random_state=draw).fit_bags(bags)
    return {"accuracy": model.score(test_instances, test_labels)}


def summary(rows: list[Row]) -> list[Row]:
    return [
        {
            "data": data,
            "bag size": size,
            "shares": form,
            "told": _accuracy(rows, data, size, form, told=True),
            "ignored": _accuracy(rows, data, size, form, told=False),
        }
        for data, size, form in product(DATA, BAG_SIZES, FORMS)
        if _makes_sense(data, size, form, True, 0)
    ]


def _accuracy(rows: list[Row], *where: Any, told: bool) -> str:
    found = [100 * r["accuracy"] for r in rows if tuple(r[name] for name in NAMES[:4]) == (*where, told)]
    if not found:
        return ""
    return f"{statistics.mean(found):.1f} ± {statistics.stdev(found) if len(found) > 1 else 0:.1f}"
