"""The cells of groups by outcomes in every unit, from the unit's two margins, and how uncertain they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from llpgan.ecological.counts import GroupCounts, clipped_rates, regress

Table = NDArray[np.float64]
PRIOR_SCALE = 1.5
COVARIATE_SCALE = 0.5  # of log odds ratios, per standard deviation of a covariate
AGGREGATION_BIAS = 0.3
_PSEUDO_PEOPLE = 1.0  # with the outcomes of all units together, so that no outcome of a unit has a share of 0
_ROUNDS, _STILL = 5, 0.03  # of the overdispersion; the relative change below which it is settled
_OBJECTIVE_SCALE = 1e3  # per person, so that L-BFGS stops where it should
_LONGEST_SHIFT = 2.0  # of a logit, in one iteration
_LONGEST_MOVE = 1.0  # of a logit, to which cells move about linearly
_HALVINGS = 40
_FILL = 1e-9  # of the total, in directions of which no unit has information
_TINY = 1e-300


# ---- Tables with given margins


def rake_cells(
    tables: Table, row_totals: Table, column_totals: Table, *, max_iter: int = 1000, tol: float = 1e-9
) -> Table:
    """Scale rows and columns alternately until each table has its margins (iterative proportional fitting).

    The result is the table T with these margins that minimises Σ T log(T / table): it has the odds ratios of the
    table that it starts from.

    Parameters
    ----------
    tables : ndarray of shape (n_tables, n_rows, n_columns)
        Positive wherever a cell may be positive.
    row_totals : ndarray of shape (n_tables, n_rows)
        The sums of the rows to match.
    column_totals : ndarray of shape (n_tables, n_columns)
        The sums of the columns to match; each table has the same total as in ``row_totals``.
    max_iter : int, default=1000
        The greatest number of sweeps over rows and columns.
    tol : float, default=1e-9
        Stop when the rows' totals are matched to within this share of the table's total. Columns match exactly.

    Returns
    -------
    ndarray of shape (n_tables, n_rows, n_columns)
        The tables with these margins.

    Examples
    --------
    >>> rake_cells(np.ones((1, 2, 2)), np.array([[3.0, 1.0]]), np.array([[2.0, 2.0]]))[0].tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    """
    scaled, allowed = tables.copy(), tol * np.maximum(row_totals.sum(axis=1, keepdims=True), _TINY)
    for _ in range(max_iter):
        scaled *= (row_totals / np.maximum(scaled.sum(axis=2), _TINY))[:, :, None]
        scaled *= (column_totals / np.maximum(scaled.sum(axis=1), _TINY))[:, None, :]
        if (np.abs(scaled.sum(axis=2) - row_totals) <= allowed).all():
            break
    return scaled


def matching_shifts(
    logits: Table, weights: Table, totals: Table, start: Table, *, max_iter: int = 200, tol: float = 1e-6
) -> Table:
    """Find for each unit the shift of all logits with which the weighted probabilities sum to its totals.

    Solves Σ_r w_r softmax(logits_r + u) = totals for u, which is raking of the rows w_r softmax(logits_r). It is
    the minimum of the convex function Σ_r w_r logsumexp(logits_r + u) − totals · u, found by Newton steps that are
    halved until the function falls.

    Parameters
    ----------
    logits : ndarray of shape (n_units, n_rows, n_classes), or one that broadcasts to it
        Of the rows' probabilities before the shift.
    weights : ndarray of shape (n_units, n_rows)
        How much each row counts.
    totals : ndarray of shape (n_units, n_classes)
        Positive, with the same sum as the weights of the unit.
    start : ndarray of shape (n_units, n_classes)
        Shifts to start from.
    max_iter : int, default=200
        The greatest number of Newton steps.
    tol : float, default=1e-6
        Stop when all totals are matched to within this share of their sum.

    Returns
    -------
    ndarray of shape (n_units, n_classes)
        The shifts, one row per unit.

    Examples
    --------
    >>> logits, one = np.log([[[0.5, 0.5], [0.2, 0.8]]]), np.ones((1, 2))
    >>> shifts = matching_shifts(logits, one, np.array([[1.0, 1.0]]), np.zeros((1, 2)))
    >>> softmax(logits + shifts[:, None]).sum(axis=1).round(4).tolist()
    [[1.0, 1.0]]
    """
    shifts, size = start, totals.sum(axis=1, keepdims=True)
    value = _dual(logits, weights, totals, shifts)
    for _ in range(max_iter):
        rates = softmax(logits + shifts[:, None, :])
        cells = weights[:, :, None] * rates
        lacking = totals - cells.sum(axis=1)
        if (np.abs(lacking) <= tol * size).all():
            return shifts
        step = np.linalg.solve(_curvature(cells, rates, size), lacking[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, _LONGEST_SHIFT / np.maximum(np.abs(step).max(axis=1, keepdims=True), _TINY))
        for _ in range(_HALVINGS):
            new = _dual(logits, weights, totals, shifts + step)
            worse = new > value + 1e-12 * np.abs(value)
            if not worse.any():
                break
            step[worse] /= 2
        shifts, value = shifts + step, new
    raise ValueError("no shift of the logits matches the totals: some probabilities are too close to 0 or 1")


def softmax(logits: Table) -> Table:
    """Compute probabilities along the last axis; scipy's function takes several times longer for small tables.

    Parameters
    ----------
    logits : ndarray of shape (..., n_classes)
        Any finite numbers.

    Returns
    -------
    ndarray of shape (..., n_classes)
        The probabilities.

    Examples
    --------
    >>> softmax(np.array([0.0, np.log(3)])).round(3).tolist()
    [0.25, 0.75]
    """
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _dual(logits: Table, weights: Table, totals: Table, shifts: Table) -> Table:
    shifted = logits + shifts[:, None, :]
    largest = shifted.max(axis=2)
    normalisers = largest + np.log(np.exp(shifted - largest[:, :, None]).sum(axis=2))
    return (weights * normalisers).sum(axis=1) - (totals * shifts).sum(axis=1)


def _curvature(cells: Table, rates: Table, size: Table) -> Table:
    """The Hessian of the dual; the flat direction (all shifts alike) is filled up so that it can be inverted."""
    n_classes, classes = cells.shape[2], np.arange(cells.shape[2])
    curvature = -np.einsum("irc,ird->icd", cells, rates) + (size / n_classes**2)[:, :, None]
    curvature[:, classes, classes] += cells.sum(axis=1) + 1e-9 * size
    return curvature


# ---- The cells with the least information


@dataclass(frozen=True, eq=False)
class RatesPrior:
    """What is assumed of a stratum's shares before its units are looked at; other strata provide it.

    Attributes
    ----------
    interactions : ndarray of shape (n_groups, n_outcomes)
        The expected log odds ratios of groups and outcomes.
    scale : float
        Their standard deviation.
    overdispersion : float
        How many times more than by chance units vary.
    """

    interactions: Table
    scale: float
    overdispersion: float


@dataclass(frozen=True, eq=False)
class CellCovariance:
    """How uncertain the total number of people in each cell is, over all units.

    All three are square matrices over the cells, in the order of groups and within them outcomes.

    Attributes
    ----------
    sampling : ndarray of shape (n_cells, n_cells)
        The covariance from chance, from differences between units, and from what the margins do not determine.
    confounding : ndarray of shape (n_cells, n_cells)
        The matrix U with which a correlation r between what units do and who lives in them biases the contrast w
        of cells by at most r / √(1 − r²) · √(wᵀ U w).
    moving : ndarray of shape (n_cells, n_cells)
        K, by how much cells move with the log odds of groups. A bias of these with scale τ adds τ² K Kᵀ.
    """

    sampling: Table
    confounding: Table
    moving: Table


@dataclass(frozen=True, eq=False)
class CellFit:
    """Estimated cells of all units.

    Attributes
    ----------
    unit_cells : ndarray of shape (n_units, n_groups, n_outcomes)
        The estimated number of people in each cell of each unit; both margins are matched.
    log_rates : ndarray of shape (n_groups, n_outcomes)
        The logits of the shares from which all units depart as little as possible; with covariates, those at
        their means. NaN for groups and outcomes that no unit has.
    overdispersion : float
        How many times more the units vary than by chance alone, if everybody's outcome had the group's shares.
    covariance : CellCovariance
        How uncertain the totals of the cells are.
    """

    unit_cells: Table
    log_rates: Table
    overdispersion: float
    covariance: CellCovariance


def fit_cells(counts: GroupCounts, *, prior_scale: float = PRIOR_SCALE) -> CellFit:
    """Estimate the cells of all units from their margins; strata are ignored.

    Of all tables T_i that have the margins g_i and v_i of their unit, and all shares B of outcomes by group, take
    those that minimise ::

        Σ_i Σ_rc T_irc log(T_irc / (g_ir B_rc))  +  φ / (2 σ²) · Σ_rc (θ_rc − θ̄_r − θ̄_c + θ̄)²,   θ = log B.

    The first term is the number of people times the information that the unit has about the outcome of somebody
    whose group is known. It is jointly convex in T and B, and the same if groups and outcomes change places. For a
    given B the best T is raking of diag(g_i) B; for given T the best B is their sum, so without the second term
    the two alternate to the minimum. The second term is the prior that the log odds ratios of groups and outcomes
    are about normal with scale σ. φ is the overdispersion, twice the first term by its degrees of freedom.

    The more units differ, the more alike this makes groups, compared with Goodman's regression. That is right if
    people vote rather like those who live around them, as in all elections that it was measured on. If units
    differ by chance alone, it makes groups too much alike.

    With covariates z_i of the units, B depends on them: θ_i = θ + Σ_k z_ik Γ_k. What a covariate does to all
    groups alike is free; by how much it changes the log odds ratios has a prior of scale 0.5 per standard
    deviation.

    Parameters
    ----------
    counts : GroupCounts
        The margins of all units; more units than groups.
    prior_scale : float, default=1.5
        The scale σ of the prior. Infinity means no prior, with which intervals are too short if shares are close
        to 0. The default was selected on two elections of New Zealand (2002 and 2008) and confirmed on two others.

    Returns
    -------
    CellFit
        The cells of all units, with their uncertainty.

    Examples
    --------
    >>> counts = GroupCounts([[80, 20], [20, 80], [50, 50]], [[70, 30], [40, 60], [55, 45]])
    >>> fit_cells(counts).unit_cells.sum(axis=0).round(0).tolist()
    [[119.0, 31.0], [46.0, 104.0]]
    """
    return fit_margins(counts.groups, counts.outcomes, counts.covariates, prior_scale=prior_scale)


def fit_margins(
    groups: Table,
    outcomes: Table,
    covariates: Table | None = None,
    *,
    prior_scale: float = PRIOR_SCALE,
    prior: RatesPrior | None = None,
    start: Table | None = None,
) -> CellFit:
    """Estimate cells as :func:`fit_cells` does; some groups and outcomes may be in no unit.

    Parameters
    ----------
    groups : ndarray of shape (n_units, n_groups)
        The people of each group.
    outcomes : ndarray of shape (n_units, n_outcomes)
        The people with each outcome.
    covariates : ndarray of shape (n_units, n_covariates), default=None
        Numbers of the units.
    prior_scale : float, default=1.5
        The scale of the prior of log odds ratios.
    prior : RatesPrior, default=None
        A prior from other strata instead, for a stratum with few units.
    start : ndarray of shape (n_groups, n_outcomes), default=None
        Logits to start from, such as those of a fit of more units.

    Returns
    -------
    CellFit
        The cells of all units, with their uncertainty.
    """
    check_prior_scale(prior_scale)
    there = groups.sum(axis=1) > 0
    rows, columns = np.flatnonzero(groups.sum(axis=0) > 0), np.flatnonzero(outcomes.sum(axis=0) > 0)
    few_groups, few_outcomes = groups[there][:, rows], outcomes[there][:, columns]
    shape = groups.shape[1], outcomes.shape[1]
    cells, log_rates = np.zeros((len(groups), *shape)), np.full(shape, np.nan)
    if min(len(rows), len(columns)) == 1:  # then nothing is unknown
        totals = few_groups.sum(axis=1)[:, None, None]
        cells[np.ix_(there, rows, columns)] = few_groups[:, :, None] * few_outcomes[:, None, :] / totals
        certain = np.zeros((cells[0].size, cells[0].size))
        return CellFit(cells, log_rates, 1.0, CellCovariance(certain, certain, certain))
    design = _scale_covariates(covariates, few_groups.sum(axis=1), there)
    degrees = (len(few_groups) - len(rows) - design.shape[1] + 1) * (len(columns) - 1)
    if prior is None and degrees < 1:
        numbers = "" if covariates is None else f" and {design.shape[1] - 1} covariates"
        raise ValueError(
            f"{len(few_groups)} units with anybody in them, but {len(rows)} groups{numbers}: "
            f"there must be more units than groups and covariates"
        )
    centre = np.zeros((len(rows), len(columns)))
    if prior is not None:
        prior_scale, centre = prior.scale, interactions(prior.interactions[np.ix_(rows, columns)])
    penalty = np.full((design.shape[1], 1, 1), COVARIATE_SCALE**-2.0)
    penalty[0] = prior_scale**-2.0
    objective = _Information(few_groups, few_outcomes, design)
    effects = objective.first_effects()
    if start is not None:
        effects[0] = start[np.ix_(rows, columns)]
    overdispersion = objective.overdispersion(effects, degrees) if prior is None else prior.overdispersion
    for _ in range(_ROUNDS):
        effects = objective.minimise(effects, overdispersion * penalty, centre)
        before = overdispersion
        overdispersion = objective.overdispersion(effects, degrees) if prior is None else overdispersion
        if abs(overdispersion - before) <= _STILL * overdispersion:
            break
    fitted = rake_cells(objective.cells(effects), few_groups, few_outcomes)
    cells[np.ix_(there, rows, columns)] = fitted
    log_rates[np.ix_(rows, columns)] = effects[0] - effects[0].mean(axis=1, keepdims=True)
    covariance = cell_covariance([(cell_spreads(fitted), design)], overdispersion, max(degrees, 1), penalty)
    place = (rows[:, None] * shape[1] + columns).ravel()
    return CellFit(cells, log_rates, overdispersion, _widen(covariance, place, cells[0].size))


def _scale_covariates(covariates: Table | None, totals: Table, there: NDArray[np.bool_]) -> Table:
    """One, and each covariate with mean 0 and standard deviation 1 over people."""
    design = np.ones((len(totals), 1))
    if covariates is None:
        return design
    numbers = covariates[there] - np.average(covariates[there], axis=0, weights=totals)
    spread = np.sqrt(np.average(numbers**2, axis=0, weights=totals))
    return np.hstack([design, numbers / np.where(spread > 0, spread, 1.0)])


def check_prior_scale(prior_scale: float) -> None:
    """Refuse a prior without a scale.

    Parameters
    ----------
    prior_scale : float
        Above 0, perhaps infinite.
    """
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, int | float) or not prior_scale > 0:
        raise ValueError(f"prior_scale must be a number above 0, got {prior_scale!r}")


def interactions(log_rates: Table) -> Table:
    """Compute θ_rc − θ̄_r − θ̄_c + θ̄: what is left of logits without the means of rows and columns.

    Parameters
    ----------
    log_rates : ndarray of shape (..., n_groups, n_outcomes)
        The logits.

    Returns
    -------
    ndarray of the same shape
        The interactions.
    """
    centred = log_rates - log_rates.mean(axis=-1, keepdims=True)
    return centred - centred.mean(axis=-2, keepdims=True)


class _Information:
    """The information to minimise, with the shifts of the last evaluation to start the next one from."""

    def __init__(self, groups: Table, outcomes: Table, design: Table) -> None:
        overall = outcomes.sum(axis=0) / outcomes.sum()
        smoothed = outcomes + _PSEUDO_PEOPLE * overall
        self.groups, self.design = groups, design
        self.outcomes = smoothed * (groups.sum(axis=1) / smoothed.sum(axis=1))[:, None]
        self.shifts = np.zeros_like(outcomes)

    def first_effects(self) -> Table:
        """The logits of Goodman's regression, drawn towards the overall shares; no effects of covariates."""
        overall = self.outcomes.sum(axis=0) / self.outcomes.sum()
        rates = regress(self.groups, self.outcomes)
        rates = np.tile(overall, (len(rates), 1)) if np.isnan(rates).any() else clipped_rates(rates)
        effects = np.zeros((self.design.shape[1], *rates.shape))
        effects[0] = np.log(0.8 * rates + 0.2 * overall)
        return effects

    def logits(self, effects: Table) -> Table:
        """Of the groups in each unit; the same in all units if there are no covariates."""
        return effects if len(effects) == 1 else np.einsum("iq,qrc->irc", self.design, effects)

    def rates(self, logits: Table) -> Table:
        """The shares of outcomes by group and unit that match the outcomes of all units."""
        self.shifts = matching_shifts(logits, self.groups, self.outcomes, self.shifts)
        return softmax(logits + self.shifts[:, None, :])

    def cells(self, effects: Table) -> Table:
        return self.groups[:, :, None] * self.rates(self.logits(effects))

    def evaluate(self, effects: Table) -> tuple[float, Table]:
        """The first term of the objective, and its gradient: expected minus matched cells."""
        logits = self.logits(effects)
        rates, logs = self.rates(logits), log_softmax(logits, axis=2)
        cells = self.groups[:, :, None] * rates
        value = float((cells * (np.log(np.maximum(rates, _TINY)) - logs)).sum())
        lacking = self.groups[:, :, None] * np.exp(logs) - cells
        return value, np.einsum("iq,irc->qrc", self.design, lacking)

    def overdispersion(self, effects: Table, degrees: int) -> float:
        """Twice the information by its degrees of freedom, but no less than chance alone."""
        return max(1.0, 2 * self.evaluate(effects)[0] / degrees)

    def minimise(self, start: Table, penalty: Table, centre: Table) -> Table:
        """The logits and effects of covariates that minimise the information and the penalty."""
        scale = _OBJECTIVE_SCALE / self.groups.sum()

        def objective(flat: Table) -> tuple[float, Table]:
            effects = flat.reshape(start.shape)
            value, gradient = self.evaluate(effects)
            apart = interactions(effects)
            apart[0] -= centre
            total = value + 0.5 * (penalty * apart**2).sum()
            return float(scale * total), scale * (gradient + penalty * apart).ravel()

        options = {"maxiter": 1000, "maxcor": 30, "ftol": 1e-9, "gtol": 1e-4}
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x).reshape(start.shape)


