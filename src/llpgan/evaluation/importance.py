"""Which columns the predictions of bags rest on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation.bag_scores import bag_scores
from llpgan.utils.arrays import Array


class Rise(NamedTuple):
    """The increase of the loss of bags, over repeated shuffles.

    Attributes
    ----------
    mean : float
        The mean increase.
    sd : float
        The standard deviation over the shuffles.
    """

    mean: float
    sd: float


def importance(
    model: LLPClassifier,
    bags: Bags,
    columns: Mapping[str, Sequence[int]],
    *,
    repeats: int = 5,
    seed: int = 0,
    max_rows: int = 20_000,
) -> dict[str, Rise]:
    """Measure how much the loss of bags increases if the values of a column are shuffled.

    The loss is the mean cross-entropy of bags. An increase close to zero means that the model does not need the
    column.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    bags : Bags
        The bags, encoded as for the model.
    columns : mapping of str to sequence of int
        The positions of the columns of each group, by name. The columns of a group are shuffled together, because
        one column of a user's table may have become several.
    repeats : int, default=5
        The number of shuffles.
    seed : int, default=0
        The seed of the shuffles.
    max_rows : int, default=20000
        The maximum number of rows. If there are more, each bag keeps the same share of its rows at random, and at
        least one. The losses before and after are of the same rows.

    Returns
    -------
    dict of str to Rise
        The increase for each group of columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(80, 2)), np.arange(80) // 4
    >>> bags = Bags.from_labels(X, X[:, 0] > 0, groups)
    >>> from llpgan import MeanMap
    >>> rises = importance(MeanMap().fit_bags(bags), bags, {"tells": [0], "noise": [1]})
    >>> rises["tells"].mean > 3 * abs(rises["noise"].mean)
    True
    """
    refuse_other_than_bags(bags, "bags")
    if bags.instances.ndim != 2:
        raise ValueError(
            f"importance is of a table's columns, but instances have shape {bags.instances.shape[1:]}"
        )
    rng = np.random.default_rng(seed)
    kept = fewer_rows(bags, max_rows, rng)
    before = _loss(model, kept, kept.instances)
    return {
        name: _rise([_loss(model, kept, _shuffled(kept, group, rng)) - before for _ in range(repeats)])
        for name, group in columns.items()
    }


def _loss(model: LLPClassifier, bags: Bags, instances: Array) -> float:
    return float(bag_scores(bags, model.predict_encoded(instances)).cross_entropy.mean())


def _shuffled(bags: Bags, group: Sequence[int], rng: np.random.Generator) -> Array:
    instances = np.array(bags.instances)
    columns = list(group)
    instances[:, columns] = instances[rng.permutation(len(instances))[:, None], columns]
    return instances


def _rise(rises: list[float]) -> Rise:
    return Rise(float(np.mean(rises)), float(np.std(rises, ddof=1)) if len(rises) > 1 else 0.0)


def fewer_rows(bags: Bags, max_rows: int, rng: np.random.Generator) -> Bags:
    """All bags, each with the same share of its rows: some ``max_rows`` in all."""
    share = max_rows / len(bags.instances)
    if share >= 1:
        return bags
    chosen = [
        rng.choice(bags.rows_of(b), max(1, int(bags.sizes[b] * share)), replace=False) for b in range(bags.n_bags)
    ]
    return bags.part(np.sort(np.concatenate(chosen)))
