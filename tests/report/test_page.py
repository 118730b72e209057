import csv
import io
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.ecological import GroupShares
from llpgan.evaluation import label_scores
from llpgan.report import GroupSharesDisplay, collect_content, render
from llpgan.report.tables import MOST_ROWS, shares_table
from tests.report.conftest import page_on, told

pytestmark = pytest.mark.slow  # many seconds together

SECTIONS = {  # with labels
    "table": ["summary", "data", "bags", "probabilities", "importance", "without-labels", "labels"],
    "three classes": [
        "summary",
        "data",
        "learning",
        "bags",
        "probabilities",
        "importance",
        "without-labels",
        "labels",
    ],
    "images": [
        *("summary", "data", "learning", "bags", "probabilities", "images", "samples", "without-labels", "labels")
    ],
}
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
    return render(
        collect_content(model, bags, title=NASTY[0] + LONG, notes=names, columns=columns, labels=[NASTY[1]] * 40)
    )


@pytest.mark.parametrize("with_labels", [True, False])
def test_sections_that_have_something_to_say_are_there_and_no_others(kind, with_labels):
    page = page_on(kind, with_labels)
    wanted = [name for name in SECTIONS[kind] if with_labels or name != "labels"]
    assert re.findall(r'<section id="([\w-]+)">', page) == wanted
    assert re.findall(r'<li><a href="#([\w-]+)">', page) == wanted
    for name in wanted:
        assert len("".join(Reader(section(page, name)).text).split()) > 8, name


