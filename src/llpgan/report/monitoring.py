"""The page of ``llpgan monitor``, and the plot of a model's course over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from llpgan.evaluation.monitor import Change, MonitorReport, Snapshot
from llpgan.report.charts import PAGE, svg
from llpgan.report.drawing import (
    DASHED,
    Display,
    Palette,
    hide_spines,
    percent_text,
    set_percent_ticks,
)
from llpgan.report.page import render_template
from llpgan.report.tables import Column, DataTable
from llpgan.report.text import format_count, format_percent

NAMES = {
    "accuracy": "accuracy",
    "bag error": "bag error",
    "overconfidence": "confidence minus accuracy",
    "coverage": "coverage of prediction sets",
}


@dataclass(eq=False, repr=False)
class MonitorDisplay(Display):
    """One figure of a model in use, look after look, with 95 % intervals.

    Parameters
    ----------
    snapshots : sequence of Snapshot
        The looks; the first is the reference.
    figure : str, default="accuracy"
        ``"accuracy"``, ``"bag error"``, ``"overconfidence"`` or ``"coverage"``.

    Attributes
    ----------
    {inherited}

    Examples
    --------
    >>> from matplotlib.figure import Figure as Drawing
    >>> from llpgan.evaluation.monitor import Figure
    >>> figures = {"accuracy": Figure(0.8, 0.01, 195)}
    >>> looks = [Snapshot(f"2026-0{i}-01", 200, 3200, "", None, figures, {}, {}, {}) for i in (1, 2, 3)]
    >>> display = MonitorDisplay(looks).plot(Drawing().add_subplot())
    >>> display.hover_["looks"][1]
    '2026-02-01: 80.0 % (78.0 to 82.0 %), 200 bags'
    """

    snapshots: Sequence[Snapshot]
    figure: str = "accuracy"

    @classmethod
    def from_report(cls, report: MonitorReport, *, figure: str = "accuracy", ax: Axes | None = None) -> Self:
        """Plot the course of one figure.

        Parameters
        ----------
        report : MonitorReport
            What :func:`llpgan.evaluation.monitor` returns.
        figure : str, default="accuracy"
            ``"accuracy"``, ``"bag error"``, ``"overconfidence"`` or ``"coverage"``.
        {ax}

        Returns
        -------
        MonitorDisplay
            The display.

        Raises
        ------
        ValueError
            If no look has this figure.
        """
        return cls(report.snapshots, figure).plot(ax)

    def __post_init__(self) -> None:
        if not any(self.figure in look.figures for look in self.snapshots):
            raise ValueError(f"no look has the figure {self.figure!r}")

    def _draw(self, ax: Axes, colours: Palette) -> dict[str, list[str]]:
        """Draw one point with its interval for each look; the dashed line and the band are the reference."""
        looks = [(i, look) for i, look in enumerate(self.snapshots) if self.figure in look.figures]
        found = [look.figures[self.figure].as_estimate() for _, look in looks]
        low = np.array([each.low for each in found], dtype=np.float64)
        high = np.array([each.high for each in found], dtype=np.float64)
        places = [place for place, _ in looks]
        values = np.array([each.value for each in found])
        if places[0] == 0:
            ax.axhspan(float(low[0]), float(high[0]), color=colours.soft, alpha=0.15, linewidth=0)
            ax.axhline(values[0], color=colours.soft, linewidth=1, linestyle=DASHED)
        ax.errorbar(places, values, [values - low, high - values], fmt="none", ecolor=colours.blue, elinewidth=1.5)
        ax.scatter(places, values, 34, color=colours.blue, linewidths=0, gid="looks", zorder=3)
        ax.set(xlabel="look (0: reference)", ylabel=NAMES[self.figure], xlim=(-0.5, len(self.snapshots) - 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        hide_spines(ax, "y", colours)
        set_percent_ticks(ax.yaxis, 5, are_shares=self.figure != "overconfidence")
        texts = [
            f"{look.time[:10]}: {percent_text(each.value)} ({100 * start:.1f} to {percent_text(end)}), "
            f"{look.n_bags:,} bags"
            for (_, look), each, start, end in zip(looks, found, low.tolist(), high.tolist(), strict=True)
        ]
        return {"looks": texts}


def monitor_page(report: MonitorReport, title: str, method: str) -> str:
    """Render the page on a model in use.

    Parameters
    ----------
    report : MonitorReport
        The comparison with the reference.
    title : str
        The title of the page.
    method : str
        The name of the method.

    Returns
    -------
    str
        The page, as HTML.
    """
    figures = [name for name in NAMES if any(name in look.figures for look in report.snapshots)]
    sections = {"summary": "Summary", "course": "Course"}
    if report.changes:
        sections["changes"] = "Changes"
    return render_template(
        "monitor_page.html.j2",
        title,
        sections,
        report=report,
        method=method,
        course=[(NAMES[name], _course(report.snapshots, name)) for name in figures],
        changes=changes_table(report),
        looks=looks_table(report),
    )


def changes_table(report: MonitorReport) -> DataTable:
    """All comparisons, the significant ones first."""
    order = sorted(report.changes, key=lambda c: (not c.is_significant, c.p_value))
    kinds = {"figure": "", "class": "share of class ", "column": "column "}
    return DataTable(
        "changes",
        "Comparison with the reference",
        (
            Column("Figure", [kinds[c.kind] + NAMES.get(c.name, c.name) for c in order], is_number=False),
            *(
                Column(head, values, texts=[_format(c, value) for c, value in zip(order, values, strict=True)])
                for head, values in (
                    ("Reference", [c.then.value for c in order]),
                    ("Now", [c.now.value for c in order]),
                    ("From", [c.now.low for c in order]),
                    ("To", [c.now.high for c in order]),
                )
            ),
            Column("p-value", [c.p_value for c in order], _format_probability),
            Column("Limit", [c.limit for c in order], _format_probability),
            Column("Significant", ["yes" if c.is_significant else "no" for c in order], is_number=False),
        ),
    )


def looks_table(report: MonitorReport) -> DataTable:
    """The figures of all looks."""
    looks = report.snapshots
    names = [name for name in NAMES if any(name in look.figures for look in looks)]
    values = {
        name: [look.figures[name].value if name in look.figures else None for look in looks] for name in names
    }
    return DataTable(
        "looks",
        "All looks",
        (
            Column("Look", list(range(len(looks)))),
            Column("Time", [look.time[:16].replace("T", " ") for look in looks], is_number=False),
            Column("Bags", [look.n_bags for look in looks], format_count),
            Column("Rows", [look.n_rows for look in looks], format_count),
            *(Column(NAMES[name].capitalize(), values[name], format_percent) for name in names),
        ),
    )


def _format(change: Change, value: float | None) -> str:
    """A figure or a share in per cent; the mean of a column as it is."""
    if value is None or change.kind != "column":
        return "" if value is None else format_percent(value)
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _format_probability(value: float) -> str:
    return f"{value:.5f}" if value >= 0.00001 else "< 0.00001"


def _course(snapshots: Sequence[Snapshot], figure: str) -> Markup:
    def draw(axes: Axes) -> dict[str, list[str]]:
        return MonitorDisplay(snapshots, figure).plot(axes, palette=PAGE).hover_

    return svg(f"course-{figure.replace(' ', '-')}", draw, height=240)