# ---- How uncertain the totals of the cells are


def cell_covariance(
    blocks: Iterable[tuple[Table, Table]],
    overdispersion: float,
    degrees: int,
    penalty: Any,
    departures: Table | None = None,
) -> CellCovariance:
    """Compute how uncertain the total number of people in each cell is, given the margins of all units.

    The model: the logits of group r in unit i are θ_r + u_i, up to chance. Each unit has its own shift u_i of
    unknown size, and the interactions of θ have a normal prior with scale σ. Let A_ir be the covariance of the
    outcomes of group r in unit i by chance alone, and H_i = Σ_r A_ir. The information of the margins on θ is
    M = Σ_i A_i H_i⁻¹ A_iᵀ. The totals of cells move with θ, or by chance, as
    K = Σ_i (diag_r A_ir − A_i H_i⁻¹ A_iᵀ). With P the projection on interactions and Q = (M + φ P / σ²)⁻¹ ::

        sampling = φ K Q K  +  φ K,      confounding = φ · degrees · K Q M Q K,      bias = τ² K K.

    The first is what the margins leave open of θ, and by how much groups depart from θ by chance and from unit to
    unit, which the overdispersion φ measures.

    The estimate has shifts u_i that are uncorrelated with who lives in the units. If the true ones are not, θ
    moves by Q Σ_i A_i u_i. The fit shows that Σ_i u_iᵀ H_i u_i = φ · degrees. By Cauchy and Schwarz the bias is at
    most r / √(1 − r²) times the root of ``confounding``, with r the correlation of the u_i with the combination of
    the groups' shares that harms most.

    Last, departures of single groups that depend on who lives in a unit do not average out over units and leave
    no trace in the margins: their scale τ is an assumption.

    Parameters
    ----------
    blocks : iterable of pairs of ndarray
        Some units at a time: A_ir of shape (n_units, n_groups, n_outcomes, n_outcomes), which for g people with
        shares p is g (diag p − p pᵀ); and one and the scaled covariates, of shape (n_units, 1 + n_covariates).
    overdispersion : float
        φ, how many times more than by chance outcomes vary.
    degrees : int
        The degrees of freedom of the overdispersion.
    penalty : ndarray of shape (1 + n_covariates, 1, 1)
        1 / σ² of the log odds ratios, and of the effects of each covariate on them.
    departures : ndarray of shape (n_groups, n_outcomes), default=None
        If θ was predicted instead of fitted to the margins: how many people more each cell has after the margins
        were matched than before. With δ = Q · departures, cut at ±1, by which a fit would about move θ,
        (K δ)(K δ)ᵀ is added: the covariance is then around the prediction.

    Returns
    -------
    CellCovariance
        Of the numbers of people in the cells.
    """
    known, moving, with_effects = np.zeros(1), np.zeros(1), np.zeros(1)
    n_groups, n_outcomes = 0, 0
    for spreads, design in blocks:
        n_groups, n_outcomes = spreads.shape[1:3]
        parts = _sum_information(spreads, design)
        known, moving, with_effects = known + parts[0], moving + parts[1], with_effects + parts[2]
    free = np.kron(np.eye(n_groups) - 1 / n_groups, np.eye(n_outcomes - 1))
    fill = _FILL * max(np.trace(known), np.trace(moving))
    prior = np.kron(np.diag(np.ravel(penalty)), free)
    leverage = np.linalg.solve(known + overdispersion * prior + fill * np.eye(len(known)), with_effects.T)
    sampling = overdispersion * (with_effects @ leverage + moving)
    if departures is not None:
        step = (departures @ sum_zero_basis(n_outcomes)).ravel()
        step = np.linalg.solve(known + overdispersion * prior + fill * np.eye(len(known)), step)
        moved = moving @ np.clip(step, -_LONGEST_MOVE, _LONGEST_MOVE)
        sampling = sampling + np.outer(moved, moved)
    confounding = overdispersion * degrees * leverage.T @ known @ leverage
    to_cells = np.kron(np.eye(n_groups), sum_zero_basis(n_outcomes))
    return CellCovariance(*(to_cells @ part @ to_cells.T for part in (sampling, confounding, moving)))


