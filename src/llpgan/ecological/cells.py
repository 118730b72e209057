"""The cells behind the margins: fit, raking, covariance."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from llpgan.bags import Bags
from llpgan.bags.checks import check_probabilities
from llpgan.ecological.counts import GroupCounts, clipped_rates, goodman_rates

Table = NDArray[np.float64]
_TINY = 1e-300
_LONGEST_STEP = 2.0  # of a shift of logits, in one iteration
_HALVINGS = 40


def rake_cells(
    tables: Table, row_totals: Table, column_totals: Table, *, max_iter: int = 1000, tol: float = 1e-9
) -> Table:
    """Scale rows and columns in turn until each table has its margins (iterative proportional fitting).

    The result is the table T with these margins that minimises Σ T log(T / table): it has the odds ratios of the
    table that it starts from.

    Parameters
    ----------
    tables : ndarray of shape (n_tables, n_rows, n_columns)
        Positive wherever a cell may be positive.
    row_totals : ndarray of shape (n_tables, n_rows)
        The sums of the rows to meet.
    column_totals : ndarray of shape (n_tables, n_columns)
        The sums of the columns to meet; each table has the same total as in ``row_totals``.
    max_iter : int, default=1000
        The greatest number of sweeps over rows and columns.
    tol : float, default=1e-9
        Stop when the rows' totals are met to within this share of the table's total. Columns are met exactly.

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
    """For each unit the shift of all logits with which the weighted probabilities sum to its totals.

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
        Stop when all totals are met to within this share of their sum.

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
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(step).max(axis=1, keepdims=True), _TINY))
        for _ in range(_HALVINGS):
            new = _dual(logits, weights, totals, shifts + step)
            worse = new > value + 1e-12 * np.abs(value)
            if not worse.any():
                break
            step[worse] /= 2
        shifts, value = shifts + step, new
    raise ValueError("no shift of the logits meets the totals: some probabilities are too close to 0 or 1")


def softmax(logits: Table) -> Table:
    """Probabilities along the last axis; scipy's own takes several times longer for small tables.

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
    """Of the dual in the shifts, with the direction in which it is flat (all shifts alike) filled up."""
    n_classes, classes = cells.shape[2], np.arange(cells.shape[2])
    curvature = -np.einsum("irc,ird->icd", cells, rates) + (size / n_classes**2)[:, :, None]
    curvature[:, classes, classes] += cells.sum(axis=1) + 1e-9 * size
    return curvature


PRIOR_SCALE = 1.5
_PSEUDO_PEOPLE = 1.0  # with the outcomes of all units together, so that no outcome of a unit has a share of 0
_ROUNDS, _STILL = 5, 0.03  # of the overdispersion; its relative change at which it stands still
_SCALE = 1e3  # of the objective per person, so that L-BFGS stops where it should


@dataclass(frozen=True, eq=False)
class CellFit:
    """What :func:`fit_cells` finds.

    Attributes
    ----------
    unit_cells : ndarray of shape (n_units, n_groups, n_outcomes)
        The estimated number of people in each cell of each unit; both margins are met.
    log_rates : ndarray of shape (n_groups, n_outcomes)
        The logits of the shares from which all units depart as little as possible.
    overdispersion : float
        How many times more the units vary than by chance alone, if everybody's outcome had the group's shares.
    """

    unit_cells: Table
    log_rates: Table
    overdispersion: float


