"""Reports as HTML pages."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from llpgan.bags.bags import Bags, refuse_other_than_bags
from llpgan.ecological import GroupShares
from llpgan.evaluation import BagCalibration, BagScores, Estimate, Inspection, LabelScores, LearningCurve, Verdict
from llpgan.evaluation.compare import Comparison
from llpgan.evaluation.sets import SetLevel
from llpgan.methods.base import LLPClassifier
from llpgan.persistence.model import CARD, REPORT, model_card, plain_text
from llpgan.report import charts, tables, text
from llpgan.report.content import ReportContent, collect_content, name_bag, png_address
from llpgan.report.drawing import shorten
from llpgan.report.effects import GroupSharesDisplay
from llpgan.report.tables import MOST_ROWS
from llpgan.report.text import (
    as_sentence,
    format_count,
    format_decimals,
    format_interval,
    format_percent,
    format_percent_interval,
    summarize,
)
from llpgan.utils.files import output_file
from llpgan.utils.version import __version__


def render(story: ReportContent) -> str:
    """Render the report as one HTML page.

    The page includes its pictures, charts, style and script, and loads nothing. The script sorts and searches
    tables, and shows the text of a mark. Without it, the page is complete. Save it as UTF-8.

    Parameters
    ----------
    story : ReportContent
        The content of the page.

    Returns
    -------
    str
        The page.
    """
    return render_template(
        "model_page.html.j2",
        story.title,
        list_sections(story),
        story=story,
        assessment=text.assess(story),
        png=png_address,
    )


def list_sections(story: ReportContent) -> dict[str, str]:
    """The sections of the report by id, with their names in the menu; those without content are left out."""
    there = {
        "learning": bool(story.history),
        "importance": story.rises is not None,
        "groups": story.shares is not None,
        "samples": story.mosaics is not None,
        "images": bool(story.pictures),
        "sets": bool(story.sets),
        "labels": story.labels is not None,
    }
    names = {
        "summary": "Summary",
        "data": "Data",
        "learning": "Learning",
        "bags": "Bags",
        "probabilities": "Probabilities",
        "importance": "What matters",
        "groups": "Groups",
        "images": "Images",
        "samples": "Samples",
        "without-labels": "Without labels",
        "sets": "Prediction sets",
        "labels": "Labels",
    }
    return {section: name for section, name in names.items() if there.get(section, True)}


def render_template(template: str, title: str, sections: Mapping[str, str], **content: Any) -> str:
    """A page of a template, with its title and its menu.

    Parameters
    ----------
    template : str
        The name of its file.
    title : str
        The title of the page.
    sections : mapping of str to str
        The names of the sections, by id.
    **content : Any
        What else the template needs.

    Returns
    -------
    str
    """
    script = (files("llpgan.report") / "templates" / "page.js").read_text(encoding="utf-8")  # the only one allowed
    digest = "sha256-" + b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(
            title=title,
            sections=sections,
            script=Markup(script),
            script_digest=digest,
            version=__version__,
            date="" if "story" in content else datetime.now(UTC).date().isoformat(),
            most_rows=MOST_ROWS,
            **content,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("llpgan.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(charts=charts, words=text, tables=tables)
    environment.filters.update({name: value for name, value in vars(text).items() if callable(value)})
    environment.filters["shorten"] = shorten
    return environment


def saved_pages(model: LLPClassifier, story: ReportContent | None) -> dict[str, str]:
    """The report and the model card by the names of their files; none if there is no content."""
    return {} if story is None else {REPORT: render(story), CARD: model_card(model, card_sections(story))}


def card_sections(story: ReportContent) -> str:
    """The sections of the model card on the training data and on the quality of the model."""
    return "\n".join([_data(story), _quality(story)])


def _data(story: ReportContent) -> str:
    shares = story.sizes @ story.proportions / story.sizes.sum()
    classes = zip(story.classes, shares, story.proportions.min(axis=0), story.proportions.max(axis=0), strict=True)
    rows = [
        f"| {plain_text(name)} | {format_percent(share)} | {format_percent(low)} to {format_percent(high)} |"
        for name, share, low, high in classes
    ]
    notes = [f"- {plain_text(note)}" for note in story.notes]
    sizes = f"{format_count(int(story.sizes.min()))} to {format_count(int(story.sizes.max()))}"
    return "\n".join(
        [
            "## Training data\n",
            f"{plain_text(summarize(story))} Bags have {sizes} instances.\n",
            "| class | share of all instances | of a bag |",
            "|---|---|---|",
            *rows,
            "",
            *([*notes, ""] if notes else []),
        ]
    )


def _quality(story: ReportContent) -> str:
    measured = {
        "bags it was trained on": story.scores,
        "held-out bags": story.held_out,
        "overall shares for every instance, for comparison": story.overall,
    }
    rows = [
        _estimate_row(f"mean bag error, {what}", scores.mean_total_variation)
        for what, scores in measured.items()
        if scores is not None
    ]
    if story.labels is not None:
        rows.append(_estimate_row("accuracy of single predictions, by labels", story.labels.accuracy))
        auc = story.labels.auc
        rows += (
            []
            if auc is None
            else [
                f"| AUC of single predictions, by labels | {format_decimals(auc.value)} | {format_interval(auc)} |"
            ]
        )
    return "\n".join(
        [
            "## How good it is\n",
            *(
                [f"**Do not rely on this model.** {plain_text(as_sentence(story.doubt))}.\n"]
                if story.doubt
                else []
            ),
            "| measure | value | 95 % interval |",
            "|---|---|---|",
            *rows,
            "",
            "`report.html` in this folder shows more: every bag, what drives the predictions, and charts.\n",
        ]
    )


def _estimate_row(name: str, found: Estimate) -> str:
    return f"| {name} | {format_percent(found.value)} | {format_percent_interval(found)} |"


@dataclass(frozen=True, eq=False)
class InspectionPage:
    """The content of the page on bags before training.

    Attributes
    ----------
    title : str
        The title of the page.
    origin : str
        Where the proportions came from.
    bags : Bags
        The bags themselves.
    found : Inspection
        The properties of the bags.
    sentences : sequence of str
        What the figures mean.
    curve : LearningCurve or None
        The error by the number of bags.
    """

    title: str
    origin: str
    bags: Bags
    found: Inspection
    sentences: Sequence[str]
    curve: LearningCurve | None = None

    @property
    def sizes(self) -> NDArray[Any]:
        """The number of instances in each bag."""
        return self.bags.shown_sizes

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
        return tuple(name_bag(name) for name in self.bags.bag_ids)

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
        return render_template("inspection_page.html.j2", self.title, sections, page=self)


@dataclass(frozen=True, eq=False)
class PredictedBags:
    """Bags and their scores, in the form that charts take."""

    scores: BagScores

    @property
    def sizes(self) -> NDArray[Any]:
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
        return tuple(name_bag(name) for name in self.scores.bag_ids)


def evaluation_page(
    title: str,
    method: str,
    classes: Sequence[str],
    figures: Mapping[str, Estimate],
    *,
    labels: LabelScores | None,
    verdict: Verdict | None,
    calibration: BagCalibration | None = None,
    sets: Sequence[SetLevel] = (),
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
        The evaluation by bags.
    calibration : BagCalibration or None, default=None
        The calibration, estimated from the bags.
    sets : sequence of SetLevel, default=()
        The prediction sets of some levels.

    Returns
    -------
    str
        The text.
    """
    sections = {"summary": "Summary"}
    if verdict is not None:
        sections |= {"bags": "Bags", "without-labels": "Without labels"}
    if sets:
        sections["sets"] = "Prediction sets"
    if labels is not None:
        sections["labels"] = "Labels"
    met = None if verdict is None else PredictedBags(verdict.bags)
    return render_template(
        "evaluation_page.html.j2",
        title,
        sections,
        method=method,
        classes=tuple(classes),
        figures=figures,
        labels=labels,
        verdict=verdict,
        calibration=calibration,
        sets=tuple(sets),
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
        The result of the comparison.

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
        shown=GroupSharesDisplay.prepare(found),
        has_intervals=found.intervals is not None,
    )


