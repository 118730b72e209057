"""The page in a real browser: it shows everything, and asks for nothing."""

import json
import re
import shutil
import subprocess

import pytest

from tests.report.conftest import page_on
from tests.report.test_page import SECTIONS, nasty_page

# A page around the page, as wide as a telephone: what is inside runs no script but its own, so this measures it,
# and does with its tables what a reader would do.
FRAME = """<!doctype html><iframe src="report.html" width="390" height="800"></iframe><pre></pre><script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument
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
  document.querySelector("pre").textContent = JSON.stringify({
    seen: seen.map(s => s.id), sorted, found, all, again: rows().length,
    tip: [tip.hidden, tip.textContent, mark.dataset.tip],
    download: frame.querySelector("a[download]").download,
    lost: [...page.querySelectorAll("th button, summary, a, input, .scroll")].filter(e => e.tabIndex < 0).length,
    window: page.documentElement.clientWidth,
    body: Math.max(page.body.scrollWidth, page.documentElement.scrollWidth),
    widest: Math.max(...[...page.querySelectorAll("section, svg, img")].map(e => e.getBoundingClientRect().right)),
  })
}
</script>"""


def chromium(address, tmp_path):
    """The page as the browser has it in the end, what it said on its console, and all addresses it asked for.

    The browser asks for some of its own accord: those have no origin. No name resolves, so nothing leaves.
    """
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("there is no chromium on this machine")
    log = tmp_path / "net.json"
    flags = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
        *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"),
        *("--v=0", "--virtual-time-budget=2000", "--dump-dom"),
        *(f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}"),
    ]
    done = subprocess.run([binary, *flags, address], capture_output=True, text=True, timeout=120, check=True)
    requests = re.findall(r'"initiator":"([^"]*)".*?"url":"([^"]*)"', log.read_text(errors="replace"))
    asked = {address for origin, address in requests if origin != "not an origin"}
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line], asked


def check_the_table_of_bags(found):
    """It is sorted by a click, text upwards and numbers downwards at first, and searched."""
    order, errors = found["sorted"]["Error"]
    assert order == "ascending"  # after two clicks
    assert errors == sorted(errors, key=lambda error: float(error.removesuffix(" %")))
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
def test_the_page_in_a_browser(page, tmp_path):
    report = tmp_path / "report.html"
    report.write_text(nasty_page() if page == "nasty names" else page_on(page, True), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME, encoding="utf-8")
    dom, said, asked = chromium((tmp_path / "frame.html").as_uri(), tmp_path)
    found = json.loads(re.search(r"<pre>(.*?)</pre>", dom, re.DOTALL)[1])
    assert said == []
    assert asked == set()
    assert found["seen"] == SECTIONS["table" if page == "nasty names" else page]
    check_the_table_of_bags(found)
    hidden, text, wanted = found["tip"]
    assert not hidden
    assert text == wanted != ""
    assert found["lost"] == 0
    assert found["window"] <= 390
    assert found["body"] <= found["window"]
    assert found["widest"] <= found["window"]


@pytest.mark.slow
def test_a_page_that_asked_would_be_caught(tmp_path):
    asking = tmp_path / "asking.html"
    asking.write_text('<img src="http://example.invalid/x.png"><script>console.error("wrong")</script>')
    _, said, asked = chromium(asking.as_uri(), tmp_path)
    assert any("wrong" in line for line in said)
    assert asked == {"http://example.invalid/x.png"}
