"""Every snippet and command of the README and of docs/ runs as it is printed, in order, one folder per page."""

import re
import shlex
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import sklearn
from PIL import Image

from llpgan.cli import main
from llpgan.data.datasets import PEOPLE, RESULTS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
FENCE = re.compile(r"^(?P<before>.*)\n```(?P<kind>\w*) ?(?P<name>.*)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
HELD_OUT = ["Iowa", "Ohio", "Texas", "Utah", "Maine"]


def blocks(page):
    """Kind, name and text of each block that is to be run; text and equations are only shown."""
    for found in FENCE.finditer(page.read_text()):
        if not NOT_RUN.fullmatch(found["before"]) and found["kind"] not in ("text", "math"):
            yield found["kind"], found["name"], found["text"]


def commands(text):
    """The commands of a block, without comments, those over several lines as one."""
    for line in text.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def prepare(folder):
    """What the pages speak of: the demo's two tables, people of some states as a user's own, and a few images."""
    (folder / "demo").mkdir()
    for file in (PEOPLE, RESULTS):
        shutil.copyfile(file, folder / "demo" / file.name)
    people = pa.csv.read_csv(PEOPLE).drop_columns(["voted_trump"])
    some = people.take(np.random.default_rng(0).permutation(len(people))[:3000])
    held_out = np.isin(some["state"].to_numpy(), HELD_OUT)
    pa.csv.write_csv(some.filter(~held_out), folder / "people.csv")
    pa.csv.write_csv(some.filter(held_out), folder / "held_out.csv")
    shutil.copyfile(RESULTS, folder / "results.csv")
    for name in ("clinic_a/001", "clinic_a/002", "clinic_b/001"):
        path = folder / "photos" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs_as_it_is_printed(page, quick_parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    names = {"__name__": "__main__"}
    with sklearn.config_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, name, text in blocks(page):
            if name:
                Path(name).write_text(text)
            elif kind == "python":
                exec(compile(text, f"{page.name}: {text.splitlines()[0]}", "exec"), names)
            else:
                assert kind in ("", "console"), f"{page.name}: a block of kind {kind!r} is neither run nor a file"
                for program, *words in commands(text):
                    assert program == "llpgan", f"{page.name}: {program} is not run; say why before the block"
                    assert main.main(words) == 0, f"{page.name}: llpgan {shlex.join(words)}"


def test_the_only_blocks_that_are_not_run_say_why():
    for page in PAGES:
        text = page.read_text()
        fences = text.count("\n```") // 2
        shown = sum(found["kind"] in ("text", "math") for found in FENCE.finditer(text))
        assert len(list(blocks(page))) + shown + len(NOT_RUN.findall(text)) == fences, page.name
