"""The pages that are saved with a model: the report, and the model card with its facts."""

from llpgan.estimators.base import LLPClassifier
from llpgan.evaluation import BagScores, Estimate
from llpgan.persistence.manifest import CARD, REPORT
from llpgan.persistence.model_card import model_card, plain
from llpgan.report.formatting import between, count, decimals, percent, percent_between
from llpgan.report.page import render
from llpgan.report.story import Story
from llpgan.report.summary_words import sentence, what_was_done


def saved_pages(model: LLPClassifier, story: Story | None) -> dict[str, str]:
    """The report and the card by the names of their files; none, if there is no story to tell."""
    return {} if story is None else {REPORT: render(story), CARD: model_card(model, card_sections(story))}


def card_sections(story: Story) -> str:
    """What the card says of the training data, and of how good the model is."""
    return "\n".join([_data(story), _quality(story)])


def _data(story: Story) -> str:
    shares = story.sizes @ story.proportions / story.sizes.sum()
    classes = zip(story.classes, shares, story.proportions.min(axis=0), story.proportions.max(axis=0), strict=True)
    rows = [
        f"| {plain(name)} | {percent(share)} | {percent(low)} to {percent(high)} |"
        for name, share, low, high in classes
    ]
    notes = [f"- {plain(note)}" for note in story.notes]
    sizes = f"{count(int(story.sizes.min()))} to {count(int(story.sizes.max()))}"
    return "\n".join(
        [
            "## Training data\n",
            f"{plain(what_was_done(story))} Bags have {sizes} instances.\n",
            "| class | share of all instances | of a bag |",
            "|---|---|---|",
            *rows,
            "",
            *([*notes, ""] if notes else []),
        ]
    )


def _quality(story: Story) -> str:
    rows = [_bag_error("bags it was trained on", story.scores)]
    if story.held_out is not None:
        rows.append(_bag_error("held-out bags", story.held_out))
    rows.append(_bag_error("overall shares for every instance, for comparison", story.overall))
    if story.labels is not None:
        rows.append(_row("accuracy of single predictions, by labels", story.labels.accuracy))
        auc = story.labels.auc
        rows += (
            []
            if auc is None
            else [f"| AUC of single predictions, by labels | {decimals(auc.value)} | {between(auc)} |"]
        )
    return "\n".join(
        [
            "## How good it is\n",
            *([f"**Do not rely on this model.** {plain(sentence(story.doubt))}.\n"] if story.doubt else []),
            "| measure | value | 95 % interval |",
            "|---|---|---|",
            *rows,
            "",
            "`report.html` in this folder shows more: every bag, what drives the predictions, and charts.\n",
        ]
    )


def _bag_error(what: str, scores: BagScores) -> str:
    return _row(f"mean bag error, {what}", scores.mean_total_variation)


def _row(name: str, found: Estimate) -> str:
    return f"| {name} | {percent(found.value)} | {percent_between(found)} |"