def _sum_information(spreads: Table, design: Table) -> tuple[Table, Table, Table]:
    """What some units add to M and K of :func:`cell_covariance`, in contrasts of outcomes.

    The third is K for all effects of covariates.
    """
    n_groups, n_outcomes = spreads.shape[1:3]
    basis, size = sum_zero_basis(n_outcomes), n_groups * (n_outcomes - 1)
    reduced = np.einsum("ca,ircd,db->irab", basis, spreads, basis, optimize=True)
    together = reduced.sum(axis=1)
    least = _FILL * (np.einsum("iaa->i", together).mean() + _FILL) * np.eye(n_outcomes - 1)
    solve = np.linalg.solve((together + least)[:, None], reduced)  # where all have one outcome, it is filled up
    weighted = np.einsum("iq,irab->iqrab", design, reduced)
    weighted_solved = np.einsum("iq,irab->iqrab", design, solve)
    known = np.einsum("iqrab,ipsbc->qrapsc", weighted, weighted_solved, optimize=True)
    moving = np.zeros((n_groups, n_outcomes - 1, design.shape[1], n_groups, n_outcomes - 1))
    places = np.arange(n_groups)
    moving[places, :, :, places, :] = weighted.sum(axis=0).transpose(1, 2, 0, 3)
    moving -= known[0].transpose(0, 1, 2, 3, 4)
    with_effects = moving.reshape(size, -1)
    return known.reshape(design.shape[1] * size, -1), with_effects[:, :size], with_effects


