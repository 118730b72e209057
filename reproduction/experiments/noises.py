"""The error where proportions are not quite true: noise for privacy, rounding, bags that are mixed up."""

from matplotlib.figure import Figure
from reproduction.cells import Cell
from reproduction.crossed import crossed_table, line_panels
from reproduction.outputs import Table
from reproduction.run import Result, Results, problem_title, values

_ABOUT = (
    "Test error in per cent at the last epoch: mean over draws (standard deviation), number of draws. Laplace and "
    "Gaussian noise on each bag's counts, by the privacy ε (small is private and noisy; Gaussian with δ = 0.001); "
    "proportions rounded to a step; a share of bags that exchange theirs. The paper leaves noise open."
)
_LEVELS = {"laplace": "ε", "gaussian": "ε", "rounded": "step", "swapped": "share of bags"}


def table(results: Results) -> Table:
    """A row for each data set, bag size, kind of noise and level."""
    heads = {
        "data": problem_title,
        "bag size": lambda cell: str(cell.bag_size),
        "noise": lambda cell: cell.noise or "none",
        "level": lambda cell: "" if cell.noise is None else f"{_LEVELS[cell.noise]} {cell.noise_level:g}",
    }
    return crossed_table(_order_noises(results), "Noise on the proportions", _ABOUT, heads)


def figure(results: Results) -> Figure:
    """A panel for each data set, bag size and kind of noise; less noise to the left."""
    noisy = [result for result in _order_noises(results) if result.cell.noise is not None]
    return line_panels(noisy, _panel, _amount, "more noise →   (1/ε, step, or share)", log=True)


def _amount(cell: Cell) -> float:
    level = cell.noise_level or 1.0
    return 1 / level if cell.noise in ("laplace", "gaussian") else level


def _panel(cell: Cell) -> str:
    return f"{problem_title(cell)}, {cell.bag_size}: {cell.noise}"


def _order_noises(results: Results) -> Results:
    places = values(results, problem_title)

    def place(result: Result) -> tuple[int, int, str, float]:
        cell = result.cell
        return places.index(problem_title(cell)), cell.bag_size or 0, cell.noise or "", _amount(cell)

    return sorted(results, key=place)
