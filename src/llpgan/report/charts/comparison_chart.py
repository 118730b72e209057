"""A chart of methods that were compared."""

from markupsafe import Markup
from matplotlib.axes import Axes

from llpgan.evaluation.selection import Comparison
from llpgan.report.charts.svg_canvas import PAGE, Hover, svg
from llpgan.report.displays.comparison_display import ComparisonDisplay


def compared_methods(found: Comparison) -> Markup:
    """The score of each method on held-out bags, the best on top."""
    display = ComparisonDisplay.of(found)

    def draw(axes: Axes) -> Hover:
        return display.plot(axes, palette=PAGE).hover_

    return svg("methods", draw, height=110 + 30 * len(display.results))