def fit_cells(counts: GroupCounts, *, prior_scale: float = PRIOR_SCALE) -> CellFit:
    """Estimate the cells of all units from their margins.

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
    refuse_no_scale(prior_scale)
    present = counts.occupied
    degrees = (present.n_units - present.groups.shape[1]) * (present.outcomes.shape[1] - 1)
    if degrees < 1:
        raise ValueError(
            f"{present.n_units} units with anybody in them, but {present.groups.shape[1]} groups: "
            f"there must be more units than groups"
        )
    problem = _Problem.of(present)
    log_rates = np.log(0.8 * problem.first_rates + 0.2 * problem.outcomes.sum(axis=0) / problem.outcomes.sum())
    overdispersion = problem.overdispersion(log_rates, degrees)
    for _ in range(_ROUNDS):
        log_rates = problem.solved(log_rates, overdispersion / prior_scale**2)
        before, overdispersion = overdispersion, problem.overdispersion(log_rates, degrees)
        if abs(overdispersion - before) <= _STILL * overdispersion:
            break
    cells = np.zeros((counts.n_units, *log_rates.shape))
    cells[counts.totals > 0] = rake_cells(problem.cells(log_rates), present.groups, present.outcomes)
    return CellFit(cells, log_rates - log_rates.mean(axis=1, keepdims=True), overdispersion)


def refuse_no_scale(prior_scale: float) -> None:
    """Refuse a prior that has no scale.

    Parameters
    ----------
    prior_scale : float
        Above 0, perhaps infinite.
    """
    if isinstance(prior_scale, bool) or not isinstance(prior_scale, int | float) or not prior_scale > 0:
        raise ValueError(f"prior_scale must be a number above 0, got {prior_scale!r}")


def interactions(log_rates: Table) -> Table:
    """θ_rc − θ̄_r − θ̄_c + θ̄: what is left of logits without the means of rows and columns."""
    centred = log_rates - log_rates.mean(axis=1, keepdims=True)
    return centred - centred.mean(axis=0)


@dataclass(eq=False)
class _Problem:
    """The information to minimise, with the shifts of the last evaluation to start the next one from."""

    groups: Table
    outcomes: Table
    first_rates: Table
    shifts: Table

    @classmethod
    def of(cls, counts: GroupCounts) -> "_Problem":
        overall = counts.outcomes.sum(axis=0) / counts.outcomes.sum()
        outcomes = counts.outcomes + _PSEUDO_PEOPLE * overall
        outcomes *= (counts.totals / outcomes.sum(axis=1))[:, None]
        goodman = goodman_rates(counts)
        first = np.tile(overall, (len(goodman), 1)) if np.isnan(goodman).any() else clipped_rates(goodman)
        return cls(counts.groups, outcomes, first, np.zeros_like(outcomes))

    def rates(self, log_rates: Table) -> Table:
        """The shares of outcomes by group and unit that meet the outcomes of all units."""
        self.shifts = matching_shifts(log_rates[None], self.groups, self.outcomes, self.shifts)
        return softmax(log_rates[None] + self.shifts[:, None, :])

    def cells(self, log_rates: Table) -> Table:
        """The same as numbers of people."""
        return self.groups[:, :, None] * self.rates(log_rates)

    def information(self, log_rates: Table) -> tuple[float, Table]:
        """The first term, and its gradient in the logits: expected minus matched cells."""
        rates = self.rates(log_rates)
        cells, logs = self.groups[:, :, None] * rates, log_softmax(log_rates, axis=1)
        value = float((cells * (np.log(np.maximum(rates, 1e-300)) - logs)).sum())
        return value, self.groups.sum(axis=0)[:, None] * np.exp(logs) - cells.sum(axis=0)

    def overdispersion(self, log_rates: Table, degrees: int) -> float:
        """Twice the information by its degrees of freedom, but no less than chance alone."""
        return max(1.0, 2 * self.information(log_rates)[0] / degrees)

    def solved(self, start: Table, penalty: float) -> Table:
        """The logits that minimise both terms."""
        scale = _SCALE / self.groups.sum()

        def objective(flat: Table) -> tuple[float, Table]:
            log_rates = flat.reshape(start.shape)
            value, gradient = self.information(log_rates)
            apart = interactions(log_rates)
            total = value + 0.5 * penalty * (apart**2).sum()
            return float(scale * total), scale * (gradient + penalty * apart).ravel()

        options = {"maxiter": 1000, "maxcor": 30, "ftol": 1e-9, "gtol": 1e-4}
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x).reshape(start.shape)


AGGREGATION_BIAS = 0.2
_LONGEST_LOGIT_STEP = 1.0  # of a logit, to which cells move about linearly
_FILL = 1e-9  # of the total, in directions of which no unit tells anything


def sum_zero_basis(n: int) -> Table:
    """Orthonormal columns that span the vectors of length n with sum zero.

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