def _widen(covariance: CellCovariance, place: NDArray[np.int64], n_cells: int) -> CellCovariance:
    """The same for all cells, of which those without people are certain."""
    if len(place) == n_cells:
        return covariance
    parts = []
    for part in (covariance.sampling, covariance.confounding, covariance.moving):
        wide = np.zeros((n_cells, n_cells))
        wide[np.ix_(place, place)] = part
        parts.append(wide)
    return CellCovariance(*parts)


def check_bias(given: float) -> None:
    """Refuse an aggregation bias that is no number from 0 on."""
    if isinstance(given, bool) or not 0 <= given < np.inf:
        raise ValueError(f"aggregation_bias must be a finite number, 0 or above, got {given!r}")


def sum_covariances(parts: Sequence[CellCovariance], aggregation_bias: float) -> Table:
    """Compute the covariance of the total over strata.

    Chance is independent between strata, so its variances add. The bias tends to have the same sign everywhere: as
    if the log odds ratios were wrong by the same amount in all strata, their cells move by Σ_d K_d times it. The
    covariance is Σ_d sampling_d + τ² (Σ_d K_d)².

    Parameters
    ----------
    parts : sequence of CellCovariance
        Of each stratum.
    aggregation_bias : float
        τ, the scale of the bias of log odds ratios.

    Returns
    -------
    ndarray of shape (n_cells, n_cells)
        Of the numbers of people in the cells of all strata.
    """
    check_bias(aggregation_bias)
    moving = np.sum([part.moving for part in parts], axis=0)
    return np.asarray(np.sum([part.sampling for part in parts], axis=0) + aggregation_bias**2 * moving @ moving.T)


