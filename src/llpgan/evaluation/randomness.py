"""Are bags drawn at random? Only then do they tell how often single predictions are right."""

from dataclasses import dataclass

import numpy as np

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.evaluation.importance import fewer_rows
from llpgan.utils.arrays import Array

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

    def in_words(self) -> str:
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
    >>> print(randomness_test(Bags.from_labels(X, labels, by_value), permutations=99).in_words()[:57])
    The bags were not drawn at random: their instances differ
    """
    refuse_other_than_bags(bags, "bags")
    rng = np.random.default_rng(random_state)
    kept = fewer_rows(bags, _MOST_VALUES // min(_MOST_COLUMNS, _n_columns(bags)), rng)
    rows = _standardised(kept, rng)[kept.row_order]
    spreads = np.array(
        [_spread(rows, kept)] + [_spread(rows[rng.permutation(len(rows))], kept) for _ in range(permutations)]
    )
    p_features = _smaller_of_two(spreads.sum(axis=1), spreads.max(axis=1))
    p_proportions = _p_proportions(bags, permutations, proportions_sd, rng)
    return RandomnessTest(
        p_value=min(1.0, 2 * min(p_features, p_proportions)),
        p_features=p_features,
        p_proportions=p_proportions,
        columns=_most_different(bags, spreads),
    )


def _n_columns(bags: Bags) -> int:
    return int(np.prod(bags.instances.shape[1:]))


def _standardised(bags: Bags, rng: np.random.Generator) -> Array:
    """Columns of mean 0 and standard deviation 1, wild values brought in; of many, random sums."""
    table = np.asarray(bags.instances, dtype=np.float32).reshape(len(bags.instances), -1)
    if table.shape[1] > _MOST_COLUMNS:
        table = table @ rng.normal(size=(table.shape[1], _MOST_COLUMNS)).astype(np.float32)
    deviation = table.std(axis=0)
    return np.clip((table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1), -_BEYOND, _BEYOND)


def _spread(rows: Array, bags: Bags) -> Array:
    """Σ_b m_b x̄_b² of each column, of rows that stand bag after bag."""
    sums = np.add.reduceat(rows, bags.starts)
    return np.asarray((sums**2 / bags.sizes[:, None]).sum(axis=0))


def _smaller_of_two(first: Array, second: Array) -> float:
    """The p-value of the more surprising of two statistics, of which the first entry is the observed one."""
    best = np.minimum(_upper_p(first), _upper_p(second))
    return float((best <= best[0] + _SAME).mean())


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