def cell_covariance(
    spreads: Iterable[Table],
    overdispersion: float,
    prior_scale: float,
    aggregation_bias: float = AGGREGATION_BIAS,
    departures: Table | None = None,
) -> Table:
    """The covariance of the total number of people in each cell, given the margins of all units.

    The model: the logits of group r in unit i are θ_r + u_i, up to chance. Each unit has its own shift u_i of
    unknown size, and the interactions of θ have a normal prior with scale σ. Let A_ir be the covariance of the
    outcomes of group r in unit i by chance alone, and H_i = Σ_r A_ir. The margins tell of θ as much as
    M = Σ_i A_i H_i⁻¹ A_iᵀ. The totals of cells move with θ, or by chance, as
    K = Σ_i (diag_r A_ir − A_i H_i⁻¹ A_iᵀ). With P the projection on interactions, the covariance is ::

        φ K (M + φ P / σ²)⁻¹ K  +  φ K  +  τ² K P K.

    The terms are what the margins leave open of θ; by how much groups depart from θ by chance and from unit to
    unit, which the overdispersion φ measures; and departures that depend on who lives in a unit. The last ones
    do not average out over units and leave no trace in the margins, so their scale τ is an assumption.

    Parameters
    ----------
    spreads : iterable of ndarray of shape (n_units, n_groups, n_outcomes, n_outcomes)
        A_ir of all units, some of them at a time: for g people with shares p, g (diag p − p pᵀ).
    overdispersion : float
        φ, how many times more than by chance outcomes vary.
    prior_scale : float
        σ, the scale of the log odds ratios that are not known; infinite for no prior.
    aggregation_bias : float, default=0.2
        τ, the scale of the bias of log odds ratios. The default was chosen on two elections of New Zealand (2002
        and 2008), so that intervals hold the truth about equally often for large and small groups, many units
        and few.
    departures : ndarray of shape (n_groups, n_outcomes), default=None
        Where θ was not fitted to the margins but predicted: how many people more each cell has after the margins
        were met than before. With δ = (M + φ P / σ²)⁻¹ · departures, cut at ±1, by which a fit would about move θ,
        (K δ)(K δ)ᵀ is added: the covariance is then around the prediction.

    Returns
    -------
    ndarray of shape (n_groups, n_outcomes, n_groups, n_outcomes)
        Of the numbers of people in the cells.
    """
    if not 0 <= aggregation_bias < np.inf:
        raise ValueError(f"aggregation_bias must be a finite number, 0 or above, got {aggregation_bias!r}")
    known, moving, n_groups, n_outcomes = np.zeros((1, 1)), np.zeros((1, 1)), 0, 0
    for block in spreads:
        n_groups, n_outcomes = block.shape[1:3]
        more_known, more_moving = _split_known_cells(block)
        known, moving = known + more_known, moving + more_moving
    free = np.kron(np.eye(n_groups) - 1 / n_groups, np.eye(n_outcomes - 1))
    least = _FILL * max(np.trace(known), np.trace(moving)) * np.eye(len(known))
    told = known + overdispersion / prior_scale**2 * free + least
    covariance = overdispersion * (moving @ np.linalg.solve(told, moving) + moving)
    covariance += aggregation_bias**2 * moving @ free @ moving
    if departures is not None:
        step = np.linalg.solve(told, (departures @ sum_zero_basis(n_outcomes)).ravel())
        moved = moving @ np.clip(step, -_LONGEST_LOGIT_STEP, _LONGEST_LOGIT_STEP)
        covariance += np.outer(moved, moved)
    widen = np.kron(np.eye(n_groups), sum_zero_basis(n_outcomes))
    return (widen @ covariance @ widen.T).reshape(n_groups, n_outcomes, n_groups, n_outcomes)


