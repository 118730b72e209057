"""What linear and kernel methods share: scores, blocks of rows, kernels, one-vs-rest."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from llpgan.bags import Bags
from llpgan.bags.on_disk import column_moments, is_stored, robust_scale
from llpgan.methods.base import LLPClassifier
from llpgan.utils.arrays import Array
from llpgan.utils.workers import ROWS_A_BLOCK, find_workers, processes


def positive_part(values: Array, width: float) -> tuple[Array, Array]:
    """max(0, z) and its slope, a parabola where |z| < width (Chapelle, 2007).

    It is nowhere below max(0, z), and above it by width / 4 at most.

    >>> positive_part(np.array([-1.0, 0.0, 1.0]), width=0.1)
    (array([0.   , 0.025, 1.   ]), array([0. , 0.5, 1. ]))
    """
    inside = np.clip(values + width, 0.0, 2 * width)
    return inside**2 / (4 * width) + np.maximum(values - width, 0.0), inside / (2 * width)


# From scores (outputs, N) to the loss's value and its slope in each score.
Loss = Callable[[Array], tuple[float, Array]]
_MAX_ITERATIONS = 2000
_ROWS_FOR_COMPONENTS = 20_000
_RARE = 0.01  # the share of rows on either side of a step that is too rare for it
_FAR = 1e4  # scales from zero: columns whose mean is further off are centred first, or sums would cancel


@dataclass(frozen=True)
class Linear:
    """Scores that are linear in the features: a row of weights and an intercept for each output."""

    weights: Array
    intercept: Array

    @classmethod
    def zero(cls, n_outputs: int, n_features: int) -> Linear:
        """All weights and intercepts zero, from which a search can start."""
        return cls(np.zeros((n_outputs, n_features)), np.zeros(n_outputs))


@dataclass(frozen=True)
class Features:
    """Rows in one scale, (x − shift) / scale, without a copy of them: the scale goes into the weights.

    Rows are copied and centred only where a column lies so far from zero that its digits would cancel.

    >>> features = Features.from_rows(np.array([[0.0, 1.0], [4.0, 1.0]]), shift=np.array([2.0, 1.0]), scale=2.0)
    >>> features.array()
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> features.scores(Linear(np.array([[3.0, 1.0]]), np.array([0.5])))
    array([[-2.5,  3.5]])
    """

    rows: Array
    shift: Array
    scale: Array

    @classmethod
    def from_rows(cls, rows: Array, shift: Array | float = 0.0, scale: Array | float = 1.0) -> Features:
        """Rows in double precision, and the same shift and scale for all columns where one number is given."""
        rows = np.asarray(rows, np.float64)
        shift, scale = np.broadcast_to(shift, rows.shape[1]), np.broadcast_to(scale, rows.shape[1])
        if np.any(np.abs(shift) > _FAR * scale):
            rows, shift = rows - shift, np.zeros_like(shift)
        return cls(rows, shift, scale)

    def __len__(self) -> int:
        return int(self.rows.shape[0])  # a sparse matrix has no length

    @property
    def n_columns(self) -> int:
        """The number of features of a row."""
        return self.rows.shape[1]

    def array(self) -> Array:
        """The features themselves, a row each."""
        centred = self.rows - self.shift
        centred /= self.scale  # in its place: a second copy of a table takes as long as the division
        return centred

    def scores(self, model: Linear) -> Array:
        """(outputs, N): the score of each row, by output."""
        weights = model.weights / self.scale
        scores = weights @ self.rows.T
        scores += (model.intercept - weights @ self.shift)[:, None]
        return scores

    def sums(self, row_weights: Array) -> Array:
        """(outputs, d): the sum of all rows of features, weighted by (outputs, N)."""
        return (row_weights @ self.rows - row_weights.sum(axis=1, keepdims=True) * self.shift) / self.scale

    def bag_means(self, bags: Bags) -> Array:
        """(n, d): the mean features of each bag."""
        return (bags.means(self.rows) - self.shift) / self.scale


def principal_components(
    instances: Array, features_of: Callable[[Array], Array], n_components: int
) -> tuple[Array, Array]:
    """The mean of the features, and the directions of largest variance, in one scale.

    Parameters
    ----------
    instances : ndarray of shape (n_samples, ...)
        The instances, of which at most 20,000 are used.
    features_of : callable
        Turns instances into features, of shape (n_samples, n_features).
    n_components : int
        The number of directions.

    Returns
    -------
    mean : ndarray of shape (n_features,)
        The mean of the features.
    directions : ndarray of shape (n_features, n_components or less)
        ``(features - mean) @ directions`` has a mean variance of one.

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0], [4.0, 5.0], [8.0, 5.0]])
    >>> mean, directions = principal_components(rows, lambda instances: instances, 1)
    >>> np.abs((rows - mean) @ directions).round(2)
    array([[1.22],
           [0.  ],
           [1.22]])
    """
    places = np.unique(
        np.linspace(0, len(instances) - 1, min(len(instances), _ROWS_FOR_COMPONENTS)).astype(np.int64)
    )
    rows = features_of(instances[places])
    mean = rows.mean(axis=0)
    rows = rows - mean
    n_found = max(1, min(n_components, len(rows) - 1, rows.shape[1]))
    variances, vectors = eigh(
        rows.T @ rows / len(rows), subset_by_index=(rows.shape[1] - n_found, rows.shape[1] - 1)
    )
    spread = float(np.sqrt(max(variances.mean(), 0)))
    return mean, vectors[:, ::-1] / (spread if spread > 0 else 1.0)


@dataclass(frozen=True)
class Steps:
    """Columns that say whether a feature is above a threshold, in one scale.

    A linear classifier of features and steps is additive: its score is a sum of one function of each feature, a
    line with a jump at each threshold.

    Attributes
    ----------
    columns : ndarray of shape (n_steps,)
        The feature of each step.
    thresholds : ndarray of shape (n_steps,)
        The threshold of each, between two values of the feature.
    shares : ndarray of shape (n_steps,)
        The share of the rows above each.

    Examples
    --------
    >>> steps = Steps.from_rows(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]]), n_steps=1)
    >>> steps.columns, steps.thresholds
    (array([0]), array([1.5]))
    >>> steps(np.array([[1.4, 0.0], [1.6, 0.0]]))
    array([[-1.],
           [ 1.]])
    """

    columns: Array
    thresholds: Array
    shares: Array

    @classmethod
    def from_rows(cls, rows: Array, n_steps: int, weights: Array | None = None) -> Steps:
        """So many thresholds, at equal shares of the rows, for each feature that has more than two values."""
        weights = np.ones(len(rows)) if weights is None else weights
        goals = np.arange(1, n_steps + 1) / (n_steps + 1)
        columns, thresholds, shares = [], [], []
        for column, each in enumerate(rows.T):
            values, place = np.unique(each, return_inverse=True)
            if len(values) < 3:  # a line says all of two values
                continue
            below = np.cumsum(np.bincount(place, weights))[:-1] / weights.sum()
            last = np.unique(np.searchsorted(below, goals).clip(max=len(below) - 1))
            if len(below) <= n_steps:
                last = np.arange(len(below))
            last = last[(below[last] > _RARE) & (below[last] < 1 - _RARE)]
            columns += [column] * len(last)
            thresholds += ((values[last] + values[last + 1]) / 2).tolist()
            shares += (1 - below[last]).tolist()
        return cls(np.array(columns, np.int64), np.array(thresholds, np.float64), np.array(shares, np.float64))

    @property
    def scales(self) -> Array:
        """(n_steps,): the standard deviation of each step, by which it is divided; at least a sixth."""
        return np.maximum(np.sqrt(self.shares * (1 - self.shares)), 1 / 6)

    def __call__(self, features: Array) -> Array:
        """(n_rows, n_steps): the steps of rows of features."""
        return ((features[:, self.columns] > self.thresholds) - self.shares) / self.scales


def one_blas_thread() -> AbstractContextManager[object]:
    """Within it, numpy and scipy use one thread for linear algebra.

    They come with a library each, whose threads wait for each other in the many small steps of a search: on two
    cores that takes ten times as long.
    """
    return threadpool_limits(1, user_api="blas")


def fit_linear(
    loss: Loss,
    features: Features,
    penalty: float,
    start: Linear,
    *,
    pull: Linear | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
) -> Linear:
    """The minimum of loss(W x + b) − ⟨pull, (W, b)⟩ + (penalty / 2) ‖W‖², found by L-BFGS.

    Of several workers each has some of the rows, and the loss is the sum of theirs.

    Parameters
    ----------
    loss : Loss
        Of the scores of all rows; convex and smooth.
    features : Features
        A row an instance.
    penalty : float
        Of the weights; the intercept has none.
    start : Linear
        The first guess. The minimum found is never above it.
    pull : Linear, default=None
        A linear reward, such as the mean operator of logistic regression.
    intercept : bool, default=True
        False keeps the start's intercept.
    tol : float, default=1e-06
        The largest slope that counts as zero.
    """
    workers, shape, n_weights = find_workers(), start.weights.shape, start.weights.size

    def unpack(flat: Array) -> Linear:
        return Linear(flat[:n_weights].reshape(shape), flat[n_weights:])

    def objective(flat: Array) -> tuple[float, Array]:
        at = unpack(flat)
        value, slope = loss(features.scores(at))
        value, weight_slope, intercept_slope = workers.sum(value, features.sums(slope), slope.sum(axis=1))
        weight_slope = weight_slope + penalty * at.weights
        intercept_slope = intercept_slope * intercept
        value += penalty / 2 * float(np.sum(at.weights**2))
        if pull is not None:
            value -= float(np.sum(pull.weights * at.weights) + pull.intercept @ at.intercept)
            weight_slope -= pull.weights
            intercept_slope -= pull.intercept
        return value, np.append(weight_slope, intercept_slope)

    options = {"gtol": tol, "ftol": 0.0, "maxiter": _MAX_ITERATIONS, "maxfun": 2 * _MAX_ITERATIONS}
    first = np.append(start.weights, start.intercept)
    return unpack(minimize(objective, first, jac=True, method="L-BFGS-B", options=options).x)


@dataclass(kw_only=True, eq=False, repr=False)
class ClassicalClassifier(LLPClassifier):
    """Base class of the methods without a network, which learn from rows of features.

    Images are treated as rows of pixels.

    Parameters
    ----------
    standardize : bool, default=True
        Whether to standardize the instances first, so that their units do not matter. Each column of a table is
        scaled to mean 0 and standard deviation 1, or less if rare values lie far out (see
        :func:`llpgan.bags.on_disk.robust_scale`). The pixels of images, which share one unit, get mean 0 each and
        standard deviation 1 together. If False, the instances are used as they are, as in scikit-learn's linear
        models and kernels.

    Attributes
    ----------
    {inherited}
    shift_ : ndarray of shape (n_features,) or float
        What is subtracted from each feature.
    scale_ : ndarray of shape (n_features,) or float
        What each feature is then divided by.
    """

    standardize: bool = True

    _parameter_constraints: ClassVar = {"standardize": ["boolean"]}

    def _learn_features(self, bags: Bags) -> Features:
        """The features of the training instances; learns what :meth:`_features` needs."""
        self._learn_scales(bags)
        return self._features(bags.instances)

    def _learn_scales(self, bags: Bags) -> None:
        """What :meth:`_features` needs, without reading instances that stay in their file all at once."""
        shift: Array | float = 0.0
        scale: Array | float = 1.0
        if self.standardize and bags.instances.ndim == 2:
            shift, scale = robust_scale(bags.instances, bags.weights)
        elif self.standardize:
            pixels = np.asarray(bags.instances).reshape(len(bags.instances), -1)
            shift, deviation = column_moments(pixels, bags.weights)
            scale = float(np.sqrt(np.mean(deviation**2))) or 1.0
        self.shift_, self.scale_ = shift, scale

    def _features(self, instances: Array) -> Features:
        """The features of any instances."""
        rows = np.asanyarray(instances).reshape(len(instances), -1)  # what stays in a file is read: they need all
        return Features.from_rows(rows, self.shift_, self.scale_)


_MOST_KEPT = 2**28  # bytes of features

# From instances as they come to their features.
FeaturesOf = Callable[[Array], Array]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class BagBlock:
    """Some bags that follow each other.

    Attributes
    ----------
    bags : slice
        Which bags these are.
    sizes : array of shape (n_bags,)
        How many rows each of them has.
    starts : array of shape (n_bags,)
        Where each of them starts among the rows of the block.
    shares : array of shape (n_rows,) or None
        How much each row counts in its bag, on average one; None where all count the same.
    features : array of shape (n_rows, n_features + 1) or callable
        The features, the last of which is one, or a function that computes them.
    """

    bags: slice
    sizes: Array
    starts: Array
    shares: Array | None
    features: Array | Callable[[], Array]

    def read(self) -> Array:
        """(n_rows, n_features + 1): the features of all rows."""
        return self.features() if callable(self.features) else self.features

    def sums(self, values: Array) -> Array:
        """(n_bags, ...): the sum over the rows of each bag."""
        return np.add.reduceat(values, self.starts, axis=0)

    def repeat_rows(self, values: Array) -> Array:
        """(n_rows, ...): what is given for bags, for each of their rows."""
        return np.repeat(values, self.sizes, axis=0)


def bag_blocks(
    bags: Bags, features_of: FeaturesOf, rows_a_block: int = ROWS_A_BLOCK, *, keep: bool = True
) -> list[BagBlock]:
    """Divide bags into blocks of about so many rows, or of one larger bag.

    Of several workers each has the blocks of some of the bags. Instances in memory are turned into features once,
    and so are those in a file if their features take less than 256 MB. Others are read, and turned, each time.

    Parameters
    ----------
    bags : Bags
        The bags.
    features_of : callable
        Turns instances into features.
    rows_a_block : int, default=4096
        The number of rows after which a block ends.
    keep : bool, default=True
        Whether features may be kept; otherwise they are computed each time.

    Examples
    --------
    >>> bags = Bags.from_labels(np.array([[1.0], [2.0], [3.0]]), [0, 1, 1], groups=["a", "b", "a"])
    >>> (block,) = bag_blocks(bags, lambda instances: instances)
    >>> block.read()
    array([[1., 1.],
           [3., 1.],
           [2., 1.]])
    """
    if keep and is_stored(bags.instances):
        keep = has_small_features(bags, features_of(bags.instances[:1]).shape[1] + 1)
    shares = None  # how much each row counts in its bag, on average one
    if bags.weights is not None:
        shares = np.asarray(bags.weights * (bags.sizes / bags.totals)[bags.bag_index])
    blocks = []
    for part in bag_runs(bags, rows_a_block):
        first, last = int(bags.starts[part.start]), part.stop - 1
        stop = int(bags.starts[last] + bags.sizes[last])
        compute = partial(_compute_features, bags, features_of, first, stop)
        blocks.append(
            BagBlock(
                bags=part,
                sizes=bags.sizes[part],
                starts=bags.starts[part] - first,
                shares=None if shares is None else shares[bags.row_order[first:stop]],
                features=compute() if keep else compute,
            )
        )
    return blocks


def has_small_features(bags: Bags, n_columns: int) -> bool:
    """Whether so many features of each row of this worker's bags take less than 256 MB."""
    return bool(bags.sizes[find_workers().share(bags.sizes)].sum() * n_columns * 8 <= _MOST_KEPT)


