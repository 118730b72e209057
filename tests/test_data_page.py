"""The page on data says what happens: its files are written, its examples run one after the other."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PAGE = Path(__file__).parent.parent / "docs" / "data.md"
BLOCKS = re.findall(r"^```(csv|python) ?(.*?)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page speaks of: its tables, and photos of two clinics."""
    monkeypatch.chdir(tmp_path)
    for kind, name, text in BLOCKS:
        if kind == "csv":
            Path(name).write_text(text)
    for name in ("clinic_a/001", "clinic_a/002", "clinic_b/001"):
        path = Path("photos", f"{name}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(path)
    return tmp_path


def test_the_examples_run_and_give_what_the_page_says(folder):
    said = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, _, text in BLOCKS:
            if kind == "python":
                exec(text, said)
    assert said["bags"].features == ("age", "city=Oslo", "city=Rome", "since")
    assert said["bags"].encoder.left_out == {}


def test_the_leak_that_the_page_shows_is_refused(folder):
    said = {}
    leak = next(text for kind, _, text in BLOCKS if "voted_trump" in text)
    exec("from llpgan import Bags\nfrom llpgan.tables import Columns\n" + leak, said)
    with pytest.raises(ValueError, match="column 'voted_trump' looks like the label"):
        said["Bags"].from_tables(said["people"], said["results"], bag="state")
