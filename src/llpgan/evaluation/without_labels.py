"""Accuracy without labels, from random bags or as a worst case."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from llpgan.bags.bags import Bags, keep_counted_rows, refuse_other_than_bags
from llpgan.bags.checks import check_probabilities, check_same_length
from llpgan.evaluation.explain import fewer_rows
from llpgan.evaluation.scores import BagScores, Estimate, Intervals, bag_scores, jackknife
from llpgan.utils.arrays import Array
from llpgan.utils.messages import html_table
from llpgan.utils.old_names import OldName


@dataclass(frozen=True)
class WorstCase:
    """Bounds that hold for every arrangement of the labels that agrees with the bags.

    Attributes
    ----------
    bag_error : Estimate
        The mean over bags of the hard total variation, with Hoeffding's interval for the mean over all such bags.
        The interval assumes only that bags are drawn independently.
    lowest_accuracy : float
        The lowest accuracy of any arrangement of labels that agrees with the proportions.
    highest_accuracy : float
        The highest accuracy: 1 − bag error, with bags weighted by size.
    purity : float
        The mean over rows of the proportion of the commonest class of their bag. The purer the bags are, the
        closer are the two bounds.
    """

    bag_error: Estimate
    lowest_accuracy: float
    highest_accuracy: float
    purity: float


def hoeffding(value: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """Return Hoeffding's interval of a mean of independent figures between 0 and 1.

    The interval is ± √(ln(2/δ) / 2n), with δ = 1 − confidence.

    Parameters
    ----------
    value : float
        The mean.
    n : int
        The number of figures.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    Estimate
        The mean with its interval.

    Examples
    --------
    >>> print(hoeffding(0.1, 200))
    0.100 (0.004 to 0.196)
    """
    half = sqrt(log(2 / (1 - confidence)) / (2 * n))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half))


def worst_case(bags: Bags, probabilities: ArrayLike) -> WorstCase:
    """Bound the accuracy on single rows by the proportions of their bags alone.

    In a bag with proportions p and predicted shares q, at most Σ_k min(p_k, q_k) of the rows are right, and at
    least Σ_k max(0, p_k + q_k − 1). Some arrangement of the labels reaches each bound. In mixed bags the bounds
    are far apart: a small bag error alone guarantees nothing for single rows. If less is known of the bags than
    all shares, the smallest and largest possible ones count.

    Parameters
    ----------
    bags : Bags
        The bags.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of the instances of the bags.

    Returns
    -------
    WorstCase
        The bounds.

    Examples
    --------
    >>> bags = Bags.from_labels(np.zeros((4, 1)), [0, 0, 0, 1], groups=[0, 0, 0, 0])
    >>> found = worst_case(bags, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> found.lowest_accuracy, found.highest_accuracy, found.purity
    (0.5, 1.0, 0.75)
    """
    refuse_other_than_bags(bags, "bags")
    table = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    predicted = bags.means(np.eye(bags.n_classes)[table.argmax(axis=1)])
    given = bags.nearest_shares(predicted)
    known = bags.share_constraints
    least, most = (given, given) if known is None or known.sd is not None else (known.lower, known.upper)
    errors = np.abs(given - predicted).sum(axis=1) / 2 if known is None else known.distances(predicted)
    lowest = np.maximum(least + predicted - 1, 0).sum(axis=1)
    highest = np.minimum(most, predicted).sum(axis=1)
    return WorstCase(
        bag_error=hoeffding(float(errors.mean()), bags.n_bags),
        lowest_accuracy=float(np.average(lowest, weights=bags.totals)),
        highest_accuracy=float(np.average(highest, weights=bags.totals)),
        purity=float(np.average(given.max(axis=1), weights=bags.totals)),
    )


_ROUNDS = 60  # of the fixed point; it converges in a handful


class Pairs(NamedTuple):
    """Sums over each bag, of labels and of their figures: one row per bag, pairs d along the last axis.

    Axes between are figures that are estimated side by side, such as the cells of a confusion matrix.

    Attributes
    ----------
    sizes : ndarray
        M, ``(n_bags,)``.
    counts : ndarray
        C_d, how many rows of the bag have the class that pair d asks for.
    sums : ndarray
        S_d, the bag's sum of g_d(x), a figure of the row that is known.
    squares : ndarray
        The bag's sum of Σ_d g_d(x)²; without the last axis.
    noise : float, default=0.0
        The standard deviation of the given proportions around the true ones.
    """

    sizes: Array
    counts: Array
    sums: Array
    squares: Array
    noise: float = 0.0


class LabelMean(NamedTuple):
    """An estimate of E Σ_d 1[y is the class of pair d] g_d(x).

    Attributes
    ----------
    value : ndarray
        The estimate.
    leave_one_out : ndarray
        The same without each bag in turn, ``(n_bags, ...)``.
    expected : ndarray
        Its variance, by theory, for normal sums of large bags.
    """

    value: Array
    leave_one_out: Array
    expected: Array


class _Moments(NamedTuple):
    """Of all bags together: labels and figures over rows (``*_rows``), and as the spread of bags shows them."""

    product: Array
    covariance: Array
    labels: Array
    figures: Array
    labels_rows: Array
    figures_rows: Array


def label_mean(pairs: Pairs) -> LabelMean:
    """The mean over rows of a figure that depends on the row's label, where only bags' counts of labels are known.

    In bags drawn at random, of any sizes m_b, with B bags and N rows, π = Σc/N and ḡ = Σs/N,

        (1 − 1/N)/(B − 1) · Σ_b (c_b − m_b π)(s_b − m_b ḡ)/m_b

    is on average the covariance over rows of 1[y = k] and g, so that πḡ plus it is the mean wanted, without bias:
    over all ways to deal the N rows into the bags it is exactly that of these rows. For bags of one size this is
    the 0-1 estimate of EasyLLP (Busa-Fekete et al., 2023), m p_k − (m − 1) π_k in place of a label. The prior π is
    that of the *other* bags, which makes it unbiased; the bags' own prior would pull it towards chance by one part
    in B.

    It is sharpened by two figures whose mean is known to be zero: the spread of the bags' counts, and of their
    sums, less what they must be in random bags. With r the correlation of labels and figures, r/(1 + r²) of each
    (in units of its rows) is subtracted; r is the one that results. Near r = 1 the variance falls by (1 − r)²: a
    classifier that is right for 98 % is known twenty times better.
    """
    parts = _parts(pairs)
    totals = tuple(part.sum(axis=0) for part in parts)
    without = tuple(total - part for total, part in zip(totals, parts, strict=True))
    n_bags = len(pairs.sizes)
    moments = _centre_moments(totals, n_bags, pairs)
    value, r = _sharpen(moments)
    leave_one_out, _ = _sharpen(_centre_moments(without, n_bags - 1, pairs))
    reach = moments.labels_rows * moments.figures_rows
    share_of_bags = 1 - n_bags / pairs.sizes.sum()  # bags of one row have no noise but that of their rows
    per_bag = share_of_bags * reach * (1 - r**2) ** 2 / (1 + r**2) / _dimension(totals)
    return LabelMean(value, leave_one_out, per_bag / (n_bags - 1))


def _parts(pairs: Pairs) -> tuple[Array, ...]:
    """What each bag adds to the totals: N, m², c, s, c·s/m, c·c/m, s·s/m, g²; the first two with axes to spare."""
    sizes, counts, sums = pairs.sizes.astype(np.float64), pairs.counts, pairs.sums
    shape = (-1,) + (1,) * (np.broadcast(counts, sums).ndim - 2)
    m = sizes.reshape(shape)
    return (
        m, m**2, counts, sums, (counts * sums).sum(-1) / m, (counts**2).sum(-1) / m, (sums**2).sum(-1) / m,
        pairs.squares,
    )  # fmt: skip


def _centre_moments(totals: tuple[Array, ...], n_bags: int, pairs: Pairs) -> _Moments:
    n, n_squared, counts, sums, both, counts_squared, sums_squared, squares = totals
    prior, mean = counts / n[..., None], sums / n[..., None]
    unbiased = (1 - 1 / n) / (n_bags - 1)
    noise = pairs.noise**2 * counts.shape[-1] * (n - n_squared / n)
    product = (prior * mean).sum(-1)
    return _Moments(
        product=product,
        covariance=unbiased * (both - n * product),
        labels=unbiased * (counts_squared - n * (prior**2).sum(-1) - noise),
        figures=unbiased * (sums_squared - n * (mean**2).sum(-1)),
        labels_rows=(prior - prior**2).sum(-1),
        figures_rows=np.maximum(squares / n - (mean**2).sum(-1), 0),
    )


def _sharpen(moments: _Moments) -> tuple[Array, Array]:
    """The estimate, and r."""
    reach = np.sqrt(moments.labels_rows * moments.figures_rows)
    plain = _safe_ratio(moments.covariance, reach)
    excess = (
        2
        - _safe_ratio(moments.labels, moments.labels_rows, 1)
        - _safe_ratio(moments.figures, moments.figures_rows, 1)
    )
    r = np.clip(plain, -1, 1)
    for _ in range(_ROUNDS):
        r = np.clip(plain + r / (1 + r**2) * excess, -1, 1)
    return moments.product + reach * (plain + r / (1 + r**2) * excess), r


def _safe_ratio(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """Rounding may leave next to nothing where there is nothing: a figure that is the same for all rows."""
    something = whole > 1e-12
    return np.where(something, part / np.where(something, whole, 1), otherwise)


def _dimension(totals: tuple[Array, ...]) -> Array:
    """In how many directions the counts of bags vary: K − 1 for K equal classes, 1 for one."""
    prior = totals[2] / totals[0][..., None]
    trace = (prior - prior**2).sum(-1)
    squared = (prior**2).sum(-1) - 2 * (prior**3).sum(-1) + (prior**2).sum(-1) ** 2
    return np.where(squared > 0, trace**2 / np.where(squared > 0, squared, 1), 1)


LEAST_BAGS = 3
_LEAST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class LabelFreeScores:
    """Scores of single predictions that are estimated from bags alone, with 95 % intervals over bags.

    Attributes
    ----------
    n_bags : int
        The number of bags. In simulations, intervals covered the truth in 93 to 98 of 100 cases with 50 bags or
        more, in at least 91 with 20 bags, and in 89 with 10 bags.
    accuracy : Estimate
        The share of rows whose predicted class is right.
    confusion : Intervals
        The confusion matrix as shares of all rows, with true classes in rows and predicted classes in columns.
    recall : Intervals
        The recall of each class. It is NaN for a class that no bag has.
    brier : Estimate or None
        The mean of Σ_k (p_k − 1[y = k])², between 0 and 2. None if only the predicted classes are given.
    log_loss : Estimate or None
        The mean of −log (probability of the true class). None if only the predicted classes are given.
    """

    n_bags: int
    accuracy: Estimate
    confusion: Intervals
    recall: Intervals
    brier: Estimate | None
    log_loss: Estimate | None


def estimate_accuracy(bags: Bags, predictions: ArrayLike, *, proportions_sd: float = 0.0) -> LabelFreeScores:
    """Estimate how often single predictions are right, without any label.

    The bags must have been **drawn at random**, and the model must **not have been trained on them**. Otherwise
    the figures are wrong without any sign of it. :func:`~llpgan.evaluation.randomness_test` tests the first
    condition, and :func:`~llpgan.evaluation.judge_without_labels` does both. See
    :func:`~llpgan.evaluation.without_labels.label_mean` for the method. Values are unbiased and may therefore lie
    slightly outside 0 and 1; intervals do not.

    Parameters
    ----------
    bags : Bags
        The held-out bags.
    predictions : array-like of shape (n_samples, n_classes) or (n_samples,)
        The predicted probabilities of the instances, or their predicted classes.
    proportions_sd : float, default=0.0
        The standard deviation of the noise in the given proportions, if it is known.

    Returns
    -------
    LabelFreeScores
        The estimates with their intervals.

    Raises
    ------
    ValueError
        If there are fewer than three bags, or a prediction is not one of the classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=6400)
    >>> guesses = np.where(rng.random(6400) < 0.9, labels, rng.integers(3, size=6400))
    >>> bags = Bags.from_labels(np.zeros((6400, 1)), labels, groups=np.arange(6400) // 32)
    >>> print(estimate_accuracy(bags, guesses).accuracy, (labels == guesses).mean().round(3))
    0.939 (0.926 to 0.949) 0.934
    """
    refuse_other_than_bags(bags, "bags")
    table = np.asarray(predictions)
    check_same_length("instances", bags.instances, "rows of predictions", table)
    bags, table = keep_counted_rows(bags, table)
    if bags.n_bags < LEAST_BAGS:
        raise ValueError(f"accuracy without labels needs {LEAST_BAGS} bags at least, here are {bags.n_bags}")
    if are_weighted(bags):
        raise ValueError(
            "accuracy without labels cannot be estimated for rows with weights, or in several bags: they are no "
            "random sample"
        )
    soft = table.astype(np.float64) if table.ndim == 2 else None
    hard = _one_hot(bags, table) if soft is None else np.eye(bags.n_classes)[soft.argmax(axis=1)]
    confusion, recall = _confusion_by_cell(bags, hard, proportions_sd)
    brier = log_loss = None
    if soft is not None:
        brier = _brier(bags, soft, proportions_sd)
        losses = pair_classes(bags, -np.log(np.clip(soft, _LEAST, 1)), proportions_sd)
        log_loss = jackknife(*label_mean(losses), len(soft)).at()
    right = label_mean(pair_classes(bags, hard, proportions_sd))
    return LabelFreeScores(
        n_bags=bags.n_bags,
        accuracy=jackknife(*right, len(hard), top=1.0, share=True).at(),
        confusion=confusion,
        recall=recall,
        brier=brier,
        log_loss=log_loss,
    )


def are_weighted(bags: Bags) -> bool:
    """Whether some rows count more than others, or belong to several bags, which then have weights."""
    return bags.uneven_weights is not None or bags.bag_weights is not None


def _one_hot(bags: Bags, predicted: Array) -> Array:
    found = predicted[:, None] == bags.classes
    for row in np.flatnonzero(~found.any(axis=1)).tolist():
        raise ValueError(
            f"row {row}: prediction {predicted[row].item()!r} is not one of the classes {bags.classes.tolist()}"
        )
    return found.astype(np.float64)


def pair_classes(bags: Bags, figures: Array, noise: float) -> Pairs:
    """Class k goes with column k of figures that have one row per instance."""
    sizes = bags.sizes[:, None]
    squares = bags.means((figures**2).sum(axis=1, keepdims=True))[:, 0] * bags.sizes
    return Pairs(bags.sizes, sizes * bags.proportions, sizes * bags.means(figures), squares, noise)


def _confusion_by_cell(bags: Bags, hard: Array, noise: float) -> tuple[Intervals, Intervals]:
    """Each cell on its own: the class in the row, the prediction in the column."""
    pairs = pair_classes(bags, hard, noise)
    counts, sums = pairs.counts[:, :, None, None], pairs.sums[:, None, :, None]
    found = label_mean(Pairs(bags.sizes, counts, sums, sums[..., 0], noise))
    cells = jackknife(*found, len(hard), top=1.0, share=True)
    diagonal = [np.diagonal(part, axis1=-2, axis2=-1) for part in found]
    total = pairs.counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior, others = total / len(hard), (total - pairs.counts) / (len(hard) - bags.sizes)[:, None]
        rows = np.maximum(total, 1)
        recall = jackknife(
            diagonal[0] / prior, diagonal[1] / others, diagonal[2] / prior**2, rows, top=1.0, share=True
        )
    return cells, recall


def _brier(bags: Bags, soft: Array, noise: float) -> Estimate:
    """Σ_k p_k² + 1 − 2 p_y: all but the last is known of each row."""
    pairs = pair_classes(bags, soft, noise)
    found = label_mean(pairs)
    known, n = pairs.squares.sum(), len(soft)
    value = known / n + 1 - 2 * found.value
    others = (known - pairs.squares) / (n - bags.sizes) + 1 - 2 * found.leave_one_out
    return jackknife(value, others, 4 * found.expected, n, top=2.0).at()


_LEVEL = 0.05
_MOST_VALUES = 1_000_000  # dealt anew in each permutation; of more rows each bag keeps the same share
_MOST_COLUMNS = 200
_NAMED = 5
_SAME = 1e-6  # relative: what rounding may do
_BEYOND = 5.0  # standard deviations: a few wild values shall not hide the others


@dataclass(frozen=True)
class RandomnessTest:
    """Result of the test whether bags differ by more than chance, in their instances or in their proportions.

    Attributes
    ----------
    p_value : float
        The probability that random bags differ as much: twice the smaller of the next two.
    p_features : float
        The p-value of the features, by a permutation test of the means of the bags.
    p_proportions : float
        The p-value of the proportions, compared with those of bags drawn at random from all rows. It is also small
        if the proportions differ too little.
    columns : tuple of tuple
        The columns in which bags differ most, with the ratio of their spread to that of random bags. Empty if the
        columns have no user-facing names.
    """

    p_value: float
    p_features: float
    p_proportions: float
    columns: tuple[tuple[str, float], ...]

    @property
    def looks_random(self) -> bool:
        """Whether the test does not reject that bags are random, at a level of 0.05. Few bags can hide much."""
        return self.p_value >= _LEVEL

    def __repr__(self) -> str:
        return f"RandomnessTest(p = {self.p_value:.2g}, {'' if self.looks_random else 'not '}random)"

    def _repr_html_(self) -> str:
        rows = {"features": self.p_features, "proportions": self.p_proportions, "both": self.p_value}
        columns = {"": list(rows), "p-value": [f"{p:.2g}" for p in rows.values()]}
        return html_table(columns, "Are the bags random?", note=self.describe())

    in_words = OldName("describe")

    def describe(self) -> str:
        """Describe the result in a sentence.

        Returns
        -------
        str
            The sentence.
        """
        if self.looks_random:
            return (
                f"The bags look drawn at random: they differ no more than chance allows (p = {self.p_value:.2g})."
            )
        if self.p_features > self.p_proportions:
            return (
                f"The bags were not drawn at random: their shares of the classes do not differ as those of random "
                f"bags do (p = {self.p_value:.2g})."
            )
        named = ", ".join(
            f"{name} ({ratio:.1f} times as much as in random bags)" for name, ratio in self.columns[:1]
        )
        return (
            f"The bags were not drawn at random: their instances differ from bag to bag by more than chance "
            f"allows (p = {self.p_value:.2g})" + (f", most of all in {named}." if named else ".")
        )


def randomness_test(
    bags: Bags, *, permutations: int = 499, proportions_sd: float = 0.0, random_state: int = 0
) -> RandomnessTest:
    """Test whether rows were assigned to bags at random, from features and proportions without labels.

    The spread of the bag means of each standardized column is Σ_b m_b x̄_b². The sum of the spreads over columns
    and their maximum are ranked among those of random permutations of the rows, and the more extreme of the two
    counts, by its own rank. The proportions are compared with draws from the multinomial distribution.

    Parameters
    ----------
    bags : Bags
        The bags, with their instances. If there are more than 200 columns, random sums of them are used.
    permutations : int, default=499
        The number of random permutations.
    proportions_sd : float, default=0.0
        The standard deviation of the noise in the given proportions, if it is known.
    random_state : int, default=0
        The seed of the permutations.

    Returns
    -------
    RandomnessTest
        The p-values, and the columns in which bags differ most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, labels = rng.normal(size=(600, 3)), rng.integers(2, size=600)
    >>> randomness_test(Bags.from_labels(X, labels, np.arange(600) // 20), permutations=99).looks_random
    True
    >>> by_value = np.argsort(np.argsort(X[:, 1] + rng.normal(size=600))) // 20
    >>> print(randomness_test(Bags.from_labels(X, labels, by_value), permutations=99).describe()[:57])
    The bags were not drawn at random: their instances differ
    """
    refuse_other_than_bags(bags, "bags")
    bags = bags.drop_weightless()
    rng = np.random.default_rng(random_state)
    kept = fewer_rows(bags, _MOST_VALUES // min(_MOST_COLUMNS, int(np.prod(bags.instances.shape[1:]))), rng)
    rows = _standardise(kept, rng)[kept.row_order]
    spreads = np.array(
        [_column_spread(rows, kept)]
        + [_column_spread(rows[rng.permutation(len(rows))], kept) for _ in range(permutations)]
    )
    more_extreme = np.minimum(_upper_p(spreads.sum(axis=1)), _upper_p(spreads.max(axis=1)))
    p_features = float((more_extreme <= more_extreme[0] + _SAME).mean())
    p_proportions = _p_proportions(bags, permutations, proportions_sd, rng)
    return RandomnessTest(
        p_value=min(1.0, 2 * min(p_features, p_proportions)),
        p_features=p_features,
        p_proportions=p_proportions,
        columns=_most_different(bags, spreads),
    )


def _standardise(bags: Bags, rng: np.random.Generator) -> Array:
    """Columns of mean 0 and standard deviation 1, wild values brought in; of many, random sums."""
    table = np.asarray(bags.instances, dtype=np.float32).reshape(len(bags.instances), -1)
    if table.shape[1] > _MOST_COLUMNS:
        table = table @ rng.normal(size=(table.shape[1], _MOST_COLUMNS)).astype(np.float32)
    deviation = table.std(axis=0)
    return np.clip((table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1), -_BEYOND, _BEYOND)


def _column_spread(rows: Array, bags: Bags) -> Array:
    """Σ_b m_b x̄_b² of each column, of rows sorted by bag."""
    sums = np.add.reduceat(rows, bags.starts)
    return np.asarray((sums**2 / bags.sizes[:, None]).sum(axis=0))


def _upper_p(statistics: Array) -> Array:
    """For each the share that is as large or larger, itself among them."""
    slack = _SAME * np.abs(statistics).max()
    return 1 - np.searchsorted(np.sort(statistics), statistics - slack) / len(statistics)


def _p_proportions(bags: Bags, draws: int, noise: float, rng: np.random.Generator) -> float:
    drawn = (
        rng.multinomial(bags.sizes, bags.prior / bags.prior.sum(), size=(draws, bags.n_bags)) / bags.sizes[:, None]
    )
    if noise:
        drawn = drawn + rng.normal(scale=noise, size=drawn.shape)
    spreads = np.array([_share_spread(p, bags.sizes) for p in (bags.proportions, *drawn)])
    return float(min(1.0, 2 * min(_upper_p(spreads)[0], _upper_p(-spreads)[0])))


def _share_spread(proportions: Array, sizes: Array) -> float:
    """Pearson's χ² of the bags' counts against the overall shares."""
    prior = np.average(proportions, axis=0, weights=sizes)
    present = prior > 0
    return float((sizes[:, None] * (proportions - prior)[:, present] ** 2 / prior[present]).sum())


def _most_different(bags: Bags, spreads: Array) -> tuple[tuple[str, float], ...]:
    """Empty if the columns have no user-facing names."""
    if bags.instances.ndim != 2 or bags.instances.shape[1] > _MOST_COLUMNS:
        return ()
    names = bags.features or [f"column {i}" for i in range(bags.instances.shape[1])]
    usual = spreads[1:].mean(axis=0)
    ratios = spreads[0] / np.where(usual > 0, usual, 1)
    return tuple((str(names[i]), float(ratios[i])) for i in (-ratios).argsort(kind="stable")[:_NAMED])


ENOUGH_BAGS = 50  # from which on intervals were measured to hold
_MEANING = (
    "What remains is the bag error: the share of a bag that is counted for the wrong class. It says how well sums "
    "over such bags are predicted. Single predictions may be worse, since errors cancel within a bag."
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Evaluation of predictions by bags alone.

    Attributes
    ----------
    bags : BagScores
        The comparison of predictions with the proportions of the bags.
    worst_case : WorstCase
        Bounds on the accuracy of single predictions, which hold for any bags.
    randomness : RandomnessTest
        The test whether the bags were drawn at random.
    scores : LabelFreeScores or None
        The scores of single predictions; None if they cannot be estimated, for the reason in ``why``.
    why : str
        A description of what the scores rest on, or of why there are none.
    """

    bags: BagScores
    worst_case: WorstCase
    randomness: RandomnessTest
    scores: LabelFreeScores | None
    why: str

    def _repr_html_(self) -> str:
        figures = {"bag error": self.bags.mean_total_variation}
        if self.scores is not None:
            known = {"accuracy": self.scores.accuracy, "Brier score": self.scores.brier}
            known |= {"log loss": self.scores.log_loss}
            figures |= {name: estimate for name, estimate in known.items() if estimate is not None}
        ends = ["" if found.low is None else f"{found.low:.3f} to {found.high:.3f}" for found in figures.values()]
        values = [f"{found.value:.3f}" for found in figures.values()]
        columns = {"": list(figures), "value": values, "95 % interval": ends}
        return html_table(columns, "How good predictions are, by bags alone", note=self.why)


_WEIGHTED = (
    f"Accuracy cannot be estimated because the rows have weights or belong to several bags: they are no random "
    f"sample of their bags. {_MEANING}"
)

_PARTIAL = (
    "Accuracy cannot be estimated because some shares of these bags are unknown. The bag error compares "
    f"predictions with the nearest possible shares. {_MEANING}"
)


def judge_without_labels(
    bags: Bags, probabilities: ArrayLike, *, proportions_sd: float = 0.0, random_state: int = 0
) -> Verdict:
    """Estimate the accuracy from held-out bags if they look random, and otherwise explain why not.

    Parameters
    ----------
    bags : Bags
        The bags, which the model was not trained on, with their instances.
    probabilities : array-like of shape (n_samples, n_classes)
        The predicted probabilities of the instances.
    proportions_sd : float, default=0.0
        The standard deviation of the noise in the given proportions, if it is known.
    random_state : int, default=0
        The seed of the test of randomness.

    Returns
    -------
    Verdict
        The bag error, the bounds, the test of randomness and, if possible, the scores of single predictions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3200, 1))
    >>> bags = Bags.from_labels(X, X[:, 0] + rng.normal(size=3200) > 0, np.arange(3200) // 16)
    >>> sure = 1 / (1 + np.exp(-2 * X))
    >>> print(judge_without_labels(bags, np.hstack([1 - sure, sure])).scores.accuracy)
    0.771 (0.725 to 0.811)
    """
    refuse_other_than_bags(bags, "bags")
    probabilities = check_probabilities(probabilities, len(bags.instances), bags.n_classes)
    bags, probabilities = keep_counted_rows(bags, probabilities)
    randomness = randomness_test(bags, proportions_sd=proportions_sd, random_state=random_state)
    able = (
        randomness.looks_random
        and bags.n_bags >= LEAST_BAGS
        and not are_weighted(bags)
        and bags.share_constraints is None
    )
    return Verdict(
        bags=bag_scores(bags, probabilities),
        worst_case=worst_case(bags, probabilities),
        randomness=randomness,
        scores=estimate_accuracy(bags, probabilities, proportions_sd=proportions_sd) if able else None,
        why=_why(bags, randomness),
    )


def _why(bags: Bags, randomness: RandomnessTest) -> str:
    if bags.share_constraints is not None:
        return _PARTIAL
    if are_weighted(bags):
        return _WEIGHTED
    n_bags = bags.n_bags
    if n_bags < LEAST_BAGS:
        return f"{n_bags} bags are too few to say how often single predictions are right. {_MEANING}"
    if not randomness.looks_random:
        return f"{randomness.describe()} Accuracy cannot be estimated because the bags are not random. {_MEANING}"
    few = " With so few bags, intervals hold in some 90 cases of 100 rather than 95."
    return (
        f"{randomness.describe()} So their shares show how often single predictions are right, on rows like "
        f"these, if the model was not trained on these bags.{few if n_bags < ENOUGH_BAGS else ''}"
    )
