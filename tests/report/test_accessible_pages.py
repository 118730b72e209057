"""All pages in a browser: with a keyboard, without scripts, in both colour schemes, and checked by axe-core.

axe-core is a package of npm. Its file ``axe.min.js`` is looked for where the environment variable LLPGAN_AXE says,
and in ``node_modules``; without it, only its test is skipped.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation import inspect_bags, judge_without_labels, label_scores, learning_curve
from llpgan.evaluation.compare import compare
from llpgan.report import InspectionPage, comparison_page, evaluation_page
from tests.report.conftest import drawn, page_on
from tests.report.test_page import nasty_page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
VIOLATIONS = "axe.run().then(found => found.violations.map(v => v.id + ': ' + v.nodes[0].html))"
FOCUSED = "document.activeElement.textContent.trim()"
TABLE = "[...document.querySelectorAll('.data-table')].find(t => t.textContent.includes('All bags'))"
ROWS = (
    f"[...({TABLE}).querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent.trim())"
)
REPORTS = ["table", "three classes", "images", "nasty names"]
COMMANDS = ["inspect", "evaluate", "compare"]


@cache
def labelled_bags():
    instances, labels, groups = drawn(2, 12, (3,), ["no", "yes"])
    return Bags.from_labels(instances, labels, groups, features=["age", "income", "city"]), labels


def inspection():
    bags, _ = labelled_bags()
    curve = learning_curve(bags, MeanMap(), random_state=0)
    return InspectionPage("people.csv", "", bags, inspect_bags(bags), ["Bags differ."], curve).render()


def evaluation():
    bags, labels = labelled_bags()
    model = MeanMap().fit_bags(bags)
    found = model.predict_proba(bags)
    by_label, verdict = label_scores(labels, found, model.classes_), judge_without_labels(bags, found)
    figures = {"accuracy": by_label.accuracy, "bag error": verdict.bags.mean_total_variation}
    return evaluation_page("people.csv", "MeanMap", ["no", "yes"], figures, labels=by_label, verdict=verdict)


def comparison():
    return comparison_page("people.csv", "", compare(labelled_bags()[0], ["MeanMap", "InvCal"], cv=2))


@cache
def text_of(page):
    made = {"inspect": inspection, "evaluate": evaluation, "compare": comparison, "nasty names": nasty_page}
    return made[page]() if page in made else page_on(page, True)


@pytest.fixture
def written(tmp_path):
    def write(page):
        path = tmp_path / "page.html"
        path.write_text(text_of(page), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def axe():
    places = [os.environ.get("LLPGAN_AXE"), ROOT / "node_modules" / "axe-core" / "axe.min.js"]
    found = [Path(place) for place in places if place and Path(place).is_file()]
    if not found:
        pytest.skip("axe-core is not installed: npm install axe-core, or set LLPGAN_AXE to its axe.min.js")
    return found[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", [*REPORTS, *COMMANDS])
def test_axe_finds_no_violation(page, scheme, browser, written, axe):
    browser.open(written(page), width=390 if scheme == "dark" else 1600, scheme=scheme)
    browser.run("for (const details of document.querySelectorAll('details')) details.open = true")
    browser.run(axe + "; true")
    assert browser.run(VIOLATIONS) == []


@pytest.mark.parametrize("width", [390, 800, 1600])
@pytest.mark.parametrize("page", COMMANDS)
def test_pages_of_commands_fit_and_ask_for_nothing(page, width, browser, written):
    browser.open(written(page), width=width)
    assert browser.said == []
    assert browser.asked_for == []
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(
        "[...document.querySelectorAll('svg, img')].every(e => e.getBoundingClientRect().right <= innerWidth)"
    )


@pytest.mark.parametrize("page", [*REPORTS, *COMMANDS])
def test_without_scripts_all_is_there(page, browser, written):
    browser.open(written(page), scripts=False)
    assert browser.said == []
    assert browser.asked_for == []
    assert browser.run("document.querySelectorAll('section').length") == text_of(page).count("<section id=")
    assert browser.run(
        "[...document.querySelectorAll('section')].every(s => s.checkVisibility() && s.offsetHeight > 40)"
    )
    assert browser.run("document.querySelectorAll('tbody tr[hidden], th button, input, .tip').length") == 0
    assert browser.run("[...document.querySelectorAll('.mark')].every(m => m.querySelector('title'))")


def tab_to(browser, condition, most=120):
    """Press the tabulator key until the focused element is as told."""
    for _ in range(most):
        browser.press("Tab")
        if browser.run(condition):
            return
    raise AssertionError(f"the keyboard does not reach {condition}")


def test_a_keyboard_sorts_searches_and_opens(browser, written):
    browser.open(written("table"))
    first = browser.run(ROWS)
    assert len(first) == 12
    inside = f"({TABLE}).contains(document.activeElement)"
    browser.press("Tab")
    assert browser.run("document.activeElement.tagName") == "A"  # the menu comes first, and it can be seen
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
    tab_to(browser, f"{inside} && document.activeElement.type === 'search'")
    browser.press(first[3])
    assert first[3] in browser.run(ROWS)
    assert len(browser.run(ROWS)) < 12
    browser.run("document.activeElement.select()")
    browser.press(" ")
    assert browser.run(ROWS) == first
    tab_to(browser, f"{inside} && {FOCUSED} === 'Bag'")
    browser.press("Enter")
    assert browser.run("document.activeElement.closest('th').ariaSort") == "ascending"
    upwards = browser.run(ROWS)
    browser.press("Space")
    assert browser.run("document.activeElement.closest('th').ariaSort") == "descending"
    assert browser.run(ROWS) == upwards[::-1]
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    tab_to(browser, "document.activeElement.tagName === 'SUMMARY'")
    browser.press("Enter")
    assert browser.run("document.activeElement.parentElement.open")


def test_the_table_of_bags_is_downloaded_as_csv(browser, written, tmp_path):
    browser.open(written("table"))
    browser.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    tab_to(browser, f"document.activeElement === ({TABLE}).querySelector('a[download]')")
    browser.press("Enter")
    browser.wait_for("Page.downloadProgress", state="completed")
    lines = (tmp_path / "bags.csv").read_text(encoding="utf-8-sig").strip().splitlines()
    assert len(lines) == 13
    assert lines[0].lower().startswith("bag,")
    assert browser.asked_for == []


def test_a_page_that_asks_or_fails_would_be_caught(browser, tmp_path):
    asking = tmp_path / "asking.html"
    asking.write_text('<img src="http://example.invalid/x.png"><script>throw new Error("wrong")</script>')
    browser.open(asking)
    assert browser.asked_for == ["http://example.invalid/x.png"]
    assert any("wrong" in str(event) for event in browser.said)
