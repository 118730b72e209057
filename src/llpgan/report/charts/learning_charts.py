"""Charts of the training: what fell, epoch by epoch; and of what more bags would bring."""

from collections.abc import Iterator

from markupsafe import Markup
from matplotlib.axes import Axes

from llpgan.evaluation import LearningCurve
from llpgan.report.charts.svg_canvas import PAGE, Hover, svg
from llpgan.report.displays.learning_curve_display import IN_WORDS, NOT_CURVES, LearningCurveDisplay
from llpgan.report.short_names import shorten
from llpgan.report.story import Story
from llpgan.training import epoch_choice

_TOGETHER = {
    "Loss of bags": ("proportion_loss", "held_out_loss"),
    "Classifier against generator": ("real_loss", "fake_loss", "generator_loss"),
    "Uncertainty of single predictions": ("entropy",),
    "Terms on single instances": ("smoothness", "self_training_loss"),
}
_MOST_ALONE = 6  # curves of a monitor's own figures


def learning_curves(story: Story) -> list[Markup]:
    """Losses that belong together in one chart; figures of a monitor in one each."""
    return [
        _curves(story, f"learning-{i}", title, names) for i, (title, names) in enumerate(_charts(story), start=1)
    ]


def kept_epoch(story: Story) -> int | None:
    """The epoch whose weights were kept, by held-out bags; None where the last one counts."""
    return epoch_choice.kept_epoch(story.history)


def error_by_bags(curve: LearningCurve) -> Markup:
    """The bag error on held-out bags against the number of bags to learn from."""

    def draw(axes: Axes) -> Hover:
        return LearningCurveDisplay.of_learning_curve(curve).plot(axes, palette=PAGE).hover_

    return svg("error-by-bags", draw, height=340)


def _charts(story: Story) -> Iterator[tuple[str, tuple[str, ...]]]:
    there = dict.fromkeys(name for row in story.history for name in row if name not in NOT_CURVES)
    for title, names in _TOGETHER.items():
        if kept := tuple(name for name in names if name in there):
            yield title, kept
    alone = [name for name in there if name not in IN_WORDS]
    for name in alone[:_MOST_ALONE]:
        yield name.replace("_", " "), (name,)


def _curves(story: Story, chart: str, title: str, names: tuple[str, ...]) -> Markup:
    def draw(axes: Axes) -> Hover:
        axes.set_title(shorten(title, 40))
        return LearningCurveDisplay.of_history(story.history, names).plot(axes, palette=PAGE).hover_

    return svg(chart, draw, height=280 + 22 * len(names))
