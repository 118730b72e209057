"""The exponents of growth, and their figure, from the rows of points."""

from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.experiments.times import growth
from reproduction.outputs import COLOURS, SOFT, Draw, panels

from benchmarks.rows import Row, as_markdown

AXES = {
    "rows": "rows",
    "bags, of the same rows": "bags",
    "bag size, as many bags": "bag_size",
    "classes": "classes",
}
MEASURES = {"seconds": ("seconds an epoch", 1.0), "peak_bytes": ("peak memory (MB)", 1e6)}
ABOUT = (
    "The exponent b of c·x^b, by least squares on logarithms: 1 is linear, below 1 is better. Made from "
    "`growth.jsonl`, which has every point: 16,384 rows of 20 columns, bags of 64, 4 classes, but for what grows. "
    "Dotted in the figure: linear growth."
)
Points = list[tuple[float, float]]


def fits(points: list[Row]) -> list[Row]:
    """A row for each method and for what grows."""
    return [
        {
            "method": method,
            "what grows": sweep,
            "from": min(x for x, _ in along(points, method, sweep, "seconds")),
            "to": max(x for x, _ in along(points, method, sweep, "seconds")),
            "exponent of time": round(exponent(along(points, method, sweep, "seconds")), 2),
            "exponent of memory": round(exponent(along(points, method, sweep, "peak_bytes")), 2),
        }
        for method, sweep in dict.fromkeys((point["method"], point["sweep"]) for point in points)
    ]


def page(points: list[Row]) -> str:
    return as_markdown("Growth", ABOUT, fits(points))


def along(points: list[Row], method: str, sweep: str, measure: str) -> Points:
    """What grows, and what was measured there."""
    found = [point for point in points if (point["method"], point["sweep"]) == (method, sweep)]
    return sorted((point[AXES[sweep]], point[measure] / MEASURES[measure][1]) for point in found)


def exponent(points: Points) -> float:
    xs, ys = zip(*points, strict=True)
    return growth(list(xs), list(ys))


def growth_figure(points: list[Row]) -> Figure:
    """Time above, memory below; a column for each thing that grows."""
    draws: list[Draw] = [partial(_draw, points, sweep, measure) for measure in MEASURES for sweep in AXES]
    return panels(draws, n_columns=len(AXES), size=(2.9, 2.6))


def _draw(points: list[Row], sweep: str, measure: str, axes: Axes) -> None:
    methods = dict.fromkeys(point["method"] for point in points)
    curves = {method: along(points, method, sweep, measure) for method in methods}
    for method, curve in curves.items():
        label = f"{method}, exponent {exponent(curve):.2f}"
        axes.plot(*zip(*curve, strict=True), color=COLOURS[method], marker="o", markersize=4, label=label)
    axes.set(xscale="log", yscale="log", xlabel=AXES[sweep].replace("_", " "))
    axes.set_ylim(*_limits([y for curve in curves.values() for _, y in curve]))
    for curve in curves.values():
        _linear(axes, curve)
    if sweep == "rows":
        axes.set_ylabel(MEASURES[measure][0])
    if measure == "seconds":
        axes.set_title(sweep[0].upper() + sweep[1:])
    axes.legend(fontsize=8, handlelength=1.2, loc="lower right")


def _limits(values: list[float]) -> tuple[float, float]:
    """Room for two decades at least, so that what hardly grows looks so."""
    low, high = min(values) / 2, max(values) * 1.6
    return min(low, high / 100), high


def _linear(axes: Axes, points: Points) -> None:
    """The slope of linear growth, from the first point on."""
    (first, height), (last, _) = points[0], points[-1]
    axes.plot([first, last], [height, height * last / first], color=SOFT, linewidth=0.8, linestyle=":", zorder=1)
