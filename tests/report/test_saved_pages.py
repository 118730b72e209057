"""The card that is saved with a report has the report's facts."""

import re
from dataclasses import replace

from llpgan import MeanMap
from llpgan.report.page import card_sections, saved_pages
from tests.report.conftest import told


def test_the_card_has_the_figures_of_the_report():
    story = told("table", True)
    pages = saved_pages(MeanMap(), None)
    assert pages == {}
    card = card_sections(story)
    error, accuracy = story.scores.mean_total_variation.value, story.labels.accuracy.value
    assert f"| mean bag error, bags it was trained on | {100 * error:.1f} % |" in card
    assert f"| accuracy of single predictions, by labels | {100 * accuracy:.1f} % |" in card
    assert "held-out" not in card
    assert "- column 'id' left out" in card
    assert "12 bags" in card


def test_the_card_has_held_out_bags_and_three_classes():
    card = card_sections(told("three classes", False))
    assert "mean bag error, held-out bags" in card
    assert "by labels |" not in card
    assert len(re.findall(r"^\| [012] \|", card, re.MULTILINE)) == 3


def test_the_card_warns_of_a_model_that_learned_nothing():
    story = told("table", False)
    assert "Do not rely" not in card_sections(story)
    doubted = replace(story, doubt="a single bag tells nothing")
    assert "**Do not rely on this model.** A single bag tells nothing." in card_sections(doubted)
