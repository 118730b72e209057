"""Inputs that are clear are read; others end in one line that names the file, the row or the option."""

import os
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from llpgan import AutoLLP, BagBoosting, Bags, MarginalLogistic, MeanMap, load, save
from llpgan.cli import main
from llpgan.evaluation.calibrate import temperature_calibrator
from llpgan.methods.trees import read_trees, tree_scores
from llpgan.tables import open_rows, read_table
from llpgan.utils.files import lock_for_writing, refuse_same_outputs

PEOPLE = {"age": [20, 60, 44, 31], "state": ["Ohio", "Iowa", "Ohio", "Iowa"]}
SHARES = {"state": ["Iowa", "Ohio"], "no": [0.2, 0.5], "yes": [0.8, 0.5]}
EXPECTED = [[0.2, 0.8], [0.5, 0.5]]


@pytest.fixture
def trees(rng):
    X = rng.normal(size=(300, 3))
    return BagBoosting(max_rounds=3, n_models=2, random_state=0, bag_shift="covariate").fit(
        X, (X[:, 0] > 0).astype(int), groups=np.arange(300) // 10
    )


# ---- outputs and processes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["s.csv", "./s.csv", "link.csv", "hard.csv"])
def test_two_outputs_are_never_one_file(other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("")
    (tmp_path / "link.csv").symlink_to("s.csv")
    os.link("s.csv", "hard.csv")
    with pytest.raises(ValueError, match=r"are the same file \(out\) \(differences\)"):
        refuse_same_outputs({"out": "s.csv", "differences": other, "html": None})
    refuse_same_outputs({"out": "s.csv", "differences": "t.csv", "html": None})


@pytest.mark.parametrize(
    "words",
    [
        ["shares", "model", "people.csv", "--by", "a", "--out", "s.csv", "--differences", "s.csv"],
        ["evaluate", "model", "people.csv", "--label", "a", "--out", "e.json", "--html", "./e.json"],
        ["inspect", "people.csv", "--out", "e.json", "--html", "e.json"],
        ["compare", "people.csv", "--out", "c", "--html", "c/comparison.md"],
    ],
    ids=lambda words: words[0],
)
def test_commands_refuse_outputs_that_are_one_file_before_they_start(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(words) == 1
    assert "are the same file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder in which nothing can be made")  # noqa: PTH112
def test_a_lock_where_no_file_can_be_made_is_an_error():
    from pathlib import Path

    with pytest.raises(OSError, match=r"proc|No such file"), lock_for_writing(Path("/proc/model")):
        pass


def test_weights_that_would_overflow_are_refused():
    with pytest.raises(ValueError, match=r"weights must be at most 1e\+38, but row 1 has 1e\+308: divide all"):
        Bags.from_labels([[1.0], [2.0]], [0, 1], weights=[1, 1e308])


TAMPERINGS = [
    ("left_child=", "left_child=0 "),
    (r"left_child=-?\d+", "left_child=0"),
    (r"left_child=-?\d+", "left_child=7"),
    (r"left_child=-?\d+", "left_child=-99"),
    ("num_cat=0", "num_cat=3"),
    ("leaf_value=", "leaf_value=nan "),
    ("threshold=", "threshold=1 2 3 "),
    (r"split_feature=\d+", "split_feature=-3"),
    ("is_linear=0", "is_linear=1"),
    ("Tree=0", "Twig=0"),
]


@pytest.mark.parametrize(("old", "new"), TAMPERINGS)
def test_a_tampered_tree_is_an_error_and_not_the_end_of_the_process(old, new, trees):
    text = trees.trees_[0][0]
    tampered = text.replace("Tree=", "Twig=") if old == "Tree=0" else re.sub(old, new, text, count=1)
    assert tampered != text
    with pytest.raises(ValueError, match="tree"):
        read_trees(tampered)


def test_our_reader_of_trees_adds_up_what_lightgbm_does(trees, rng):
    lightgbm = pytest.importorskip("lightgbm")
    rows = rng.normal(size=(1000, 3))
    for text in (text for model in trees.trees_ for text in model):
        expected = lightgbm.Booster(model_str=text).predict(rows, raw_score=True)
        np.testing.assert_array_equal(tree_scores(text, rows), expected)
    with pytest.raises(ValueError, match="a tree splits at feature"):
        tree_scores(trees.trees_[0][0], rows[:, :0])


def test_class_names_that_occur_twice_in_a_model_are_refused(tmp_path):
    from llpgan.persistence.model import FORMAT, MANIFEST
    from llpgan.utils.json_files import read_sealed, write_sealed

    save(MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], groups=[0, 1, 2, 3]), tmp_path / "model")
    path = tmp_path / "model" / MANIFEST
    content = read_sealed(path, FORMAT)
    write_sealed(path, content | {"classes": [0, 0]}, FORMAT)
    with pytest.raises(ValueError, match=r"class names must differ, but the classes are \[0, 0\]"):
        load(tmp_path / "model")


