"""The pages of ``llpgan inspect``, ``evaluate``, ``compare`` and ``shares``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.evaluation import BagScores, Estimate, Inspection, LabelScores, LearningCurve, Verdict
from llpgan.evaluation.groups import GroupShares
from llpgan.evaluation.selection import Comparison
from llpgan.report.displays.group_shares_display import GroupSharesDisplay
from llpgan.report.page import render_template


@dataclass(frozen=True, eq=False)
class InspectionPage:
    """What there is to tell of bags before training.

    Attributes
    ----------
    title : str
        The title of the page.
    origin : str
        Where the proportions came from.
    bags : Bags
        The bags themselves.
    found : Inspection
        What they can tell.
    sentences : sequence of str
        What the figures mean.
    curve : LearningCurve or None
        What more bags would bring.
    """

    title: str
    origin: str
    bags: Bags
    found: Inspection
    sentences: Sequence[str]
    curve: LearningCurve | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of instances in each bag."""
        return self.bags.sizes

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The given shares, of shape (n_bags, n_classes)."""
        return self.bags.proportions

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self.found.classes

    @cached_property
    def bag_names(self) -> tuple[str, ...]:
        """The names of the bags."""
        return tuple(str(name) for name in self.bags.bag_ids)

    def render(self) -> str:
        """The page.

        Returns
        -------
        str
            The text.
        """
        sections = {"summary": "Summary", "data": "Bags"}
        if self.curve is not None:
            sections["curve"] = "More bags"
        return render_template("inspection_page.html.j2", self.title, sections, told=self)


@dataclass(frozen=True, eq=False)
class MetBags:
    """Bags and how well they are met, in the form that charts take."""

    scores: BagScores

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of instances in each bag."""
        return self.scores.sizes

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The given shares, of shape (n_bags, n_classes)."""
        return self.scores.given

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(str(name) for name in self.scores.classes)

    @cached_property
    def bag_names(self) -> tuple[str, ...]:
        """The names of the bags."""
        return tuple(str(name) for name in self.scores.bag_ids)


def evaluation_page(
    title: str,
    method: str,
    classes: Sequence[str],
    figures: Mapping[str, Estimate],
    *,
    labels: LabelScores | None,
    verdict: Verdict | None,
) -> str:
    """The page on how good a model is.

    Parameters
    ----------
    title, method : str
        The title of the page, and the name of the method.
    classes : sequence of str
        The names of the classes.
    figures : mapping of str to Estimate
        All figures, with their intervals.
    labels : LabelScores or None
        The scores by labels.
    verdict : Verdict or None
        What bags tell.

    Returns
    -------
    str
        The text.
    """
    sections = {"summary": "Summary"}
    if verdict is not None:
        sections |= {"bags": "Bags", "without-labels": "Without labels"}
    if labels is not None:
        sections["labels"] = "Labels"
    met = None if verdict is None else MetBags(verdict.bags)
    return render_template(
        "evaluation_page.html.j2",
        title,
        sections,
        method=method,
        classes=tuple(classes),
        figures=figures,
        labels=labels,
        verdict=verdict,
        met=met,
    )


def comparison_page(title: str, origin: str, found: Comparison) -> str:
    """The page on methods that were compared.

    Parameters
    ----------
    title : str
        The title of the page.
    origin : str
        Where the proportions came from.
    found : Comparison
        What was found.

    Returns
    -------
    str
        The text.
    """
    sections = {"summary": "Summary", "methods": "Methods"}
    if any(result.notes for result in found.results):
        sections["notes"] = "Warnings"
    return render_template("comparison_page.html.j2", title, sections, origin=origin, found=found)


def shares_page(title: str, method: str, origin: str, found: GroupShares, by: Sequence[str]) -> str:
    """The page on shares of classes by group.

    Parameters
    ----------
    title, method : str
        The title of the page, and the name of the method.
    origin : str
        Where the proportions came from.
    found : GroupShares
        The shares.
    by : sequence of str
        The columns that define the groups.

    Returns
    -------
    str
        The text.
    """
    sections = {"summary": "Summary", "groups": "Groups"}
    if len(found.groups) > 1:
        sections["differences"] = "Differences"
    return render_template(
        "shares_page.html.j2",
        title,
        sections,
        method=method,
        origin=origin,
        found=found,
        by=tuple(by),
        shown=GroupSharesDisplay.of(found),
        has_intervals=found.intervals is not None,
    )
