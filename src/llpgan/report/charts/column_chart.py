"""A chart of the columns that matter."""

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.report.charts.svg_canvas import BLUE, INK, SOFT, Hover, svg
from llpgan.report.formatting import shorten
from llpgan.report.story import Story

MOST_COLUMNS = 20


def what_matters(story: Story) -> Markup:
    """A bar a column: the rise of the bags' loss when it is shuffled, with the shuffles' standard deviation."""
    rises = sorted((story.rises or {}).items(), key=lambda item: item[1].mean)[-MOST_COLUMNS:]

    def draw(axes: Axes) -> Hover:
        means, deviations = np.array([rise for _, rise in rises]).T
        bars = axes.barh(range(len(rises)), means, 0.66, color=BLUE)
        for place, bar in enumerate(bars):
            bar.set_gid(f"bar-{place}")
        axes.errorbar(
            means, range(len(rises)), xerr=deviations, fmt="none", ecolor=SOFT, elinewidth=1.4, capsize=2.5
        )
        axes.set_yticks(range(len(bars)), [shorten(name, 22) for name, _ in rises])
        axes.tick_params(axis="y", labelcolor=INK, length=0)
        axes.tick_params(axis="x", length=0)
        axes.axvline(0, color=SOFT, linewidth=1)
        axes.grid(axis="x")
        axes.set(xlabel="rise of the bags’ loss", ylim=(-0.6, len(rises) - 0.4))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.spines["left"].set_visible(False)
        return {f"bar-{i}": [f"{name}: {mean:.4f} ± {sd:.4f}"] for i, (name, (mean, sd)) in enumerate(rises)}

    return svg("what-matters", draw, height=76 + 25 * len(rises))