def _compute_features(bags: Bags, features_of: FeaturesOf, first: int, stop: int) -> Array:
    """The features of some rows in the order of bags, a few thousand at a time, with a column of ones."""
    table = np.empty((0, 0))
    for start in range(first, stop, ROWS_A_BLOCK):
        rows = bags.row_order[start : min(stop, start + ROWS_A_BLOCK)]
        features = features_of(bags.instances[rows])
        if start == first:
            table = np.ones((stop - first, features.shape[1] + 1))
        table[start - first : start - first + len(rows), :-1] = features
    return table


def map_in_threads(work: Callable[[BagBlock], Result], blocks: Sequence[BagBlock]) -> Iterator[Result]:
    """What becomes of each block, in their order, by as many threads as there are processors."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if processes()[0] > 1:  # as many as the launcher leaves to each process
        n_cores = int(os.environ.get("OMP_NUM_THREADS", max(1, n_cores // processes()[1])))
    n_threads = min(n_cores, len(blocks))
    if n_threads < 2:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for first in range(0, len(blocks), 2 * n_threads):  # so that few results wait at a time
            yield from pool.map(work, blocks[first : first + 2 * n_threads])


def sum_over_blocks(
    work: Callable[[BagBlock], tuple[Array, ...]], blocks: Sequence[BagBlock]
) -> tuple[Array, ...]:
    """The sums of what is computed of each block, over the blocks of all workers."""
    totals: list[Array] = []
    for parts in map_in_threads(work, blocks):
        totals = totals or [np.zeros(part.shape) for part in parts]
        for total, part in zip(totals, parts, strict=True):
            total += part
    return find_workers().sum(*totals)


def bag_runs(bags: Bags, rows_a_block: int) -> list[slice]:
    """Runs of bags of about so many rows; of several workers, the part of them that lies in the share of this."""
    numbers = (bags.starts + bags.sizes - 1) // rows_a_block
    share = find_workers().share(bags.sizes)
    firsts = share.start + np.flatnonzero(np.diff(numbers[share], prepend=-1))
    return [slice(first, stop) for first, stop in zip(firsts, [*firsts[1:], share.stop], strict=True)]


def predict_classes(features: Array, points: Array) -> Array:
    """(rows, outputs, r): the softmax of the scores of r classifiers; of two classes, that of the second.

    Parameters
    ----------
    features : array of shape (rows, d)
        The last of them one.
    points : array of shape (r, outputs, d)
        The classifiers.

    Examples
    --------
    >>> predict_classes(np.array([[2.0, 1.0]]), np.array([[[0.0, 0.0]], [[0.0, np.log(3)]]])).round(2)
    array([[[0.5 , 0.75]]])
    """
    n_outputs = points.shape[1]
    flat = points.swapaxes(0, 1).reshape(n_outputs * len(points), -1)
    scores: Any = (features @ flat.T).reshape(len(features), n_outputs, len(points))
    if n_outputs == 1:
        with np.errstate(over="ignore"):  # exp(−score), of which 1 / (1 + ∞) is right
            np.exp(np.negative(scores, out=scores), out=scores)
        scores += 1
        return np.asarray(np.reciprocal(scores, out=scores))
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return np.asarray(scores)


# From rows (a, d) and (b, d) to inner products (a, b).
Kernel = Callable[[Array, Array], Array]
_MEMORY_LIMIT = 2**32
_NULL = 1e-10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamedKernel:
    """One of scikit-learn's kernels by its name, with its settings; those it does not have are not used.

    >>> NamedKernel("rbf", gamma=0.5, degree=3, coef0=0.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.135]])
    """

    name: str
    gamma: float
    degree: float
    coef0: float

    def __call__(self, rows: Array, others: Array) -> Array:
        """The kernel of each row and each of the others."""
        settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(rows, others, metric=self.name, filter_params=True, **settings))


@dataclass(frozen=True)
class OwnKernel:
    """A kernel of the user's own, whose matrices are checked."""

    function: Kernel

    def __call__(self, rows: Array, others: Array) -> Array:
        """The kernel of each row and each of the others."""
        values = np.asarray(self.function(rows, others))
        wanted = len(rows), len(others)
        if values.dtype.kind not in "biuf" or values.shape != wanted:
            raise ValueError(
                f"of {len(rows)} and {len(others)} rows the kernel gave an array of shape {values.shape} and type "
                f"{values.dtype}, not numbers of shape {wanted}"
            )
        if not np.isfinite(values).all():
            row, other = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(f"the kernel of rows {row} and {other} is {values[row, other]}: it must be finite")
        return values.astype(np.float64, copy=False)


