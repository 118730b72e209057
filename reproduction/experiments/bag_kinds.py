"""The error where bags are not drawn at random: by a feature, by likeness, or with uneven proportions."""

from matplotlib.figure import Figure
from reproduction.cells import Cell
from reproduction.crossed import crossed_table, dot_panels
from reproduction.outputs import Table
from reproduction.run import Result, Results, problem_title, values

_ABOUT = (
    "Test error in per cent at the last epoch: mean over draws (standard deviation), number of draws. By feature: "
    "Adult's people of one education and occupation (groups smaller than the size together), and digits of like "
    "brightness. Clustered: by k-means. Dirichlet: proportions drawn with concentration α; small α makes bags of "
    "almost one class. The paper leaves such bags open."
)
_ORDER = ("random", "feature", "clustered", "dirichlet")


def table(results: Results) -> Table:
    """A row for each data set and kind of bags."""
    heads = {
        "data": problem_title,
        "bags": describe,
        "size": lambda cell: str(cell.bag_size),
    }
    return crossed_table(_order_kinds(results), "Kinds of bags", _ABOUT, heads)


def figure(results: Results) -> Figure:
    """A panel for each data set, a line for each kind of bags, a dot for each method and draw."""
    return dot_panels(
        _order_kinds(results), lambda cell: f"{problem_title(cell)}, bags of {cell.bag_size}", describe
    )


def describe(cell: Cell) -> str:
    """The kind of bags in words.

    >>> describe(Cell("digits", "DLLP", bag_kind="dirichlet", concentration=0.1))
    'dirichlet, α = 0.1'
    """
    more = "" if cell.concentration is None else f", α = {cell.concentration:g}"
    return ("by feature" if cell.bag_kind == "feature" else cell.bag_kind) + more


def _order_kinds(results: Results) -> Results:
    places = values(results, problem_title)

    def place(result: Result) -> tuple[int, int, int, float]:
        cell = result.cell
        kind = _ORDER.index(cell.bag_kind)
        return places.index(problem_title(cell)), cell.bag_size or 0, kind, cell.concentration or 0.0

    return sorted(results, key=place)
