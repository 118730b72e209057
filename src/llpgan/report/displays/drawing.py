"""What all displays share: the axes to draw on, the colours, and the texts of single points."""

from dataclasses import dataclass
from typing import Literal, Self

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

DASHED = (0, (4, 3))


@dataclass(frozen=True)
class Palette:
    """The colours of a plot.

    Attributes
    ----------
    ink, soft, line, card : str
        Of text, of what stands back, of grid lines, and of the background.
    blue, orange, green : str
        Of data; orange is for what stands out.
    """

    ink: str
    soft: str
    line: str
    card: str
    blue: str = "#0b6aa8"
    orange: str = "#d55e00"
    green: str = "#00875f"

    @classmethod
    def of_matplotlib(cls) -> Self:
        """Text and background as matplotlib's current style has them, so that dark styles work."""
        return cls(rcParams["text.color"], "#7f7f7f", "#7f7f7f40", rcParams["axes.facecolor"])

    @property
    def series(self) -> tuple[str, str, str]:
        """The colours of several curves."""
        return self.blue, self.orange, self.green


class Display:
    """A result that can be drawn.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes that it was drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.
    hover_ : dict of str to list of str
        For each artist that has a ``gid``, the text of each of its points, in their order.
    """

    ax_: Axes
    figure_: Figure
    hover_: dict[str, list[str]]

    def _drawn_on(self, ax: Axes, hover: dict[str, list[str]]) -> Self:
        self.ax_, self.hover_ = ax, hover
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        return self


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes that are given, or those of a new figure of pyplot."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def in_percent(axis: Axis, steps: int) -> None:
    """Ticks in per cent: about so many."""
    axis.set_major_locator(MaxNLocator(steps))
    axis.set_major_formatter(PercentFormatter(1, decimals=0))


def percent(share: float) -> str:
    """A share in text, with one decimal.

    >>> percent(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"


def quiet(ax: Axes, grid: Literal["x", "y", "both"], palette: Palette) -> None:
    """A grid behind the data, no tick marks, and no frame above and to the right."""
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=palette.line)
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(ax: Axes) -> None:
    """A legend under the axes, where it covers nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.16), borderaxespad=0.6, frameon=False, handlelength=1.6)