def _split_known_cells(spreads: Table) -> tuple[Table, Table]:
    """What some units add to M and K of :func:`cell_covariance`, in contrasts of outcomes."""
    n_groups, n_outcomes = spreads.shape[1:3]
    basis, size = sum_zero_basis(n_outcomes), n_groups * (n_outcomes - 1)
    reduced = np.einsum("ca,ircd,db->irab", basis, spreads, basis, optimize=True)
    together = reduced.sum(axis=1)
    least = _FILL * (np.einsum("iaa->i", together).mean() + _FILL) * np.eye(n_outcomes - 1)
    solved = np.linalg.solve((together + least)[:, None], reduced)  # where all have one outcome, it is filled up
    known = np.einsum("irab,isbc->rasc", reduced, solved, optimize=True).reshape(size, size)
    moving = np.zeros((n_groups, n_outcomes - 1, n_groups, n_outcomes - 1))
    places = np.arange(n_groups)
    moving[places, :, places, :] = reduced.sum(axis=0)
    return known, moving.reshape(size, size) - known


def cell_spreads(cells: Table) -> Table:
    """A_ir of :func:`cell_covariance` for cells with all people of a group alike.

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
    shares = cells / np.maximum(cells.sum(axis=2, keepdims=True), 1e-300)
    spreads = -cells[:, :, :, None] * shares[:, :, None, :]
    spreads[:, :, outcomes, outcomes] += cells
    return spreads


_LEAST = 1e-12  # a probability of zero could not be raised
_PSEUDO_ROWS = 1.0  # with the classes of all bags together, so that no class of a bag has a share of 0


def match_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """The probabilities of rows that meet the proportions of their bags and are nearest to those predicted.

    In each bag all logits are shifted alike, which minimises Σ_j w_j KL(matched_j ‖ predicted_j) among all tables
    of probabilities whose mean is the bag's proportions, with w_j the weight of a row.

    Parameters
    ----------
    bags : Bags
        Which row belongs to which bag, and the proportions of each bag.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The probabilities, whose mean in each bag equals its proportions.

    Examples
    --------
    >>> bags = Bags.from_arrays(np.zeros((2, 1)), ["a", "a"], {"a": [0.5, 0.5]})
    >>> match_probabilities(bags, [[0.5, 0.5], [0.8, 0.2]]).round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    """
    _refuse_less_than_proportions(bags)
    predicted, weights = clip_probabilities(bags, probabilities), bags.row_weights
    matched = np.empty_like(predicted)
    for bag in range(bags.n_bags):
        rows = bags.rows_of(bag)
        matched[rows] = _match(predicted[rows], weights[rows], bags.proportions[bag], bags.prior)
    return matched


def clip_probabilities(bags: Bags, probabilities: ArrayLike) -> Table:
    """Predictions that fit the bags, none of them zero.

    Parameters
    ----------
    bags : Bags
        The bags of the rows.
    probabilities : array-like of shape (n_rows, n_classes)
        The predicted probability of each class.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        The probabilities, clipped away from zero and normalized.
    """
    table = np.clip(check_probabilities(probabilities, len(bags.bag_index), bags.n_classes), _LEAST, None)
    return table / table.sum(axis=1, keepdims=True)


def _refuse_less_than_proportions(bags: Bags) -> None:
    if bags.known is not None:
        raise ValueError(
            "predictions cannot be matched to bags of which less is known than all proportions (bounds, unknown "
            "shares or noise): give the proportions of every bag"
        )
    if bags.bag_weights is not None:
        raise ValueError(
            "predictions cannot be matched to bags that overlap, or that count differently (bag_weights): give "
            "bags of which each row belongs to one"
        )


def _match(predicted: Table, weights: Table, proportions: Table, prior: Table) -> Table:
    """Of one bag. A class that nobody has is first given a little, so that its shift is finite."""
    total, none = weights.sum(), np.zeros((1, predicted.shape[1]))
    totals = total * proportions + _PSEUDO_ROWS * prior
    totals *= total / totals.sum()
    there = totals > 0
    logits = np.log(predicted[None, :, there])
    shifts = matching_shifts(logits, weights[None], totals[None, there], none[:, there])
    close = np.zeros_like(predicted)
    close[:, there] = softmax(logits + shifts[:, None, :])[0]
    counts = weights > 0
    cells = rake_cells((weights[:, None] * close)[None], weights[None], (total * proportions)[None])[0]
    close[counts] = cells[counts] / weights[counts, None]
    return close
