"""llpgan shares: a table of shares by group on the terminal and as CSV."""

import re

import numpy as np
import pyarrow.csv
import pytest

from llpgan.cli import main
from tests.cli.test_html_pages import sections
from tests.cli.test_main import FIT, files  # noqa: F401, a fixture

SHARES = ["shares", "model", "people.csv", "--bag", "state", "--proportions", "results.csv"]


@pytest.fixture
def model(files):  # noqa: F811
    main.main([*FIT, "--method", "MeanMap", "--report", "false"])


@pytest.mark.usefixtures("model")
def test_shares_are_shown_and_written(capsys):
    written = ["--out", "shares.csv", "--differences", "differences.csv"]
    assert main.main([*SHARES, "--by", "city", *written]) == 0
    said = capsys.readouterr().out
    assert "Oslo" in said
    assert "95 %" in said
    table = pyarrow.csv.read_csv("shares.csv").to_pydict()
    assert table["city"] == ["Oslo", "Oslo", "Rome", "Rome"]
    assert table["class"] == ["no", "yes", "no", "yes"]
    assert all(
        low <= share <= high for low, share, high in zip(table["low"], table["share"], table["high"], strict=True)
    )
    apart = pyarrow.csv.read_csv("differences.csv").to_pydict()
    assert (apart["group"], apart["minus"], apart["class"]) == (["Oslo"] * 2, ["Rome"] * 2, ["no", "yes"])
    assert apart["difference"][1] == pytest.approx(table["share"][1] - table["share"][3])


@pytest.mark.filterwarnings("default:shares are those of the predictions")
@pytest.mark.usefixtures("model")
def test_a_page_shows_shares_and_differences(tmp_path):
    assert main.main([*SHARES, "--by", "city", "--html", "shares.html"]) == 0
    assert sections(tmp_path / "shares.html") == ["summary", "groups", "differences"]
    page = (tmp_path / "shares.html").read_text()
    assert "2 groups by city, of 200 rows; MeanMap." in " ".join(page.split())
    assert "Predictions are matched to the proportions of results.csv." in page
    assert "Certain from" in page
    assert main.main([*SHARES[:3], "--by", "city", "--html", "plain.html"]) == 0
    plain = (tmp_path / "plain.html").read_text()
    assert "These shares have no intervals" in plain
    assert "Certain from" not in plain


@pytest.mark.usefixtures("files")
def test_fit_shows_shares_of_groups_in_its_report(tmp_path, capsys):
    fit = [*FIT, "--method", "MeanMap"]
    assert main.main([*fit, "--by", "city"]) == 0
    assert "groups" in sections(tmp_path / "model" / "report.html")
    wrong = {
        ("--by", "town"): "no column 'town'",
        ("--by", "city", "--report", "false"): "groups are named (--by), but there is no report",
        ("--by", "city", "--proportions_sd", "0.1"): "shares of groups (--by) need all shares",
    }
    for options, said in wrong.items():
        assert main.main([*fit, *options, "--out", "other"]) == 1
        assert said in capsys.readouterr().err
        assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("model")
def test_several_columns_and_a_class_left_out():
    assert main.main([*SHARES, "--by", "city,state", "--out", "shares.csv"]) == 0
    assert pyarrow.csv.read_csv("shares.csv").column_names[:2] == ["city", "state"]
    assert main.main([*SHARES, "--by", "city", "--exclude", "no", "--out", "some.csv"]) == 0
    assert pyarrow.csv.read_csv("some.csv")["share"].to_pylist() == [1.0, 1.0]


@pytest.mark.filterwarnings("default:shares are those of the predictions")
@pytest.mark.usefixtures("model")
def test_without_proportions_there_are_no_intervals_and_it_says_so(capsys):
    assert main.main(["shares", "model", "people.csv", "--by", "city"]) == 0
    said = capsys.readouterr()
    assert "none" in said.out
    assert "without intervals" in said.err


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "with a model the columns that define them (--by)"),
        (["--by", "town"], "has no column 'town'"),
        (["--by", "city", "--exclude", "maybe"], "there is no outcome 'maybe'"),
        (["--by", "city", "--out", "shares.json"], "shares.json: the file of (--out) must end in .csv"),
        (["--by", "city", "--html", "page.csv"], "page.csv: the file of (--html) must end in .html"),
        (["--by", "city", "--out", "people.csv", "--overwrite"], "is an input"),
        (["--by", "city", "--out", "a.csv", "--differences", "a.csv"], "a.csv"),
    ],
)
def test_mistakes_are_named_as_the_user_types_them(options, message, capsys):
    assert main.main([*SHARES, *options]) == 1
    assert message in capsys.readouterr().err


