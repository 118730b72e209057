"""BagBoosting: gradient boosted trees from bags, by how these differ from each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.methods.boosting import (
    CovariateShiftLoss,
    Ensemble,
    LabelShiftLoss,
    ShiftLoss,
    boost,
    boosting_rows,
    class_probabilities_from,
    held_out_parts,
    number_copies,
)
from llpgan.methods.linear import ClassicalClassifier, FeaturesOf, bag_blocks, one_blas_thread
from llpgan.methods.mean_map import class_means
from llpgan.methods.trees import TreeGrower, tree_scores
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers, train_together

SHIFTS = ("covariate", "label")
_MOST_ROWS, _LEAST_ROWS, _LEAVES_OF_ROWS = 100, 4, 40
_ROWS_AT_ONCE = 2**17  # of predictions
_SEEDS = 2**20  # of LightGBM, to which numbers of models and classes are added
_RIDGE = 1e-3  # of each column's variance, against columns that depend on others
_CONSTANT = 1e-7  # deviations up to this are rounding, in features of one scale
_DEVIATIONS = 2.0  # of the variance of proportions of random bags
_BEYOND_CHANCE = 5.0  # times as much as proportions of random bags: then chance is out of the question


@dataclass(kw_only=True, eq=False, repr=False)
class BagBoosting(ClassicalClassifier):
    """Gradient-boosted trees that learn from the proportions of bags.

    Trees are grown by LightGBM on one of two losses, see :mod:`llpgan.methods.boosting`, and the values of
    their leaves are Newton steps in that loss. Several models are boosted side by side, each without one part of
    the bags (of the rows, under label shift). Boosting ends when the loss of the held-out parts no longer
    decreases, and the probabilities of the models are averaged.

    Parameters
    ----------
    bag_shift : {"auto", "covariate", "label"}, default="auto"
        How bags differ. "covariate": in what their instances look like, while P(y | x) is the same in all bags;
        the mean prediction of a bag is then fitted to its proportions, as in DLLP. "label": in how common the
        classes are, while P(x | y) is the same, as MeanMap assumes. "auto" selects "label" if bags differ by more
        than chance in their proportions and their means could be mixtures of class means, see
        :func:`~llpgan.methods.bag_boosting.shift_evidence`.
    max_rounds : int, default=300
        The maximum number of trees of a model, for each class if there are more than two.
    patience : int, default=15
        The number of rounds without a decrease of the held-out loss after which boosting ends.
    learning_rate : float, default=0.2
        The share of a Newton step that each tree takes.
    max_leaves : int, default=4
        The maximum number of leaves of a tree.
    min_rows : int, default=None
        The minimum number of rows in a leaf. None means 100, or a fortieth of the rows if that is less.
    l2 : float, default=1.0
        The penalty of leaf values, in rows.
    correlation : float, default=0.1
        How much large bags may differ from the model beyond chance: a bag of m rows counts as m / (1 + correlation
        (m − 1)) independent ones. It is used under covariate shift.
    n_models : int, default=10
        The number of models that are averaged. Each fifth of the bags or rows is held out by one of the first five
        models; further models use new parts.
    max_features : float, default=None
        The share of the features that each tree may split at, drawn anew for each tree. None means all features
        under label shift and if bags differ by no more than chance, and otherwise as many as the square root of
        their number: the first splits would else all be at the features that bags were made by.
    monotonic_cst : sequence of int, default=None
        One number per feature: 1 if the second class may only become more probable as the feature increases, −1 if
        only less probable, and 0 for no constraint. It needs two classes. None means no constraints.
    time_limit : float, default=None
        The number of seconds after which no further round ends. At least one round is grown. None means no limit.
    {random_state: the held-out parts}
    standardize : bool, default=True
        Whether to standardize the instances first. It does not change which splits are possible.

    Attributes
    ----------
    bag_shift_ : str
        How bags differ, as given or found: "covariate" or "label".
    can_split_ : bool
        Whether any feature has enough rows on both sides of a split. If not, predictions are the overall shares.
    n_rounds_ : int
        The number of rounds that were kept.
    is_out_of_time_ : bool
        Whether the time limit ended boosting.
    held_out_losses_ : list of float
        The held-out loss before the first round and after each; empty if there were too few bags to hold any out.
    held_out_means_ : ndarray of shape (n_bags, n_classes)
        Under covariate shift, the mean prediction of each training bag by the models that were trained without it;
        empty under label shift, where rows are held out, and if no bag was held out.
    trees_ : list of list of str
        The trees of each model and class, in the text format of LightGBM.
    starts_ : ndarray of shape (n_models, n_outputs)
        The scores to which the trees of each model are added.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the gain of all splits.
    {inherited}

    See Also
    --------
    BagLogistic : A linear classifier with the cross-entropy of bags.
    AutoLLP : Trees and a linear classifier, weighed by held-out bags.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import BagBoosting
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = BagBoosting(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    bag_shift: str = "auto"
    max_rounds: int = 300
    patience: int = 15
    learning_rate: float = 0.2
    max_leaves: int = 4
    min_rows: int | None = None
    l2: float = 1.0
    correlation: float = 0.1
    n_models: int = 10
    max_features: float | None = None
    monotonic_cst: Sequence[int] | None = None
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None

    takes_weights: ClassVar = True
    takes_partial: ClassVar = True
    takes_bag_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "bag_shift": [StrOptions({"auto", *SHIFTS})],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_leaves": [Interval(Integral, 2, None, closed="left")],
        "min_rows": [Interval(Integral, 1, None, closed="left"), None],
        "l2": [Interval(Real, 0, None, closed="neither")],
        "correlation": [Interval(Real, 0, 1, closed="both")],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right"), None],
        "monotonic_cst": ["array-like", None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    @train_together
    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        Self
            The fitted estimator.
        """
        started = time.perf_counter()
        bags = self._start(bags)
        _refuse_constraints(self.monotonic_cst, bags)
        if self.bag_shift == "label" and bags.share_constraints is not None:
            raise ValueError('bag_shift="label" needs all shares of each bag, without noise; "covariate" does not')
        self._learn_scales(bags)
        with one_blas_thread():
            self.bag_shift_ = self._shift(bags)
            self._keep(self._fit_ensemble(bags, started))
        return self._finish(bags)

    def shift_of(self, bags: Bags) -> str:
        """Return the shift that would be assumed of bags.

        Parameters
        ----------
        bags : Bags
            The bags.

        Returns
        -------
        str
            "label" or "covariate".
        """
        refuse_other_than_bags(bags, "what shift_of takes")
        bags = bags.drop_weightless()
        with one_blas_thread():
            self._learn_scales(bags)
            return self._shift(bags)

    def _shift(self, bags: Bags) -> str:
        if self.bag_shift != "auto":
            return self.bag_shift
        if bags.share_constraints is not None:
            return "covariate"  # which asks less of the shares
        return "label" if shift_evidence(bags, self._rows).label_shift else "covariate"

    def _rows(self, instances: Array) -> Array:
        return self._features(instances).array()

    def _fit_ensemble(self, bags: Bags, started: float) -> Ensemble:
        seed = find_workers().from_first(lambda: int(check_random_state(self.random_state).randint(2**31)))
        by_bag = self.bag_shift_ == "covariate"
        rows = boosting_rows(bags, self._rows, lambda part: self._loss(part, bags), units_are_bags=by_bag)
        split_features, n_rows = rows.split_features(), len(bags.bag_index)
        grower = TreeGrower(
            split_features,
            self.max_leaves,
            self.min_rows or max(_LEAST_ROWS, min(_MOST_ROWS, n_rows // _LEAVES_OF_ROWS)),
            self._share_of_features(bags, split_features.shape[1]),
            self.monotonic_cst,
            rows.split_weights(),
        )
        self.can_split_ = grower.can_split
        return boost(
            rows,
            grower,
            held_out_parts(rows.n_units if by_bag else number_copies(rows), self.n_models, seed),
            max_rounds=self.max_rounds,
            patience=self.patience,
            learning_rate=self.learning_rate,
            l2=self.l2,
            seed=seed % _SEEDS,
            deadline=np.inf if self.time_limit is None else started + self.time_limit,
        )

    def _share_of_features(self, bags: Bags, n_features: int) -> float:
        """The share that each tree may split at."""
        if self.max_features is not None:
            return self.max_features
        return 1.0 if self.bag_shift_ == "label" or differ_by_chance(bags) else n_features**-0.5

    def _loss(self, part: Bags, whole: Bags) -> ShiftLoss:
        if self.bag_shift_ == "label":
            return LabelShiftLoss(part, whole)
        return CovariateShiftLoss(part, self.correlation)

    def _keep(self, ensemble: Ensemble) -> None:
        self.n_rounds_, self.is_out_of_time_ = ensemble.n_rounds, ensemble.is_out_of_time
        self.held_out_losses_, self.held_out_means_ = ensemble.course, ensemble.held_out_means
        self.trees_, self.starts_ = ensemble.trees, ensemble.starts
        total = ensemble.gains.sum()
        self.feature_importances_ = ensemble.gains / total if total > 0 else ensemble.gains

    def _probabilities(self, instances: Array) -> Array:
        parts = [
            self._mean_over_models(self._rows(instances[first : first + _ROWS_AT_ONCE]))
            for first in range(0, len(instances), _ROWS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _mean_over_models(self, rows: Array) -> Array:
        """(n_rows, n_classes): the mean over models."""
        each = [
            class_probabilities_from(start + np.column_stack([tree_scores(text, rows) for text in trees]))
            for start, trees in zip(self.starts_, self.trees_, strict=True)
        ]
        return np.mean(each, axis=0)


def _refuse_constraints(given: Sequence[int] | None, bags: Bags) -> None:
    if given is None:
        return
    n_features = int(np.prod(bags.instances.shape[1:]))
    values = np.asarray(given)
    if values.shape != (n_features,) or not np.isin(values, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst should be {n_features} values of −1, 0 and 1, one for each feature, got {given!r}"
        )
    if bags.n_classes > 2 and values.any():
        raise ValueError(f"monotonic_cst is for two classes; these bags have {bags.n_classes}")


@dataclass(frozen=True)
class ShiftEvidence:
    """What tells label shift from covariate shift, without any label.

    Attributes
    ----------
    dispersion : float
        The variance of proportions relative to that of bags drawn at random from all rows, which is near 1.
    implied_correlation : float
        The squared correlation of class and features that the bags would imply under label shift. If P(x | y) is
        the same in all bags, bag means are mixtures of class means, which can thus be solved for; and classes
        cannot differ by more than all rows do. Above 1, label shift is impossible.
    """

    dispersion: float
    implied_correlation: float

    @property
    def label_shift(self) -> bool:
        """Whether bags differ by more than chance in their proportions, and as mixtures of the classes would."""
        return self.dispersion > _BEYOND_CHANCE and self.implied_correlation < 1


def shift_evidence(bags: Bags, features_of: FeaturesOf) -> ShiftEvidence:
    """Look for label shift in bags.

    Parameters
    ----------
    bags : Bags
        With their proportions.
    features_of : callable
        Turns instances into features in one scale. Those in a file are read block by block.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = (rng.random(4000) < np.repeat([0.2, 0.4, 0.6, 0.8], 1000)).astype(int)
    >>> rows = rng.normal(size=(4000, 2)) + labels[:, None]  # given the class, the same in all bags
    >>> bags = Bags.from_labels(rows, labels, np.repeat(range(4), 1000))
    >>> shift_evidence(bags, lambda instances: instances).label_shift
    True
    """
    dispersion = _dispersion(bags)
    if bags.n_bags < bags.n_classes or dispersion <= _BEYOND_CHANCE:
        return ShiftEvidence(dispersion, np.inf)
    return ShiftEvidence(dispersion, _implied_correlation(bags, features_of))


def differ_by_chance(bags: Bags) -> bool:
    """Return whether proportions vary no more than those of random bags do, by two standard deviations.

    Parameters
    ----------
    bags : Bags
        With their proportions.

    Examples
    --------
    >>> labels = np.random.default_rng(0).integers(2, size=4000)
    >>> differ_by_chance(Bags.from_labels(np.zeros((4000, 1)), labels, np.arange(4000) // 40))
    True
    >>> differ_by_chance(Bags.from_labels(np.zeros((4000, 1)), np.sort(labels), np.arange(4000) // 40))
    False
    """
    degrees = max(1, (bags.n_bags - 1) * (bags.n_classes - 1))
    return bool(_dispersion(bags) < 1 + _DEVIATIONS * np.sqrt(2 / degrees))


def _dispersion(bags: Bags) -> float:
    """The variance of proportions relative to that of bags drawn at random from all rows."""
    weights = bags.totals / bags.totals.sum()
    spread = weights @ (bags.proportions - bags.prior) ** 2
    by_chance = (bags.prior * (1 - bags.prior)).sum() * (bags.n_bags - 1) / len(bags.bag_index)
    return float(spread.sum() / by_chance) if by_chance > 0 else 0.0


def _implied_correlation(bags: Bags, features_of: FeaturesOf) -> float:
    """The largest eigenvalue of the between-class variance relative to that of all rows."""
    bag_means, total = _bag_moments(bags, features_of)
    deviations = np.sqrt(np.maximum(np.diag(total), 0))
    used = deviations > _CONSTANT
    if not used.any():
        return np.inf
    means = class_means(bag_means[:, used] / deviations[used], bags.proportions, bags.totals)
    between = means.T @ (bags.prior[:, None] * means)
    within = total[np.ix_(used, used)] / np.outer(deviations[used], deviations[used])
    last = int(used.sum()) - 1
    ridge = _RIDGE * np.eye(last + 1)
    return float(eigh(between, within + ridge, eigvals_only=True, subset_by_index=[last, last])[0])


def _bag_moments(bags: Bags, features_of: FeaturesOf) -> tuple[Array, Array]:
    """The mean of each bag, from the mean of all, (n_bags, d), and the covariance of all rows, (d, d)."""
    blocks = bag_blocks(bags, features_of, keep=False)
    n_features = int(np.prod(bags.instances.shape[1:]))
    sums, products = [], np.zeros((n_features, n_features))
    for block in blocks:
        rows = block.read()[:, :-1]
        weighted = rows if block.shares is None else rows * block.shares[:, None]
        weights = block.repeat_rows(bags.totals[block.bags] / block.sizes)[:, None]
        sums.append(block.sums(weighted) / block.sizes[:, None])
        products += (weighted * weights).T @ rows
    means, shares = find_workers().gather(np.concatenate(sums)), bags.totals / bags.totals.sum()
    (products,) = find_workers().sum(products)
    mean = shares @ means
    return means - mean, products / bags.totals.sum() - np.outer(mean, mean)
