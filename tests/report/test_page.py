import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.report import render, tell
from tests.report.conftest import page_on, told

SECTIONS = [
    "summary",
    "data",
    "learning",
    "bags",
    "probabilities",
    "importance",
    "samples",
    "without-labels",
    "labels",
]
NASTY = ["<script>alert(1)</script>", "a & b", "$x_1$", "\"quoted\" 'name'", "</svg><b>", 'id="x" #010a01 1.23456']
LONG = "a very long name " * 20


class Reader(HTMLParser):
    """What a browser would find: tags, ids, attributes that load, and text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.loads, self.text = set(), [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.loads += [value for name, value in attributes if name in {"src", "href", "xlink:href", "action"}]

    def handle_data(self, data):
        self.text.append(data)


def section(page, name):
    return page[page.index(f'<section id="{name}">') :].partition("</section>")[0]


@cache
def nasty_page():
    rng, names = np.random.default_rng(0), [*NASTY, LONG, "x" * 200]
    shares = rng.dirichlet(np.ones(4), size=len(names))
    bags = Bags.from_arrays(rng.normal(size=(40, 8)), np.repeat(names, 5), shares, classes=[*NASTY[:3], "x" * 200])
    columns = {name: [i] for i, name in enumerate(names)}
    model = MeanMap(C=1.0).fit_bags(bags)
    return render(tell(model, bags, title=NASTY[0] + LONG, notes=names, columns=columns, labels=[NASTY[1]] * 40))


def test_every_section_is_there_and_says_something(page):
    assert re.findall(r'<section id="([\w-]+)">', page) == SECTIONS
    for name in SECTIONS:
        assert len("".join(Reader(section(page, name)).text).split()) > 8, name


def test_nothing_is_loaded_and_nothing_runs(page):
    read = Reader(page)
    assert not read.tags & {"script", "link", "iframe", "object", "embed", "form"}
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in read.loads)
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page


def test_no_id_is_there_twice(page):
    ids = Reader(page).ids
    assert len(ids) == len(set(ids))


def test_every_link_and_clip_leads_somewhere(page):
    read = Reader(page)
    wanted = {a[1:] for a in read.loads if a.startswith("#")} | set(re.findall(r"url\(#([^)]*)\)", page))
    assert wanted <= set(read.ids)


def test_the_same_story_gives_the_same_bytes(kind):
    assert render(told(kind, True)) == page_on(kind, True)


def test_the_same_model_gives_the_same_bytes(bags):
    model = MeanMap().fit_bags(bags)
    one, other = (render(tell(model, bags, title="twice")) for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_names_are_text_wherever_they_stand():
    page = nasty_page()
    read = Reader(page)
    assert "script" not in read.tags
    assert "b" not in Reader(section(page, "bags")).tags
    text = "".join(read.text)
    for name in NASTY:
        assert name in text
    assert "<script>" not in page


@pytest.mark.parametrize("name", ["a & b", "$x_1$", "\"quoted\" 'name'"])
def test_names_in_charts_are_as_given(name):
    charts = re.findall(r"<svg.*?</svg>", nasty_page(), re.DOTALL)
    assert any(name in "".join(Reader(chart).text) for chart in charts)


def test_colours_are_the_pages(page):
    charts = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert "var(--blue)" in charts
    assert "#010a" not in charts


def test_labels_are_told_only_where_there_are_any(kind):
    assert "No labels of instances were given" in section(page_on(kind, False), "labels")
    assert "Calibration error" in section(page_on(kind, True), "labels")


def test_what_does_not_apply_is_said_in_words():
    table, image = page_on("table", False), page_on("images", False)
    assert "MeanMap solves for its model without epochs" in section(table, "learning")
    assert "rows of a table" in section(table, "samples")
    assert "The instances are images" in section(image, "importance")
    assert "data:image/png" in section(image, "samples")


def test_settings_that_differ_are_named():
    assert "<code>C = 0.5</code>" in section(page_on("table", False), "summary")


def test_held_out_bags_stand_beside_the_others():
    page = page_on("three classes", False)
    assert "On held-out bags" in section(page, "summary")
    assert "<th>Held out</th>" in section(page, "bags")


def test_a_long_table_of_bags_says_how_many_more(rng):
    labels = np.arange(900) % 2
    labels[:450] = 0
    bags = Bags.from_labels(rng.normal(size=(900, 1)), labels, np.arange(900) // 2)
    page = render(tell(MeanMap().fit_bags(bags), bags, title="many"))
    assert "And 250 more." in page
    assert section(page, "data").count("<tr>") == 201
    assert "Every bag has the same size: 2." in page


@pytest.mark.slow
def test_accuracy_without_labels_is_promised_from_held_out_random_bags_only():
    instances = np.random.default_rng(1).normal(size=(1600, 2))
    labels, groups = (instances[:, 0] > 0).astype(int), np.arange(800) // 8
    bags = Bags.from_labels(instances[:800], labels[:800], groups)
    others = Bags.from_labels(instances[800:], labels[800:], groups)
    model = MeanMap().fit_bags(bags)
    told = section(render(tell(model, bags, title="", held_out=others)), "without-labels")
    assert "Accuracy, from held-out bags" in told
    assert "95 % interval" in told
    seen = section(render(tell(model, bags, title="")), "without-labels")
    assert "only the bags that the model was trained on" in seen
    assert "Accuracy, from" not in seen
    by_value = Bags.from_labels(instances[800:], labels[800:], np.argsort(np.argsort(instances[800:, 1])) // 8)
    refused = section(render(tell(model, bags, title="", held_out=by_value)), "without-labels")
    assert "can be told only from random bags" in refused
    assert "Accuracy, from" not in refused
