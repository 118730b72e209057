"""``--html``: pages of inspect, evaluate and compare."""

import re

import pytest

from llpgan.cli import main
from tests.cli.test_main import files  # noqa: F401, a fixture

TABLES = ["people.csv", "--bag", "state", "--proportions", "results.csv"]


def sections(path):
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http:" not in page
    assert "https:" not in page
    found = re.findall(r'<section id="([\w-]+)">', page)
    assert found == re.findall(r'<li><a href="#([\w-]+)">', page)
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_each_command_writes_its_page_and_replaces_it_only_with_overwrite(tmp_path, capsys):
    inspect = ["inspect", *TABLES, "--label", "vote", "--html", "inspect.html"]
    assert main.main(inspect) == 0
    assert sections(tmp_path / "inspect.html")[:2] == ["summary", "data"]
    assert "Proportions: from results.csv." in (tmp_path / "inspect.html").read_text()
    assert main.main(inspect) == 1
    assert "inspect.html exists" in capsys.readouterr().err
    assert main.main([*inspect, "--overwrite"]) == 0

    compare = ["compare", *TABLES, "--label", "vote", "--methods", "MeanMap", "--cv", "2"]
    assert main.main([*compare, "--report", "false", "--html", "compare.html"]) == 0
    assert sections(tmp_path / "compare.html")[:2] == ["summary", "methods"]

    evaluate = ["evaluate", "comparison/model", *TABLES, "--label", "vote"]
    assert main.main([*evaluate, "--html", "evaluate.html"]) == 0
    assert sections(tmp_path / "evaluate.html") == ["summary", "bags", "without-labels", "labels"]
    assert main.main([*evaluate[:3], "--label", "vote", "--html", "labels.html"]) == 0
    assert sections(tmp_path / "labels.html") == ["summary", "labels"]


@pytest.mark.usefixtures("files")
def test_a_page_never_replaces_an_input(capsys):
    assert main.main(["inspect", *TABLES, "--label", "vote", "--html", "results.csv", "--overwrite"]) == 1
    assert "results.csv is an input" in capsys.readouterr().err
