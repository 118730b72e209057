"""Boosted trees from the proportions of bags."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.estimators._tree_engine import TreeGrower, tree_scores
from llpgan.estimators.bag_shift import shift_evidence
from llpgan.estimators.boosting_rounds import Ensemble, boosted, held_out_parts
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear_scores import one_blas_thread
from llpgan.estimators.shift_losses import (
    CovariateShiftLoss,
    LabelShiftLoss,
    ShiftLoss,
    probabilities_of,
)
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval, StrOptions

SHIFTS = ("covariate", "label")
_MOST_ROWS, _LEAST_ROWS, _LEAVES_OF_ROWS = 100, 4, 40


@dataclass(kw_only=True, eq=False, repr=False)
class BagBoosting(ClassicalClassifier):
    """Gradient-boosted trees that learn from the proportions of bags.

    Trees are grown by LightGBM on one of two losses, see :mod:`llpgan.estimators.shift_losses`, and their leaves
    get Newton's step in that loss. Several models are boosted side by side, each without one part of the bags (of
    the rows, under label shift); boosting ends when the loss of the held-out parts falls no more, and the models'
    probabilities are averaged.

    Parameters
    ----------
    bag_shift : {"auto", "covariate", "label"}, default="auto"
        How bags differ. "covariate": in what their instances look like, while P(y | x) is the same in all bags;
        the mean prediction of a bag meets its proportions, as in DLLP. "label": in how common the classes are,
        while P(x | y) is the same, as MeanMap assumes. "auto" takes "label" if bags differ by more than chance in
        their proportions and their means could be mixtures of the classes', see
        :func:`~llpgan.estimators.bag_shift.shift_evidence`.
    max_rounds : int, default=200
        The most trees of a model, for each class if there are more than two.
    patience : int, default=15
        Boosting ends after so many rounds in which the held-out loss did not fall.
    learning_rate : float, default=0.3
        The share of Newton's step that each tree takes.
    max_leaves : int, default=4
        The largest number of leaves of a tree.
    min_rows : int, default=None
        The smallest number of rows in a leaf. None for 100, or a fortieth of the rows if that is less.
    l2 : float, default=1.0
        The penalty of leaf values, in rows.
    correlation : float, default=0.1
        How much large bags may differ from the model beyond chance: a bag of m rows counts as
        m / (1 + correlation (m − 1)) independent ones. Used under covariate shift.
    n_models : int, default=5
        How many models are averaged. Each fifth of the bags or rows is held out by one of the first five models,
        then they are parted anew.
    monotonic_cst : sequence of int, default=None
        For each feature 1 if the second class may only get likelier as it rises, −1 if only less likely, and 0 if
        either; for two classes.
    random_state : int, RandomState instance or None, default=None
        Draws the parts. An integer makes the fit repeatable.
    standardize : bool, default=True
        See :class:`~llpgan.estimators.classical.ClassicalClassifier`. It does not change which splits there are.

    Attributes
    ----------
    bag_shift_ : str
        "covariate" or "label": what was assumed, or found.
    n_rounds_ : int
        How many rounds were kept.
    held_out_losses_ : list of float
        The held-out loss before the first round and after each; empty if there were too few bags to hold any out.
    held_out_means_ : array of shape (n_bags, n_classes)
        The mean prediction of each training bag by the models that have not seen it, under covariate shift; empty
        under label shift, where rows are held out, and where no bag was held out.
    trees_ : list of list of str
        The trees of each model and class, in LightGBM's text format.
    starts_ : array of shape (n_models, n_outputs)
        The scores that the trees of each model add to.
    feature_importances_ : array of shape (n_features,)
        The share of each feature in what all splits gained.

    See Also
    --------
    BagLogistic : A linear classifier with the cross-entropy of bags.
    AutoLLP : Trees and a linear classifier, weighed by held-out bags.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = BagBoosting(random_state=0).fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    bag_shift: str = "auto"
    max_rounds: int = 200
    patience: int = 15
    learning_rate: float = 0.3
    max_leaves: int = 4
    min_rows: int | None = None
    l2: float = 1.0
    correlation: float = 0.1
    n_models: int = 5
    monotonic_cst: Sequence[int] | None = None
    random_state: int | np.random.RandomState | None = None

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
        "monotonic_cst": ["array-like", None],
        "random_state": ["random_state"],
    }

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
        self._start(bags)
        _refuse_constraints(self.monotonic_cst, bags)
        rows = self._learn_features(bags).array()
        with one_blas_thread():
            self.bag_shift_ = self._shift(bags, rows)
            self._keep(self._boosted(bags, rows))
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
        with one_blas_thread():
            return self._shift(bags, self._learn_features(bags).array())

    def _shift(self, bags: Bags, rows: Array) -> str:
        if self.bag_shift != "auto":
            return self.bag_shift
        return "label" if shift_evidence(bags, rows).label_shift else "covariate"

    def _grower(self, rows: Array) -> TreeGrower:
        least = max(_LEAST_ROWS, min(_MOST_ROWS, len(rows) // _LEAVES_OF_ROWS))
        return TreeGrower(rows, self.max_leaves, self.min_rows or least, self.monotonic_cst)

    def _boosted(self, bags: Bags, rows: Array) -> Ensemble:
        seed = int(check_random_state(self.random_state).randint(2**31))
        loss = self._loss(bags)
        return boosted(
            bags,
            self._grower(rows),
            loss,
            held_out_parts(loss.n_units, self.n_models, seed),
            max_rounds=self.max_rounds,
            patience=self.patience,
            learning_rate=self.learning_rate,
            l2=self.l2,
        )

    def _loss(self, bags: Bags) -> ShiftLoss:
        if self.bag_shift_ == "label":
            return LabelShiftLoss(bags)
        return CovariateShiftLoss(bags, self.correlation)

    def _keep(self, ensemble: Ensemble) -> None:
        self.n_rounds_ = ensemble.n_rounds
        self.held_out_losses_, self.held_out_means_ = ensemble.course, ensemble.held_out_means
        self.trees_, self.starts_ = ensemble.trees, ensemble.starts
        total = ensemble.gains.sum()
        self.feature_importances_ = ensemble.gains / total if total > 0 else ensemble.gains

    def _probabilities(self, instances: Array) -> Array:
        rows = self._features(instances).array()
        each = [
            probabilities_of(start + np.column_stack([tree_scores(text, rows) for text in trees]))
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
