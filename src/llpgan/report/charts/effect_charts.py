"""Charts of the direction in which columns move the predictions."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.evaluation import PartialDependence
from llpgan.report.charts.svg_canvas import BLUE, INK, PAGE, Hover, svg
from llpgan.report.displays.drawing import in_percent, quiet
from llpgan.report.formatting import percent
from llpgan.report.short_names import shorten
from llpgan.utils.arrays import Array

_WIDTH, _TEXT = 300, 14.5
_ROOM = 0.05


def effect(found: PartialDependence, k: int, number: int) -> Markup:
    """The mean prediction of a class, if all instances had this value: a curve, or a point per category."""

    def draw(axes: Axes) -> Hover:
        axes.set_title(shorten(found.column, 28))
        texts = [
            f"{name}: {percent(share)}" for name, share in zip(found.names, found.predicted[:, k], strict=True)
        ]
        (_curve if found.values is not None else _points)(axes, found, found.predicted[:, k])
        return {"values": texts}

    height = 220 if found.values is not None else 90 + 21 * len(found.names)
    return svg(f"effect-{number}", draw, width=_WIDTH, height=height, text=_TEXT)


def _curve(axes: Axes, found: PartialDependence, shares: Array) -> None:
    values = found.values
    assert values is not None
    axes.plot(values, shares, color=BLUE, marker="o", markersize=4)
    axes.scatter(values, shares, 120, color=BLUE, alpha=0, linewidths=0, gid="values")
    quiet(axes, "y", PAGE)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(max(-0.02, shares.min() - _ROOM), min(1.02, shares.max() + _ROOM))
    in_percent(axes.yaxis, 4)
    if any(not _is_number(name) for name in found.names):  # dates
        ends = [0, len(values) - 1]
        axes.set_xticks(values[ends], [found.names[place] for place in ends])
    elif len(values) <= 6:
        axes.set_xticks(values, found.names)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))


def _points(axes: Axes, found: PartialDependence, shares: Array) -> None:
    heights = np.arange(len(shares))
    low = max(-0.02, float(shares.min()) - _ROOM)
    axes.hlines(heights, low, shares, color=BLUE, linewidth=1.2, alpha=0.5)
    axes.scatter(shares, heights, 46, color=BLUE, linewidths=0, gid="values")
    axes.set_yticks(heights, [shorten(name, 20) for name in found.names])
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(-0.7, len(shares) - 0.3)
    axes.set_xlim(low, min(1.02, shares.max() + _ROOM))
    quiet(axes, "x", PAGE)
    axes.spines["left"].set_visible(False)
    in_percent(axes.xaxis, 3)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
