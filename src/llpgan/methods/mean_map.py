"""Mean maps: MeanMap, LaplacianMeanMap and AlternatingMeanMap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import inv, solve
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import splu
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.utils._param_validation import Interval, StrOptions

from llpgan.bags import Bags
from llpgan.bags.fit_warnings import collect_trial_warnings
from llpgan.methods.base import LLPClassifier
from llpgan.methods.linear import ClassicalClassifier, Features, Linear, fit_linear, one_blas_thread
from llpgan.utils.arrays import Array
from llpgan.utils.workers import find_workers, train_together

_HOPELESS = 1e8


def mixing_condition(bags: Bags) -> float:
    """The condition number of ΠᵀDΠ, proportions weighted by size: how much the bags tell the classes apart.

    It is near the bags' size for bags drawn at random, and infinite for bags that all have the same proportions;
    those are refused.
    """
    weighted = bags.proportions * np.sqrt(bags.totals)[:, None]
    singular = np.linalg.svd(weighted, compute_uv=False)
    lacking = bags.n_bags < bags.n_classes or singular[-1] == 0
    condition = np.inf if lacking else float((singular[0] / singular[-1]) ** 2)
    if condition > _HOPELESS:
        raise ValueError(_reason_singular(bags, condition))
    return condition


def class_means(bag_means: Array, proportions: Array, sizes: Array) -> Array:
    """(K, d): the least squares solution of bag mean = Σ_k p_k · class mean, bags weighted by size.

    That is (ΠᵀDΠ)⁻¹ΠᵀD·B̄ (Quadrianto et al., 2009).

    >>> class_means(np.array([[1.0], [3.0]]), np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([2, 1])).round(6)
    array([[-1.],
           [ 3.]])
    """
    weights = np.sqrt(sizes)[:, None]
    return np.linalg.lstsq(weights * proportions, weights * bag_means, rcond=None)[0]


def fit_log_partition(
    features: Features,
    operator: Array,
    prior: Array,
    C: float,
    tol: float,
    start: Linear | None = None,
    weights: Array | None = None,
) -> Linear:
    """Logistic regression from the mean operator instead of labels.

    Minimises mean_j log Σ_k exp(θ_k·x_j + b_k) − Σ_k (θ_k·μ_k + b_k π_k) + ‖θ‖² / (2CN). With μ of true labels
    that is scikit-learn's ``LogisticRegression(C=C)``: two classes have one vector θ, K > 2 have K.

    Parameters
    ----------
    features : Features
        Of all instances; of several workers, each has some of them.
    operator : ndarray
        The mean operator, (K, d): the mean over all instances of x·1[y = k].
    prior : ndarray
        The share of each class.
    C : float
        Inverse strength of the penalty.
    tol : float
        The largest slope that counts as zero.
    start : Linear, default=None
        The first guess.
    weights : ndarray, default=None
        Of the instances. None means that all count the same.
    """
    workers = find_workers()
    n_rows, total = workers.sum(len(features), len(features) if weights is None else float(weights.sum()))
    times = np.ones(len(features)) if weights is None else weights * (n_rows / total)
    to_classes = outputs_to_classes(len(prior))

    def log_partition(scores: Array) -> tuple[float, Array]:
        logits = to_classes.T @ scores
        highest = logits.max(axis=0)
        odds = np.exp(logits - highest)
        sums = odds.sum(axis=0)
        value = float(np.sum(times * (np.log(sums) + highest)) / n_rows)
        return value, to_classes @ (odds / sums * times) / n_rows

    # Operators from bags need not add up to the mean instance, as those from labels do; K > 2 outputs would drift.
    (mean,) = workers.sum(features.sums(times[None] / n_rows))
    consistent = operator - (operator.sum(axis=0) - mean) / len(prior)
    pull = Linear(to_classes @ consistent, to_classes @ prior)
    first = start or Linear.zero(len(to_classes), features.n_columns)
    return fit_linear(log_partition, features, 1 / (C * total), first, pull=pull, tol=tol)


def class_scores(model: Linear, features: Features) -> Array:
    """(N, K): log-probabilities, up to a constant a row."""
    n_classes = max(2, len(model.intercept))
    return (outputs_to_classes(n_classes).T @ features.scores(model)).T


def class_probabilities(model: Linear, features: Features) -> Array:
    """(N, K): the softmax of the scores."""
    return np.asarray(softmax(class_scores(model, features), axis=1))


def outputs_to_classes(n_classes: int) -> Array:
    """Two classes share one output, their log-odds; more have one each."""
    return np.array([[-0.5, 0.5]]) if n_classes == 2 else np.eye(n_classes)


def _reason_singular(bags: Bags, condition: float) -> str:
    spread = float(np.ptp(bags.proportions, axis=0).max())
    return (
        f"the bags cannot tell the classes apart: their proportions' system has condition number {condition:.3g}, "
        f"beyond {_HOPELESS:.0e}. There must be at least as many bags as classes (here {bags.n_bags} bags, "
        f"{bags.n_classes} classes), whose proportions differ (here by {spread:.3g} at most), for every class "
        f"apart from the others"
    )


# From the bags' means (n, d) to a symmetric matrix (n, n) of weights, dense or sparse; its diagonal is not used.
Similarity = Callable[[Array], Any]


def exponential(bag_means: Array, bandwidth: float | None = None) -> Array:
    """exp(−‖μ_i − μ_j‖ / σ) for all pairs of bags; σ is their median distance unless given.

    >>> exponential(np.array([[0.0], [1.0]]), bandwidth=1.0).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    """
    distances = pairwise_distances(bag_means)
    between = distances[np.triu_indices_from(distances, k=1)]
    width = bandwidth or (np.median(between) if between.any() else 1.0) or between.max()
    return np.exp(-distances / width)


def nearest(bag_means: Array, n_neighbors: int = 5) -> sparse.csr_array:
    """One for bags of which either is among the nearest of the other, else zero: a sparse matrix.

    >>> nearest(np.array([[0.0], [1.0], [5.0]]), n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    graph = sparse.csr_array(kneighbors_graph(bag_means, min(n_neighbors, len(bag_means) - 1)))
    return graph.maximum(graph.T)


SIMILARITIES: dict[str, Similarity] = {"exponential": exponential, "nearest": nearest}


_ROUNDING = 1e-9


class RankedBags:
    """The rows of each bag, highest score first.

    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    >>> RankedBags(bags, np.array([0.1, 0.2, 0.9, 0.3])).highest(np.array([1, 2]))
    array([False,  True,  True,  True])
    """

    def __init__(self, bags: Bags, scores: Array) -> None:
        self.starts, self.sizes = bags.starts, bags.sizes
        place = np.empty(len(scores), dtype=np.int64)
        place[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
        # Bag first, then place, in one number: two plain sorts take half the time of one by two keys.
        self.order = np.argsort(bags.bag_index * len(scores) + place)
        self.rank = np.arange(len(scores)) - np.repeat(bags.starts, bags.sizes)

    def highest(self, counts: Array) -> NDArray[np.bool_]:
        """For each row, whether it is among the so many highest of its bag."""
        chosen = np.empty(len(self.order), dtype=bool)
        chosen[self.order] = self.rank < np.repeat(counts, self.sizes)
        return chosen

    def cheapest_counts(self, row_costs: Array, count_costs: Array, none_costs: Array) -> NDArray[np.int64]:
        """How many of each bag's highest to choose, so that the rows chosen and their number cost least.

        Parameters
        ----------
        row_costs : ndarray
            Of choosing each row; highest scores first must be cheapest first.
        count_costs : ndarray
            In the order of ranked rows, of choosing this row and all above it, as a number.
        none_costs : ndarray
            For each bag, of choosing none.
        """
        ranked = np.cumsum(row_costs[self.order])
        before = np.append(0.0, ranked)[self.starts]
        costs = ranked - np.repeat(before, self.sizes) + count_costs
        least = np.minimum.reduceat(costs, self.starts)
        is_least = costs == np.repeat(least, self.sizes)
        counts = np.minimum.reduceat(np.where(is_least, self.rank + 1, len(costs)), self.starts)
        return np.where(none_costs <= least, 0, counts)


def class_counts(bags: Bags) -> NDArray[np.int64]:
    """(n, K): whole numbers that sum to each bag's size and are nearest to m·p: by the largest remainders.

    >>> bags = Bags.from_arrays(np.zeros((5, 1)), ["a"] * 5, {"a": [0.5, 0.3, 0.2]})
    >>> class_counts(bags)
    array([[3, 1, 1]])
    """
    exact = bags.proportions * bags.sizes[:, None]
    counts = np.floor(exact + _ROUNDING).astype(np.int64)
    by_remainder = np.argsort(counts - exact, axis=1, kind="stable")
    lacking = bags.sizes - counts.sum(axis=1)
    extra = np.arange(bags.n_classes) < lacking[:, None]
    np.put_along_axis(counts, by_remainder, np.take_along_axis(counts, by_remainder, axis=1) + extra, axis=1)
    return counts


def best_labels(bags: Bags, scores: Array) -> NDArray[np.int64]:
    """The labels with the highest sum of scores (N, K) among those that have each bag's class counts.

    Two classes: the highest log-odds of each bag. More: an assignment problem a bag, solved exactly.

    >>> bags = Bags.from_arrays(np.zeros((3, 1)), ["a"] * 3, {"a": [1 / 3, 1 / 3, 1 / 3]})
    >>> best_labels(bags, np.array([[9.0, 8.0, 0.0], [9.0, 1.0, 0.0], [5.0, 0.0, 0.0]]))
    array([1, 0, 2])
    """
    counts = class_counts(bags)
    if bags.n_classes == 2:
        ranked = RankedBags(bags, scores[:, 1] - scores[:, 0])
        return ranked.highest(counts[:, 1]).astype(np.int64)
    labels = np.empty(len(scores), dtype=np.int64)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        seats = np.repeat(np.arange(bags.n_classes), counts[bag])
        _, seat = linear_sum_assignment(scores[np.ix_(rows, seats)], maximize=True)
        labels[rows] = seats[seat]
    return labels


def signs_from_shares(bags: Bags, scores: Array, shares: Array) -> Array:
    """Labels ±1: the highest scores of each bag are positive, as many as its share says.

    >>> bags = Bags.from_labels(np.zeros((3, 1)), [0, 1, 0], groups=["a", "a", "a"])
    >>> signs_from_shares(bags, np.array([0.1, 0.9, 0.5]), shares=np.array([2 / 3]))
    array([-1.,  1.,  1.])
    """
    counts = np.rint(shares * bags.sizes)
    return signs_within(bags, scores, counts, counts)


def signs_within(bags: Bags, scores: Array, fewest: Array, most: Array) -> Array:
    """Labels ±1 with the highest Σ y·score, where each bag has so many positives at the fewest and at the most.

    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 1, 0, 1], groups=["a", "a", "b", "b"])
    >>> signs_within(bags, np.array([3.0, 2.0, -1.0, -2.0]), np.array([0, 1]), np.array([2, 2]))
    array([ 1.,  1.,  1., -1.])
    """
    wanted = np.bincount(bags.bag_index, scores > 0, minlength=bags.n_bags)
    chosen = RankedBags(bags, scores).highest(np.clip(wanted, fewest, most))
    return np.where(chosen, 1.0, -1.0)


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

    @train_together
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
        bags = self._start(bags)
        self.condition_ = mixing_condition(bags)
        self._learn_scales(bags)
        workers, share = find_workers(), bags
        if workers.count > 1:
            share = bags.take_bags(np.arange(bags.n_bags)[workers.share(bags.sizes)])
        features = self._features(share.instances)
        operator = self._operator(bags, workers.gather(features.bag_means(share)))
        with one_blas_thread():
            C = self.C or self.condition_**-2
            self.model_ = fit_log_partition(features, operator, bags.prior, C, self.tol, weights=share.weights)
        return self._finish(bags)

    def _operator(self, bags: Bags, bag_means: Array) -> Array:
        """The mean operator μ, one row per class."""
        return bags.prior[:, None] * class_means(bag_means, bags.proportions, bags.totals)

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances))