def write_report(
    model: LLPClassifier,
    bags: Bags,
    path: str | Path,
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    origin: str = "",
    labels: ArrayLike | None = None,
    held_out: Bags | None = None,
    shares: Any = None,
    overwrite: bool = False,
) -> Path:
    """Write a page on a trained model: one HTML file that loads nothing.

    Parameters
    ----------
    model : LLPClassifier
        A fitted model.
    bags : Bags
        The bags that it was trained on.
    path : str or Path
        The file to write.
    title : str, default=None
        The title of the page; the name of the method by default.
    notes : sequence of str, default=()
        Remarks on the data, in addition to those of the table that the bags came from.
    origin : str, default=""
        Where the proportions came from, such as "official results of 2016".
    labels : array-like of shape (n_instances,), default=None
        The class of each instance, in the order of ``bags.instances``; used only for scores.
    held_out : Bags, default=None
        Bags that the model was not trained on; used only for scores.
    shares : table or result, default=None
        Shares of classes by group, in a form that :meth:`GroupSharesDisplay.from_shares` takes.
    overwrite : bool, default=False
        Replace the file if it exists.

    Returns
    -------
    Path
        The file.
    """
    refuse_other_than_bags(bags, "bags")
    encoder = bags.encoder
    with output_file(Path(path), overwrite=overwrite) as aside:
        story = collect_content(
            model,
            bags,
            title=type(model).__name__ if title is None else title,
            notes=[*notes, *([] if encoder is None else encoder.notes)],
            columns=None if encoder is None else encoder.positions,
            origin=origin,
            labels=labels,
            held_out=held_out,
            shares=shares,
        )
        aside.write_text(render(story), encoding="utf-8")
    return Path(path)
