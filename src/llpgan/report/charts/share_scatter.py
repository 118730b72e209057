"""Predicted against given shares: one point per bag."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from llpgan.report.charts.svg_canvas import PAGE, Hover, svg
from llpgan.report.displays.proportion_display import ProportionDisplay
from llpgan.report.formatting import worst_bags
from llpgan.report.short_names import shorten
from llpgan.report.told_bags import ToldBags

MOST_POINTS, MOST_SMALL_POINTS = 1000, 200
_NAMED = 5


def predicted_against_given(bags: ToldBags, k: int) -> Markup:
    """For one class the given share of each bag and the mean prediction; the worst bags are named."""

    def draw(axes: Axes) -> Hover:
        return _display(bags, k, MOST_POINTS).plot(axes, n_named=_NAMED, palette=PAGE).hover_

    return svg(f"given-{k}", draw, height=410)


def predicted_against_given_small(bags: ToldBags, k: int) -> Markup:
    """The same for one class of many, without names."""

    def draw(axes: Axes) -> Hover:
        shown = _display(bags, k, MOST_SMALL_POINTS).plot(axes, n_named=0, largest=40, palette=PAGE)
        axes.set(xlabel="given", ylabel="predicted")
        axes.set_title(shorten(bags.classes[k], 16))
        return shown.hover_

    return svg(f"given-{k}", draw, width=230, height=240, text=14)


def _display(bags: ToldBags, k: int, most: int) -> ProportionDisplay:
    chosen = _some_bags(bags, most)
    return ProportionDisplay(
        bags.proportions[chosen, k],
        bags.scores.predicted[chosen, k],
        bags.sizes[chosen],
        [bags.bag_names[bag] for bag in chosen],
        bags.classes[k],
    )


def _some_bags(bags: ToldBags, most: int) -> list[int]:
    """All bags; of very many some, evenly spread, and the worst."""
    n = len(bags.sizes)
    spread = np.linspace(0, n - 1, min(n, most)).astype(np.int64).tolist()
    return sorted({*spread, *worst_bags(bags, _NAMED)})