def precincts(folder):
    rng = np.random.default_rng(0)
    a = rng.integers(50, 900, 24)
    b = rng.integers(50, 900, 24)
    dem = rng.binomial(a, 0.4) + rng.binomial(b, 0.1)
    rep = rng.binomial(a - dem // 2, 0.1) + rng.binomial(b, 0.5)
    lines = ["county\tprecinct\tblack\twhite\tdem\trep"]
    lines += [f"{'xy'[i // 12]}\t{i % 12}\t{a[i]}\t{b[i]}\t{dem[i]}\t{rep[i]}" for i in range(24)]
    (folder / "precincts.tab").write_text("\n".join(lines) + "\n")


COUNTS = ["shares", "precincts.tab", "--groups", "black,white", "--outcomes", "dem,rep", "--unit", "precinct"]
COUNTS += ["--remainder", "abstained"]


def test_counts_give_a_table_files_and_a_page_without_a_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    precincts(tmp_path)
    written = ["--out", "s.csv", "--differences", "d.csv", "--html", "page.html"]
    assert main.main([*COUNTS, "--strata", "county", "--exclude", "abstained", *written]) == 0
    said = capsys.readouterr()
    assert "dem" in said.out
    assert "rep" not in said.out  # of two complementary outcomes one is shown
    for name in ("s.csv", "d.csv", "page.html"):
        assert f"saved {name}" in said.err
    table = pyarrow.csv.read_csv("s.csv").to_pydict()
    assert table["county"] == [""] * 4 + ["x"] * 4 + ["y"] * 4
    assert "vanishes_at_r" in pyarrow.csv.read_csv("d.csv").column_names
    names = ["summary", "shares", "differences", "sensitivity", "strata", "bounds", "method"]
    assert sections(tmp_path / "page.html") == names


def test_charts_leave_out_words_with_which_all_names_begin(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    precincts(tmp_path)
    text = (tmp_path / "precincts.tab").read_text()
    (tmp_path / "precincts.tab").write_text(
        text.replace("black", "adults_black", 1).replace("white", "adults_white", 1)
    )
    options = [word.replace("black,white", "adults_black,adults_white") for word in COUNTS]
    assert main.main([*options, "--strata", "county", "--html", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    charts, tables = (re.findall(f">{name}</t[dhe]", page) for name in ("white", "adults_white"))
    assert {end[-1] for end in charts} == {"e"}
    assert {end[-1] for end in tables} <= {"d", "h"}
    assert charts
    assert tables


def test_long_names_are_not_cut(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    precincts(tmp_path)
    text = (tmp_path / "precincts.tab").read_text()
    name = "adults who are black or african american alone or in combination, 18 years and over"
    (tmp_path / "precincts.tab").write_text(text.replace("black", name, 1))
    long = [word.replace("black", f'"{name}"') for word in COUNTS]
    assert main.main([*long, "--strata", "county"]) == 0
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "county"], "(--by) cannot be used with counts"),
        (["--strata", "state"], "has no column 'state'"),
        (
            ["--strata", "county", "--exclude", "abstaind"],
            "no outcome 'abstaind' (--exclude); there are 'dem', 'rep', 'abstained'. Did",
        ),
        (
            ["--strata", "county", "--exclude", "dem,rep,abstained"],
            "all outcomes are left out (--exclude): at least one must remain",
        ),
        (["--remainder", "dem"], "'dem' is no name for one more outcome: choose another (--remainder)"),
        (["--remainder", ""], "--remainder is an empty text: a name would be right"),
        (["--outcomes", "dem,dem"], "--outcomes names a column twice"),
        (["people.csv"], "there is one table, precincts.tab, and no model"),
    ],
)
def test_mistakes_with_counts_are_named(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    precincts(tmp_path)
    assert main.main([*COUNTS, *options]) == 1
    assert message in capsys.readouterr().err


def test_an_empty_list_of_names_is_a_usage_error(capsys):
    assert main.main(["shares", "precincts.tab", "--groups", ""]) == 2
    assert "--groups: names are expected between commas, not an empty text" in capsys.readouterr().err


@pytest.mark.filterwarnings("default:shares are those of the predictions")
@pytest.mark.usefixtures("model")
def test_files_may_stand_after_options():
    assert main.main(["shares", "model", "--by", "city", "people.csv"]) == 0