def test_trees_are_left_out_where_no_column_can_be_split():
    X, groups = np.zeros((60, 2)), np.arange(60) // 5
    X[0, 0] = 1
    shares = np.column_stack([1 - groups / 20, groups / 20])
    alone = BagBoosting(random_state=0).fit(X, shares, groups=groups)
    assert not alone.can_split_
    np.testing.assert_allclose(alone.predict_proba(X), np.tile(shares.mean(axis=0), (60, 1)), atol=0.01)
    assert [row["method"] for row in AutoLLP(random_state=0).fit(X, shares, groups=groups).tried_] == [
        "BagLogistic"
    ]


# ---- messages --------------------------------------------------------------------------------------------------


def test_a_separator_in_the_name_of_a_column_is_none(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;c;d,e\n1,2\n3,4\n")
    assert read_table(tmp_path / "a.csv").column_names == ["a;b;c;d", "e"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bags.from_arrays([[1.0]], ["a"]), "nothing is known of the bags: give their proportions, counts"),
        (
            lambda: Bags.from_arrays([[1.0]], ["a"], {"a": [np.nan, 1]}),
            r"\(partial\), or \(within\) if the others",
        ),
        (
            lambda: Bags.from_labels([[1.0], [2.0]], [0, 1]).add_labels([0], [1], weight="1"),
            "weight must be a number above 0, got '1'",
        ),
        (
            lambda: Bags.from_tables(PEOPLE, pd.Series([1.0], name="no"), bag="state"),
            "one row per bag and one column per class, not a single column",
        ),
        (lambda: MarginalLogistic().predict(PEOPLE), "is not fitted yet"),
    ],
)
def test_the_message_says_what_is_wrong(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fti", "people.csv"], r"there is no command 'fti'; did you mean 'fit'\?"),
        (["fit", "--method.help"], "--method.help needs the name of a method, such as --method.help DLLP"),
        (["fit", "a.csv", "--config", "c.yaml"], r"c\.yaml is not YAML: .*python/object"),
    ],
)
def test_the_command_line_says_what_is_wrong(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("bag: !!python/object/apply:os.getcwd []\n")
    assert main.main(words) in (1, 2)
    assert re.search(message, capsys.readouterr().err, re.DOTALL)


def test_a_deleted_working_folder_is_named(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert main.main(["predict", "model", "people.csv"]) == 1
    finally:
        os.chdir(tmp_path)
    assert "the working folder does not exist any more" in capsys.readouterr().err


# ---- what is clear is read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shares",
    [
        {"no": ["20 %", "50 %"], "yes": ["80 %", "50 %"]},
        {"no": ["20,0 %", "50,0 %"], "yes": ["80,0 %", "50,0 %"]},
        {"no": [20, 50], "yes": [80, 50]},
    ],
    ids=["percent", "decimal comma", "0 to 100"],
)
@pytest.mark.filterwarnings("ignore:.*read as percentages")
def test_percentages_are_shares(shares):
    bags = Bags.from_tables(PEOPLE, {"state": ["Iowa", "Ohio"]} | shares, bag="state")
    np.testing.assert_allclose(bags.proportions, EXPECTED)


def test_a_table_with_one_row_per_bag_and_class_is_offered_and_read(tmp_path):
    long = {
        "state": ["Ohio", "Iowa", "Iowa", "Ohio"],
        "vote": ["no", "yes", "no", "yes"],
        "p": [0.5, 0.8, 0.2, 0.5],
    }
    with pytest.raises(ValueError, match=r"one row for each bag and class: .* such as vote,p \(long\)"):
        Bags.from_tables(PEOPLE, long, bag="state")
    bags = Bags.from_tables(PEOPLE, long, bag="state", long=["vote", "p"])
    np.testing.assert_allclose(bags.proportions, EXPECTED)
    assert bags.classes.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="bag 'Iowa' has more than one row of class 'no'"):
        Bags.from_tables(PEOPLE, long | {"vote": ["no", "no", "no", "yes"]}, bag="state", long=["vote", "p"])
    counts = {name: values[:3] for name, values in long.items()} | {"n": [5, 8, 2]}
    counts.pop("p")
    bags = Bags.from_tables(PEOPLE, counts=counts, bag="state", long=["vote", "n"])
    np.testing.assert_allclose(bags.proportions, [[0.2, 0.8], [1, 0]])