def test_nothing_is_loaded_and_only_the_pages_own_script_runs(page):
    read = Reader(page)
    assert not read.tags & {"link", "iframe", "object", "embed", "form"}
    inside = ("#", "data:image/png;base64,", "data:text/csv;charset=utf-8;base64,")
    assert all(address.startswith(inside) for address in read.loads)
    assert "http:" not in page
    assert "https:" not in page
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'" in page
    assert not re.search(r"fetch|XMLHttp|import\(|innerHTML|eval", script)


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
    one, other = (render(collect_content(model, bags, title="twice")) for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_names_are_text_wherever_they_stand():
    page = nasty_page()
    read = Reader(page)
    assert page.count("<script>") == 1
    assert "b" not in Reader(section(page, "bags")).tags
    text = "".join(read.text)
    for name in NASTY:
        assert name in text


@pytest.mark.parametrize("name", ["a & b", "$x_1$", "\"quoted\" 'name'"])
def test_names_in_charts_are_as_given(name):
    charts = re.findall(r"<svg.*?</svg>", nasty_page(), re.DOTALL)
    assert any(name in "".join(Reader(chart).text) for chart in charts)


def test_colours_are_the_pages(page):
    charts = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert "var(--blue)" in charts
    assert "#010a" not in charts


def test_without_labels_the_page_says_what_bags_do_not_tell(kind):
    assert "labels of some instances are needed" in section(page_on(kind, False), "without-labels")
    assert "labels of some instances are needed" not in section(page_on(kind, True), "without-labels")
    assert "Calibration error" in section(page_on(kind, True), "labels")


def test_why_something_was_not_measured_is_a_note():
    assert "what drives the predictions is not measured" in section(page_on("images", False), "data")
    assert "not measured" not in section(page_on("table", False), "data")


def test_the_page_begins_with_what_was_done():
    story = told("table", False)
    said = section(render(replace(story, origin="proportions: from results.csv")), "summary")
    error, overall = (scores.mean_total_variation.value for scores in (story.scores, story.overall))
    assert "MeanMap learned from 96 instances in 12 bags" in said
    assert "Proportions: from results.csv." in said
    assert f"mean error on these bags is {100 * error:.1f}\u00a0%" in said
    assert f"every instance is {100 * overall:.1f}\u00a0%" in said
    assert "Do not rely" not in said


def test_a_model_that_learned_next_to_nothing_is_warned_of():
    story = told("table", False)
    said = section(render(replace(story, doubt="a single bag tells nothing")), "summary")
    assert "Do not rely on this model.</b> A single bag tells nothing." in said


def table_of(page, about):
    """The cells of the table with this caption, and the rows of its CSV."""
    frame = next(part for part in page.split('<div class="data-table">')[1:] if f'aria-label="{about}' in part)
    address, body = re.search(r'href="([^"]*)"', frame)[1], frame.partition("<tbody>")[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    cells = [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]
    content = b64decode(address.partition("base64,")[2]).decode("utf-8-sig")
    return cells, list(csv.reader(io.StringIO(content)))


def test_the_table_of_bags_has_all_of_them_with_given_and_predicted_share():
    story = told("table", False)
    shown, saved = table_of(page_on("table", False), "All bags")
    worst = (-story.scores.total_variation).argsort(kind="stable")
    assert [row[0] for row in shown] == [story.bag_names[bag] for bag in worst]
    first = worst[0]
    given, predicted = story.proportions[first, 1], story.scores.predicted[first, 1]
    assert shown[0][3:] == [f"{100 * given:.1f}\u00a0%", f"{100 * predicted:.1f}\u00a0%"]
    assert saved[0] == ["Bag", "Size", "Error", "Given no", "Predicted no", "Given yes", "Predicted yes"]
    assert [float(row[2]) for row in saved[1:]] == story.scores.total_variation[worst].tolist()


def test_held_out_bags_are_in_the_table_too():
    story = told("three classes", False)
    shown, saved = table_of(page_on("three classes", False), "All bags")
    assert sorted({row[1] for row in shown}) == ["held out", "training"]
    assert len(saved) == 1 + 2 * len(story.bag_names)


def test_effects_have_a_direction():
    part = section(page_on("table", False), "importance")
    assert "In which direction: mean probability of “yes”" in part
    effect = next(effect for effect in told("table", False).effects)
    assert effect.change(1) > 0
    assert f"rises: {100 * effect.predicted[0, 1]:.1f}\u00a0% at {effect.names[0]}" in part


def test_shares_by_group_are_shown_if_they_are_given():
    shares = GroupSharesDisplay.prepare({"group": ["young", "old"], "class": ["yes"] * 2, "share": [0.25, 0.5]})
    page = render(replace(told("table", False), shares=shares))
    shown, _ = table_of(page, "Shares of classes by group")
    assert shown == [["young", "yes", "25.0\u00a0%", "", ""], ["old", "yes", "50.0\u00a0%", "", ""]]
    assert "<title>old: yes 50.0 %</title>" in section(page, "groups")


def test_every_mark_of_a_chart_has_a_text():
    story, page = told("table", False), page_on("table", False)
    chart = page[page.index('id="given-1-bags"') :].partition("</svg>")[0]
    titles = re.findall(r"<title>(.*?)</title>", chart)
    assert len(titles) == len(story.bag_names) + 5
    assert titles[0].startswith(f"{story.bag_names[0]}: given {100 * story.proportions[0, 1]:.1f} %")


def test_settings_that_differ_are_named():
    assert "<code>C = 0.5</code>" in section(page_on("table", False), "summary")


def test_held_out_bags_are_shown_next_to_the_others():
    page = page_on("three classes", False)
    assert "On held-out bags" in section(page, "summary")
    assert '<th scope="col">Held out</th>' in section(page, "bags")


def test_of_very_many_bags_the_worst_are_shown_and_all_are_in_the_csv(rng):
    n = MOST_ROWS + 50
    labels = np.arange(2 * n) % 2
    labels[:n] = 0
    bags = Bags.from_labels(rng.normal(size=(2 * n, 1)), labels, np.arange(2 * n) // 2)
    page = render(collect_content(MeanMap().fit_bags(bags), bags, title="many"))
    shown, saved = table_of(page, "All bags")
    assert (len(shown), len(saved)) == (MOST_ROWS, n + 1)
    assert f"{MOST_ROWS:,} of {n:,} are shown here, the CSV has all" in page
    assert "Every bag has the same size: 2." in page


@pytest.mark.slow
def test_accuracy_without_labels_is_promised_from_held_out_random_bags_only():
    instances = np.random.default_rng(1).normal(size=(1600, 2))
    labels, groups = (instances[:, 0] > 0).astype(int), np.arange(800) // 8
    bags = Bags.from_labels(instances[:800], labels[:800], groups)
    others = Bags.from_labels(instances[800:], labels[800:], groups)
    model = MeanMap().fit_bags(bags)
    told = section(render(collect_content(model, bags, title="", held_out=others)), "without-labels")
    assert "Accuracy, from held-out bags" in told
    assert "95 % interval" in told
    seen = section(render(collect_content(model, bags, title="")), "without-labels")
    assert "only the bags that the model was trained on" in seen
    assert "Accuracy, from" not in seen
    by_value = Bags.from_labels(instances[800:], labels[800:], np.argsort(np.argsort(instances[800:, 1])) // 8)
    refused = section(render(collect_content(model, bags, title="", held_out=by_value)), "without-labels")
    assert "Accuracy cannot be estimated because the bags are not random" in refused
    assert "Accuracy, from" not in refused


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_and_marks_have_the_contrast_that_wcag_asks_for(theme):
    style = page_on("table", False).partition("</style>")[0]
    themes = [
        dict(re.findall(r"--(\w+): (#\w{6});", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    colours = themes[0] | themes[theme]
    for text in ("ink", "soft", "blue"):
        for ground in ("card", "paper", "tint"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for mark in ("blue", "orange", "green", "edge"):
        assert contrast(colours[mark], colours["card"]) >= 3, mark


@cache
def random_boxes():
    """A model that was trained on random bags of eight and conformalized on others; and more bags, with labels."""
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(9600, 2))
    labels = np.where(instances[:, 0] + 0.5 * rng.normal(size=9600) > 0, "yes", "no")
    parts = [Bags.from_labels(instances[i::3], labels[i::3], np.arange(3200) // 8) for i in range(3)]
    model = MeanMap().fit_bags(parts[0]).conformalize(parts[1])
    return model, parts[0], parts[2], labels[2::3]


def test_a_model_with_sets_reports_their_coverage_and_sizes():
    model, bags, others, labels = random_boxes()
    story = collect_content(model, bags, title="", held_out=others)
    probabilities = model.predict_proba(others)
    inside = model.sets_.contain(probabilities, 0.9)
    level = next(each for each in story.sets if each.level == 0.9)
    assert level.scores.mean_size == inside.sum(axis=1).mean()
    assert level.scores.share_single == (inside.sum(axis=1) == 1).mean()
    covered = inside[np.arange(len(labels)), np.searchsorted(model.classes_, labels)].mean()
    assert level.scores.coverage.low < covered < level.scores.coverage.high
    page = section(render(story), "sets")
    assert "Coverage of 90 % sets" in page
    shown, _ = table_of(page, "Prediction sets by level")
    assert [row[0] for row in shown] == ["80 %", "90 %", "95 %"]
    assert shown[1][1] == f"{100 * model.sets_.estimate_coverage(0.9)[0].value:.1f}\u00a0%"
    assert shown[1][3] == f"{100 * level.scores.coverage.value:.1f}\u00a0%"
    assert shown[1][-1] == f"{100 * level.scores.share_single:.1f}\u00a0%"


def test_without_held_out_bags_the_coverage_is_that_of_the_bags_that_the_sets_came_from():
    model, bags, _, _ = random_boxes()
    story = collect_content(model, bags, title="")
    assert [each.scores.coverage for each in story.sets] == [None] * 3
    assert "Coverage on these bags" not in section(render(story), "sets")
    assert story.calibration is None


def test_random_held_out_bags_draw_a_reliability_diagram_with_the_calibration_error():
    model, bags, others, labels = random_boxes()
    story = collect_content(model, bags, title="", held_out=others)
    probabilities = model.predict_proba(others)
    by_labels = label_scores(labels, probabilities, model.classes_)
    assert story.calibration.error.low <= by_labels.calibration_error.value <= story.calibration.error.high
    told = section(render(story), "without-labels")
    assert 'id="bag-calibration-groups"' in told
    assert f">{100 * story.calibration.error.value:.1f} %<" in told
    few = others.take_bags(range(15))
    said = section(render(collect_content(model, bags, title="", held_out=few)), "without-labels")
    assert "hold out at least 20 random bags" in said
    assert 'id="bag-calibration' not in said


def test_only_an_estimate_beyond_the_shares_is_impossible_and_not_one_that_is_rounded():
    shares = np.array([[0.25, 0.75]])
    found = GroupShares(
        groups=("young",),
        outcomes=("no", "yes"),
        sizes=np.array([8.0]),
        shares=shares,
        covariance=1e-4 * np.eye(2).reshape(1, 2, 1, 2),
        lowest=shares * 0 - 1e-12,
        highest=shares * 0 + 1 + 1e-12,
        goodman=np.array([[-0.4, 1.4]]),
    )
    shown = [[cell.text for cell in row] for row in shares_table(found).rows()]
    assert [row[6:] for row in shown] == [["0.0 %", "100 %", "impossible"]] * 2