def scale_gamma(features: Array, weights: Array | None = None) -> float:
    """What "scale" means to scikit-learn: 1 / (number of features · their variance), of weighted rows too."""
    if weights is None:
        return float(1 / (features.shape[1] * (features.var() or 1.0)))
    mean = np.average(features, axis=0, weights=weights).mean()
    variance = np.average((features - mean) ** 2, axis=0, weights=weights).mean()
    return float(1 / (features.shape[1] * (variance or 1.0)))


@dataclass(frozen=True)
class KernelMap:
    """Features whose inner products are the kernel: exactly, if every row is a landmark; else Nyström's."""

    kernel: Kernel
    landmarks: Array
    whitening: Array

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, features: Array, n_landmarks: int | None, random_state: RandomState
    ) -> KernelMap:
        """The map of so many rows, drawn at random, as landmarks; None for all rows."""
        landmarks = features
        if n_landmarks is not None and n_landmarks < len(features):
            landmarks = features[random_state.permutation(len(features))[:n_landmarks]]
        _state_memory(len(features), len(landmarks))
        values, vectors = eigh(kernel(landmarks, landmarks))
        kept = values > _NULL * values[-1]
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, features: Array) -> Array:
        """Rows of features, one for each independent landmark."""
        return self.kernel(features, self.landmarks) @ self.whitening