_RIDGE = 1e-6  # ε: the Laplacian alone is singular, and a class that no bag has would have no mean


@dataclass(kw_only=True, eq=False, repr=False)
class LaplacianMeanMap(MeanMap):
    """Laplacian mean map: class means that may differ from bag to bag.

    :class:`MeanMap` estimates one mean per class. This method estimates one mean b_ik per class and bag, and asks
    similar bags to have similar means. It minimizes

        Σ_i m_i ‖(mean of bag i) − Σ_k p_ik b_ik‖² + γ Σ_k Σ_{i<j} v_ij ‖b_ik − b_jk‖² + ε Σ ‖b_ik‖²

    and passes μ_k = Σ_i (m_i / N) p_ik b_ik to the same logistic regression. γ → ∞ gives :class:`MeanMap`. Sizes
    and similarities are divided by their means (so that the similarities of a bag sum to one on average) and
    features are centred, so that γ means the same for any data.

    Parameters
    ----------
    gamma : float, default=10.0
        The strength γ with which similar bags share their class means. Use a smaller value if bags differ in more
        than their proportions.
    similarity : {"exponential", "nearest"} or callable, default="exponential"
        The similarity v of two bags. "exponential" compares all pairs of bags and suits some thousand bags at
        most. "nearest" builds a sparse graph of the five nearest bags. A callable takes the bag means and returns
        a matrix; an example is ``functools.partial(llpgan.methods.mean_map.nearest, n_neighbors=9)``.
    {inherited}

    Attributes
    ----------
    {inherited}

    See Also
    --------
    MeanMap : One mean per class for all bags.
    AlternatingMeanMap : Can start from this method.

    References
    ----------
    .. [1] G. Patrini, R. Nock, P. Rivera and T. Caetano, "(Almost) No Label No Cry", Advances in Neural
       Information Processing Systems 27, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import LaplacianMeanMap
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = LaplacianMeanMap(similarity="nearest").fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    gamma: float = 10.0
    similarity: str | Similarity = "exponential"

    _parameter_constraints: ClassVar = {
        **MeanMap._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "similarity": [StrOptions(set(SIMILARITIES)), callable],
    }

    def _operator(self, bags: Bags, bag_means: Array) -> Array:
        similarity = self.similarity if callable(self.similarity) else SIMILARITIES[self.similarity]
        center = bags.totals @ bag_means / bags.totals.sum()
        roughness = self.gamma * laplacian(similarity(bag_means))
        means = bag_class_means(bag_means - center, bags.proportions, bags.totals, roughness)
        shares = bags.proportions * (bags.totals / bags.totals.sum())[:, None]
        return np.einsum("ik,ikd->kd", shares, means) + bags.prior[:, None] * center


def laplacian(similarity: Any) -> Any:
    """The graph Laplacian of a similarity, in units of a bag's mean similarity to all others; sparse if that is.

    >>> laplacian(np.array([[9.0, 2.0], [2.0, 9.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    diagonal = similarity.diagonal()
    degrees = np.asarray(similarity.sum(axis=1)).ravel() - diagonal
    unit = degrees.mean() or 1.0
    if sparse.issparse(similarity):
        return (sparse.diags_array(degrees + diagonal) - similarity) / unit
    return (np.diag(degrees + diagonal) - similarity) / unit


def bag_class_means(bag_means: Array, proportions: Array, sizes: Array, roughness: Any) -> Array:
    """(n, K, d): (ΠᵀDΠ + γL + εI)⁻¹ΠᵀD·B̄, the mean of each class in each bag (Patrini et al., 2014)."""
    weights = sizes / sizes.mean()
    if sparse.issparse(roughness):
        return _sparse_means(bag_means, proportions, weights, roughness)
    return _dense_means(bag_means, proportions, weights, roughness)


def _sparse_means(bag_means: Array, proportions: Array, weights: Array, roughness: Any) -> Array:
    """As it is written: one sparse system of n·K unknowns."""
    n_bags, n_classes = proportions.shape
    mixing = sparse.hstack([sparse.diags_array(p) for p in proportions.T])
    weighted = mixing.T @ sparse.diags_array(weights)
    smooth = sparse.block_diag([roughness + _RIDGE * sparse.eye_array(n_bags)] * n_classes)
    solution = splu((weighted @ mixing + smooth).tocsc()).solve(weighted @ bag_means)
    return solution.reshape(n_classes, n_bags, -1).swapaxes(0, 1)


def _dense_means(bag_means: Array, proportions: Array, weights: Array, roughness: Array) -> Array:
    """Through two systems of n unknowns instead of one of n·K.

    With G = (γL + εI)⁻¹ the solution is b_k = G diag(p_k) (D⁻¹ + G∘PPᵀ)⁻¹ B̄, since Π (I⊗G) Πᵀ = G∘PPᵀ.
    """
    shared = inv(roughness + _RIDGE * np.eye(len(roughness)))
    system = np.diag(1 / weights) + shared * (proportions @ proportions.T)
    dual = solve(system, bag_means, assume_a="pos")
    return np.stack([shared @ (p[:, None] * dual) for p in proportions.T], axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class AlternatingMeanMap(ClassicalClassifier):
    """Alternating mean map: labels that agree with the bags, and the logistic regression of these labels.

    The method minimizes the penalized logistic loss over the classifier *and* over all labels that agree with the
    bags,

        min_θ min_y Σ_j [log Σ_k exp(θ_k·x_j) − θ_{y_j}·x_j] + ‖θ‖² / 2C,  each bag with m·p of each class.

    It alternates between two exact steps: an assignment problem in each bag finds the labels (with two classes,
    the m·p highest scores), and a logistic regression finds the classifier. If m·p is not an integer, the largest
    remainders are rounded up; a class whose proportion is zero gets no instance of the bag. The objective never
    increases, so the alternation ends. Two or more classes are supported.

    Parameters
    ----------
    start : LLPClassifier, default=None
        The classifier that provides the first labels, such as ``LaplacianMeanMap()``. None means ``MeanMap()``.
    C : float, default=1.0
        Inverse of the regularization strength, as in ``LogisticRegression``.
    {tol: 1e-6}
    max_turns : int, default=100
        The maximum number of alternations. The fit stops there even if labels still change.
    {inherited}

    Attributes
    ----------
    start_ : LLPClassifier
        The first classifier, fitted. It is not part of a saved model.
    n_turns_ : int
        The number of alternations that were run.
    model_ : Linear
        The weights and intercepts on the standardized features.
    {inherited}

    See Also
    --------
    MeanMap : The usual first classifier.
    LaplacianMeanMap : Another first classifier.
    AlterSVM : Alternates in the same way with a support vector machine.

    References
    ----------
    .. [1] G. Patrini, R. Nock, P. Rivera and T. Caetano, "(Almost) No Label No Cry", Advances in Neural
       Information Processing Systems 27, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from llpgan import AlternatingMeanMap
    >>> X = np.arange(40.0)[:, None]
    >>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
    >>> model = AlternatingMeanMap().fit(X, y, groups=bag)
    >>> model.predict([[3.0], [35.0]])
    array([0, 1])
    """

    start: LLPClassifier | None = None
    C: float = 1.0
    tol: float = 1e-6
    max_turns: int = 100

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "start": [LLPClassifier, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_turns": [Interval(Integral, 1, None, closed="left")],
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
        """
        bags = self._start(bags)
        with collect_trial_warnings():
            self.start_ = clone(self.start or MeanMap()).fit_bags(bags)
        features = self._learn_features(bags)
        with one_blas_thread():
            self.model_, self.n_turns_ = self._take_turns(features, bags)
        return self._finish(bags)

    def _take_turns(self, features: Features, bags: Bags) -> tuple[Linear, int]:
        probabilities, tiny = self.start_.predict_proba(bags), np.finfo(np.float64).tiny
        labels = best_labels(bags, np.log(np.maximum(probabilities, tiny)))
        model, n_turns = self._refit(features, labels, bags.n_classes), 1
        while n_turns < self.max_turns:
            before, labels = labels, best_labels(bags, class_scores(model, features))
            if np.array_equal(before, labels):
                break
            model, n_turns = self._refit(features, labels, bags.n_classes, model), n_turns + 1
        return model, n_turns

    def _refit(
        self, features: Features, labels: NDArray[np.int64], n_classes: int, start: Linear | None = None
    ) -> Linear:
        operator, shares = label_mean_operator(features, labels, n_classes)
        return fit_log_partition(features, operator, shares, self.C, self.tol, start)

    def _probabilities(self, instances: Array) -> Array:
        return class_probabilities(self.model_, self._features(instances))


def label_mean_operator(features: Features, labels: NDArray[np.int64], n_classes: int) -> tuple[Array, Array]:
    """The mean of x·1[y = k], one row per class, and the share of each class."""
    members = (labels == np.arange(n_classes)[:, None]).astype(np.float64)
    return features.sums(members) / len(features), members.mean(axis=1)
