"""Charts of the training: what fell, epoch by epoch."""

from collections.abc import Iterator

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.report.charts.svg_canvas import BLUE, GREEN, ORANGE, SOFT, svg
from llpgan.report.formatting import shorten
from llpgan.report.story import Story
from llpgan.training import epoch_choice

_NAMES = {
    "proportion_loss": "bags in training",
    "held_out_loss": "held-out bags",
    "real_loss": "classifier, on real instances",
    "fake_loss": "classifier, on generated ones",
    "generator_loss": "generator",
    "entropy": "entropy",
}
_TOGETHER = {
    "Loss of bags": ("proportion_loss", "held_out_loss"),
    "Classifier against generator": ("real_loss", "fake_loss", "generator_loss"),
    "Uncertainty of single predictions": ("entropy",),
}
_NO_CURVES = {"epoch", "seconds", "held_out_error"}
_MOST_ALONE = 6  # curves of a monitor's own figures


def learning_curves(story: Story) -> list[Markup]:
    """Losses that belong together in one chart; figures of a monitor in one each."""
    return [
        _curves(story, f"learning-{i}", title, names) for i, (title, names) in enumerate(_charts(story), start=1)
    ]


def kept_epoch(story: Story) -> int | None:
    """The epoch whose weights were kept, by held-out bags; None where the last one counts."""
    return epoch_choice.kept_epoch(story.history)


def _charts(story: Story) -> Iterator[tuple[str, tuple[str, ...]]]:
    there = dict.fromkeys(name for row in story.history for name in row if name not in _NO_CURVES)
    for title, names in _TOGETHER.items():
        if kept := tuple(name for name in names if name in there):
            yield title, kept
    alone = [name for name in there if name not in _NAMES]
    for name in alone[:_MOST_ALONE]:
        yield name.replace("_", " "), (name,)


def _curves(story: Story, chart: str, title: str, names: tuple[str, ...]) -> Markup:
    def draw(axes: Axes) -> None:
        for name, colour in zip(names, (BLUE, ORANGE, GREEN), strict=False):
            _curve(axes, story, name, colour)
        if (epoch := kept_epoch(story)) is not None:
            axes.axvline(epoch, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_title(shorten(title, 40))
        axes.set(xlabel="epoch")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        if len(story.history) == 1:
            axes.set_xticks([story.history[0]["epoch"]])
        axes.grid(axis="y")
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        if len(names) > 1:
            axes.legend(loc="upper right", fontsize=11)

    return svg(chart, draw)


def _curve(axes: Axes, story: Story, name: str, colour: str) -> None:
    rows = [row for row in story.history if name in row]
    numbers, values = [row["epoch"] for row in rows], [row[name] for row in rows]
    axes.plot(numbers, values, color=colour, label=_NAMES.get(name, name), marker="o" if len(rows) < 3 else None)
