"""MeanMap: logistic regression, with class means that are solved for from bag means."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

from llpgan.bags import Bags
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.linear_scores import one_blas_thread
from llpgan.estimators.mean_operator import class_means, class_probabilities, fit_log_partition, mixing_condition
from llpgan.utils.arrays import Array
from llpgan.utils.parameter_checks import Interval


@dataclass(kw_only=True, eq=False, repr=False)
class MeanMap(ClassicalClassifier):
    """Mean map: logistic regression on class means that are estimated from bag means.

    Logistic regression needs the labels only through the mean operator μ_k, the mean of x·1[y = k]. If bags differ
    only in their proportions, the mean of a bag is Σ_k p_k · (mean of class k): a linear system in the K class
    means. Its least squares solution, with bags weighted by their size, gives μ_k = π_k · (mean of class k). The
    method minimizes

        Σ_j log Σ_k exp(θ_k·x_j) − N Σ_k θ_k·μ_k + ‖θ‖² / 2C

    and includes an intercept. It handles two or more classes. With bags of size one (``fit`` without ``groups``)
    it is scikit-learn's ``LogisticRegression(C=C)``, up to the scale of the columns (``standardize=False`` leaves
    them as they are).

    Parameters
    ----------
    C : float, default=None
        Inverse of the regularization strength, as in ``LogisticRegression``. None means ``1 / condition_**2``. The
        less the bags tell the classes apart, the noisier the estimated class means are, and the stronger they are
        regularized.
    {tol: 1e-6}
    {inherited}

    Attributes
    ----------
    condition_ : float
        The condition number of the linear system. It is close to the bag size for bags drawn at random.
    model_ : Linear
        The weights and intercepts on the standardized features.
    {inherited}

    Raises
    ------
    ValueError
        If the linear system cannot be solved: all bags have the same proportions, or there are fewer bags than
        classes.

    See Also
    --------
    LaplacianMeanMap : Class means that may differ from bag to bag.
    AlternatingMeanMap : Alternates between labels that agree with the bags and a logistic regression.
    BagLogistic : Logistic regression on the mean predictions of bags.

    References
    ----------
    .. [1] N. Quadrianto, A. J. Smola, T. S. Caetano and Q. V. Le, "Estimating labels from label proportions",
       Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import MeanMap
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = MeanMap().fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    C: float | None = None
    tol: float = 1e-6

    takes_weights: ClassVar = True

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        Parameters
        ----------
        bags : Bags
            The bags to learn from.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If the bags do not tell the classes apart: all have the same proportions, or there are fewer bags than
            classes.
        """
        self._start(bags)
        self.condition_ = mixing_condition(bags)
        features = self._learn_features(bags)
        operator = self._operator(bags, features.bag_means(bags))
        with one_blas_thread():
            C = self.C or self.condition_**-2
            self.model_ = fit_log_partition(features, operator, bags.prior, C, self.tol, weights=bags.weights)
        return self._finish(bags)

    def _operator(self, bags: Bags, bag_means: Array) -> Array:
        """The mean operator μ, one row per class."""
        return bags.prior[:, None] * class_means(bag_means, bags.proportions, bags.totals)

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances))