def _state_memory(n_rows: int, n_landmarks: int) -> None:
    """Of the features, and of the landmarks' kernel, its eigenvectors and the solver's workspace."""
    needed = 8 * (n_rows * n_landmarks + 3 * n_landmarks**2)
    said = f"the kernel of {n_rows} rows with {n_landmarks} landmarks takes about {needed / 2**20:,.0f} MB"
    _log.info(said)
    if needed > _MEMORY_LIMIT:
        few = max(10, min(1000, _MEMORY_LIMIT // (16 * n_rows) // 10 * 10))
        raise MemoryError(
            f"{said}, beyond {_MEMORY_LIMIT / 2**20:,.0f} MB: give n_components={few} or "
            f'less, for Nyström features of so many rows, or kernel="linear"'
        )


def as_kernel(
    kernel: Any, gamma: float | str, degree: float, coef0: float, features: Array, weights: Array | None = None
) -> Kernel:
    """The kernel of an estimator's settings, by its name or as a function."""
    if callable(kernel):
        return OwnKernel(kernel)
    found = scale_gamma(features, weights) if gamma == "scale" else float(gamma)
    return NamedKernel(kernel, found, degree, coef0)


# From features to the probability of one class against all others.
ProbabilityOf = Callable[[Features], Array]


@dataclass(kw_only=True, eq=False, repr=False)
class BinaryClassifier(ClassicalClassifier):
    """Base class of the methods for two classes.

    With more than two classes, each class is learned against all others, and the probabilities are normalized.

    Parameters
    ----------
    C : float, default=None
        The weight of the loss against ½‖w‖², as in ``SVC``. None means the default of the method.
    kernel : {"linear", "rbf", "poly", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "additive_chi2"} \
            or callable, default="linear"
        The kernel, one of :func:`sklearn.metrics.pairwise.pairwise_kernels`. A callable takes rows of shape
        ``(a, d)`` and ``(b, d)`` and returns a matrix of shape ``(a, b)``.
    gamma : float or "scale", default="scale"
        The coefficient of the kernels that have one. "scale" means 1 / (n_features · variance of the features), as
        in ``SVC``.
    degree : float, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant term of the polynomial and sigmoid kernels.
    {inherited}

    Attributes
    ----------
    binary_ : list of callable
        One function per class, from features to the probability of the class against all others. With two classes,
        there is one function, for the second class.
    {inherited}
    """

    C: float | None = None
    kernel: str | Kernel = "linear"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0

    usual_weights: ClassVar[tuple[float, float]]  # with the linear kernel, and with others

    _parameter_constraints: ClassVar = {
        **ClassicalClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [StrOptions(set(KERNEL_PARAMS)), callable],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
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
        features = self._learn_features(bags)
        positives = [1] if bags.n_classes == 2 else range(bags.n_classes)
        with one_blas_thread():
            self.binary_ = [self._fit_binary(features, bags, bags.proportions[:, k]) for k in positives]
        return self._finish(bags)

    @abstractmethod
    def _fit_binary(self, features: Features, bags: Bags, shares: Array) -> ProbabilityOf:
        """Learn the class of which each bag has this share."""

    def _probabilities(self, instances: Array) -> Array:
        features = self._features(instances)
        return renormalize(np.column_stack([probability(features) for probability in self.binary_]))

    def _weight(self) -> float:
        return self.C or self.usual_weights[self.kernel != "linear"]

    def _kernel(self, features: Array, weights: Array | None = None) -> Kernel:
        return as_kernel(self.kernel, self.gamma, self.degree, self.coef0, features, weights)


def renormalize(positive: Array) -> Array:
    """(N, K): probabilities from one class's (N, 1), or from those of K classes, each against all others.

    >>> renormalize(np.array([[0.25]])), renormalize(np.array([[0.5, 0.5, 1.0]]))
    (array([[0.75, 0.25]]), array([[0.25, 0.25, 0.5 ]]))
    """
    if positive.shape[1] == 1:
        return np.hstack([1 - positive, positive])
    never_all_zero = np.maximum(positive, np.finfo(np.float64).tiny)
    return never_all_zero / never_all_zero.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Sigmoid:
    """σ(steepness · score) of a linear score."""

    model: Linear
    steepness: float = 1.0

    def __call__(self, features: Features) -> Array:
        """The probability of each row."""
        return np.asarray(expit(self.steepness * features.scores(self.model)[0]))
