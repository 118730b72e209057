"""A chart of shares by group."""

from markupsafe import Markup
from matplotlib.axes import Axes

from llpgan.report.charts.svg_canvas import PAGE, Hover, svg
from llpgan.report.displays.group_shares_display import GroupSharesDisplay


def group_shares(shares: GroupSharesDisplay) -> Markup:
    """The share of each class in each group, with its interval."""
    n_groups, n_classes = len(set(shares.groups)), len(set(shares.classes))

    def draw(axes: Axes) -> Hover:
        return shares.plot(axes, palette=PAGE).hover_

    height = 90 + n_groups * max(28, 15 * n_classes) + (22 * n_classes if n_classes > 1 else 0)
    return svg("groups", draw, height=height)
