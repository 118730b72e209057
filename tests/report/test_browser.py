"""The page in a real browser: it shows everything, and asks for nothing."""

import pytest

from tests.report.conftest import page_on
from tests.report.test_page import SECTIONS, nasty_page

# Measures the page, and does with its tables what a reader would do.
READING = """(() => {
  const page = document
  const frame = [...page.querySelectorAll(".data-table")].find(f => f.textContent.includes("All bags"))
  const rows = () => [...frame.querySelectorAll("tbody tr")].filter(r => !r.hidden)
  const column = i => rows().map(r => r.cells[i].textContent)
  const button = name => [...frame.querySelectorAll("th button")].find(b => b.textContent === name)
  const sorted = {}
  for (const name of ["Bag", "Error", "Error"]) {
    button(name).click()
    const head = button(name).closest("th")
    sorted[name] = [head.getAttribute("aria-sort"), column(head.cellIndex)]
  }
  const search = frame.querySelector("input[type=search]")
  const status = frame.querySelector("[role=status]")
  const all = rows().length
  let found = null
  if (search) {
    search.value = column(0)[0].trim().split(" ")[0]
    search.dispatchEvent(new Event("input"))
    found = [column(0), status.textContent, search.labels[0].textContent.trim()]
    search.value = ""
    search.dispatchEvent(new Event("input"))
  }
  const mark = page.querySelector(".mark")
  mark.dispatchEvent(new Event("pointerover", {bubbles: true}))
  const tip = page.querySelector(".tip")
  const seen = [...page.querySelectorAll("section")].filter(s => s.checkVisibility() && s.offsetHeight > 40)
  return {
    seen: seen.map(s => s.id), sorted, found, all, again: rows().length,
    tip: [tip.hidden, tip.textContent, mark.dataset.tip],
    download: frame.querySelector("a[download]").download,
    lost: [...page.querySelectorAll("th button, summary, a, input, .scroll")].filter(e => e.tabIndex < 0).length,
    window: page.documentElement.clientWidth,
    body: Math.max(page.body.scrollWidth, page.documentElement.scrollWidth),
    widest: Math.max(...[...page.querySelectorAll("section, svg, img")].map(e => e.getBoundingClientRect().right)),
  }
})()"""


def check_the_table_of_bags(found):
    """It is sorted by a click, text upwards and numbers downwards at first, and searched."""
    order, errors = found["sorted"]["Error"]
    assert order == "ascending"  # after two clicks
    assert errors == sorted(errors, key=lambda error: float(error.removesuffix("\u00a0%")))
    assert errors[0] != errors[-1]
    order, names = found["sorted"]["Bag"]
    assert order == "ascending"
    if all(name.isdigit() for name in names):
        assert names == sorted(names, key=int)
    assert found["download"] == "bags.csv"
    if found["found"] is None:  # a short table needs no search
        assert found["all"] < 8
        return
    rows, status, label = found["found"]
    assert rows
    assert status == f"{len(rows)} of {found['all']} rows"
    assert label == "Search"
    assert found["again"] == found["all"] >= len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["table", "three classes", "images", "nasty names"])
def test_the_page_in_a_browser(page, tmp_path, browser):
    report = tmp_path / "report.html"
    report.write_text(nasty_page() if page == "nasty names" else page_on(page, True), encoding="utf-8")
    browser.open(report, width=390)  # as wide as a telephone
    found = browser.run(READING)
    assert browser.said == []
    assert browser.asked_for == []
    assert found["seen"] == SECTIONS["table" if page == "nasty names" else page]
    check_the_table_of_bags(found)
    hidden, text, wanted = found["tip"]
    assert not hidden
    assert text == wanted != ""
    assert found["lost"] == 0
    assert found["window"] <= 390
    assert found["body"] <= found["window"]
    assert found["widest"] <= found["window"]