def sum_zero_basis(n: int) -> Table:
    """Find orthonormal columns that span the vectors of length n with sum zero.

    Parameters
    ----------
    n : int
        The length of the vectors.

    Returns
    -------
    ndarray of shape (n, n - 1)
        The basis, one vector per column.

    Examples
    --------
    >>> basis = sum_zero_basis(3)
    >>> bool(np.allclose(basis.sum(axis=0), 0)), bool(np.allclose(basis.T @ basis, np.eye(2)))
    (True, True)
    """
    return np.linalg.qr(np.eye(n)[:, : n - 1] - 1 / n)[0]


def cell_spreads(cells: Table) -> Table:
    """Compute A_ir of :func:`cell_covariance` for cells in which all people of a group are alike.

    Parameters
    ----------
    cells : ndarray of shape (n_units, n_groups, n_outcomes)
        The number of people in each cell.

    Returns
    -------
    ndarray of shape (n_units, n_groups, n_outcomes, n_outcomes)
        The matrices A_ir.

    Examples
    --------
    >>> cell_spreads(np.array([[[30.0, 10.0]]]))[0, 0].tolist()
    [[7.5, -7.5], [-7.5, 7.5]]
    """
    outcomes = np.arange(cells.shape[2])
    shares = cells / np.maximum(cells.sum(axis=2, keepdims=True), _TINY)
    spreads = -cells[:, :, :, None] * shares[:, :, None, :]
    spreads[:, :, outcomes, outcomes] += cells
    return spreads