def test_a_single_share_has_a_complement():
    with pytest.warns(UserWarning, match="has the share of one class, 'yes'; the others are called 'not yes'"):
        bags = Bags.from_tables(PEOPLE, {"state": ["Iowa", "Ohio"], "yes": [0.8, 0.5]}, bag="state")
    assert bags.classes.tolist() == ["not yes", "yes"]  # so that a label of 1 means yes
    np.testing.assert_allclose(bags.proportions, [[0.2, 0.8], [0.5, 0.5]])


def test_a_single_column_of_no_shares_is_refused():
    with pytest.raises(ValueError, match="'yes' is the only class, and has the value 80, which is no share"):
        Bags.from_tables(PEOPLE, {"state": ["Iowa", "Ohio"], "yes": [80, 50]}, bag="state")
    with pytest.warns(UserWarning, match="the share of one class"):
        bags = Bags.from_tables(PEOPLE, {"state": ["Iowa", "Ohio"], "yes": ["80 %", "50 %"]}, bag="state")
    np.testing.assert_allclose(bags.proportions[:, 1], [0.8, 0.5])


@pytest.mark.parametrize("total", ["total", "N", "Total votes"])
def test_counts_of_one_class_beside_a_total_have_a_complement(total):
    """Not two classes, of which one would be the total."""
    counts = {"state": ["Iowa", "Ohio"], "yes": [4, 1], total: [5, 2]}
    with pytest.warns(UserWarning, match=f"'{total}' is read as the count of all; those that are not 'yes' are"):
        bags = Bags.from_tables(PEOPLE, counts=counts, bag="state")
    assert bags.classes.tolist() == ["not yes", "yes"]
    np.testing.assert_allclose(bags.proportions, [[0.2, 0.8], [0.5, 0.5]])
    with pytest.warns(UserWarning, match="are called 'no'"):
        named = Bags.from_tables(PEOPLE, counts=counts, bag="state", classes=["no", "yes"])
    np.testing.assert_allclose(named.proportions, bags.proportions)


def test_numbers_of_rows_are_no_class():
    sizes = dict(Counter(PEOPLE["state"]))
    counts = {"state": [*sizes], "yes": [1, 1], "residents": [*sizes.values()]}
    with pytest.raises(
        ValueError, match="column 'residents' is the number of rows in every bag, so it is not a class"
    ):
        Bags.from_tables(PEOPLE, counts=counts, bag="state")


def test_tables_of_other_formats_are_read(tmp_path):
    frame = pd.DataFrame(PEOPLE)
    frame.to_feather(tmp_path / "a.feather")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_csv(tmp_path / "a.tab", sep="\t", index=False)
    for name in ("a.feather", "a.jsonl", "a.tab"):
        assert open_rows(tmp_path / name).table.to_pydict() == PEOPLE, name


def test_a_table_that_must_be_converted_comes_with_the_command(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"is a spreadsheet: save it as CSV, or run python -c 'import pandas; "):
        read_table(tmp_path / "a.xlsx")
    for encoding, name in (("latin-1", "LATIN1"), ("utf-16", "UTF-16")):
        (tmp_path / "b.csv").write_bytes("größe,b\n1,2\n".encode(encoding))
        with pytest.raises(ValueError, match=f"convert it: iconv -f {name} -t UTF-8 .*b.csv > .*b_utf8.csv"):
            read_table(tmp_path / "b.csv")


def test_predictions_without_a_number_do_not_advise_a_smaller_learning_rate(rng):
    model = MeanMap().fit(rng.normal(size=(40, 2)), np.arange(40) > 17, groups=np.arange(40) // 4)
    model.model_.weights[:] = np.nan
    with pytest.raises(ValueError, match="train the model again") as error:
        model.predict([[0.0, 0.0]])
    assert "learning_rate" not in str(error.value)


def test_a_damaged_correction_predicts_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(640, 2))
    model = MeanMap().fit(X, (X[:, 0] > 0).astype(int), groups=np.arange(640) // 16)
    model.calibrator_ = replace(temperature_calibrator(1.0, 2), slopes=np.array([np.nan, 1.0]))
    model.largest_pixel_ = "NaN"  # of a model that somebody has changed
    with pytest.raises(ValueError, match=r"MeanMap gives row 0 no probabilities, but \[nan, nan\]"):
        model.predict_proba(X)
