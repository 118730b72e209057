"""LLP-GAN with other games between its networks, beside DLLP, which has none."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.cells import Cell
from reproduction.experiments.convergence import swing
from reproduction.outputs import (
    Draw,
    Table,
    assign_colours,
    error_by_epoch,
    mean_and_spread,
    panels,
    plot_by_epoch,
)
from reproduction.run import Result, Results, curves, group_results, method_title, problem_title, values

_ABOUT = (
    "Test error in per cent at the last epoch: mean over draws (standard deviation), number of draws; and how "
    "much it moves from one epoch to the next over the second half. Generators that match features (the paper's), "
    "also with pull-away, or that win against the classifier, saturating (eq. 12) or not; and critics beside the "
    "classifier, Wasserstein with gradient penalty, and hinge. The paper leaves all but the first open."
)


def variant(cell: Cell) -> str:
    """The game in words.

    >>> variant(Cell("digits", "LLPGAN", settings=(("critic", "hinge"),)))
    'LLP-GAN, hinge critic'
    """
    settings = dict(cell.settings)
    if cell.method != "LLPGAN":
        return method_title(cell.method)
    if settings.get("critic"):
        return f"LLP-GAN, {settings['critic']} critic"
    return f"LLP-GAN, {str(settings.get('generator_loss', 'feature_matching')).replace('_', ' ')}"


def table(results: Results) -> Table:
    """A row for each data set, bag size and game."""
    rows = []
    for key, group in group_results(
        _order_games(results), lambda c: (problem_title(c), str(c.bag_size), variant(c))
    ).items():
        found = mean_and_spread([result.error for result in group])
        swings = mean_and_spread([swing(result.curve("error")) for result in group])
        rows.append([*key, f"{found}, {len(group)}", swings])
    return Table("GAN variants", _ABOUT, ["data", "bag size", "method", "error (%)", "swing"], rows)


def figure(results: Results) -> Figure:
    """A panel for each data set and bag size, a line for each game."""
    groups = group_results(_order_games(results), lambda cell: f"{problem_title(cell)}, bags of {cell.bag_size}")
    colours = assign_colours(values(_order_games(results), variant))
    return panels([_panel(title, group, colours) for title, group in groups.items()], n_columns=2, size=(4.6, 3.6))


def _order_games(results: Results) -> Results:
    places = list(group_results(results, problem_title))

    def place(result: Result) -> tuple[int, int, str]:
        cell = result.cell
        return places.index(problem_title(cell)), cell.bag_size or 0, variant(cell)

    return sorted(results, key=place)


def _panel(title: str, group: Results, colours: dict[str, str]) -> Draw:
    def draw(axes: Axes) -> None:
        for name, found in group_results(group, variant).items():
            plot_by_epoch(axes, curves(found, "error"), colours[name], name)
        error_by_epoch(axes, title)

    return draw
