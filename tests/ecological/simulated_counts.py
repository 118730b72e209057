"""Units whose cells are known, drawn from the model that intervals are made for."""

import numpy as np

from llpgan.ecological import GroupCounts
from llpgan.ecological.cells import softmax


def simulated(rng, n_units=60, n_groups=3, n_outcomes=3, shift=0.3, scale=1.5, lean=0.0):
    """Counts and their cells: log rates are normal, and each unit shifts the logits of all groups alike.

    The shifts are by chance and, with a lean, towards the log rates of the groups that are many in the unit.
    """
    sizes = rng.integers(100, 1500, n_units)
    groups = np.array([rng.multinomial(n, rng.dirichlet(np.full(n_groups, 1.5))) for n in sizes])
    logits = rng.normal(0, scale, (n_groups, n_outcomes))
    around = (groups / groups.sum(axis=1, keepdims=True) - 1 / n_groups) @ logits
    shifts = (rng.normal(0, shift, (n_units, n_outcomes)) + lean * around)[:, None]
    rates = softmax(logits[None] + shifts)
    cells = rng.multinomial(groups, rates)
    there = cells.sum(axis=(1, 2)) > 0
    cells = cells[there].astype(float)
    return GroupCounts(cells.sum(axis=2), cells.sum(axis=1)), cells


def wrong(cells, truth):
    """Per cent of people in the wrong cell."""
    return 50 * np.abs(cells - truth).sum() / truth.sum()
