import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import llpgan
from llpgan.cli import main

pytestmark = pytest.mark.slow  # many seconds together


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working folder with a table of people and one of results; the votes follow from the age."""
    rng = np.random.default_rng(0)
    age, state = rng.normal(50, 10, 200).round(), rng.integers(8, size=200)
    age += 3 * state
    vote = np.where(age > 60, "yes", "no")
    people = {
        "state": [f"s{i}" for i in state],
        "age": age,
        "city": rng.choice(["Rome", "Oslo"], 200),
        "vote": vote,
    }
    pa.csv.write_csv(pa.table(people), tmp_path / "people.csv")
    share = [float((vote[state == i] == "yes").mean()) for i in range(8)]
    results = {"state": [f"s{i}" for i in range(8)], "no": [1 - p for p in share], "yes": share}
    pa.csv.write_csv(pa.table(results), tmp_path / "results.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = [
    "fit",
    "people.csv",
    "--bag",
    "state",
    "--proportions",
    "results.csv",
    "--label",
    "vote",
    "--method",
    "MeanMap",
]


def rows_of(path):
    return pa.csv.read_csv(path).to_pydict()


def test_from_files_to_predictions_and_scores(files, capsys):
    assert main.main(FIT) == 0
    assert sorted(path.name for path in (files / "model").iterdir()) == [
        "model.json",
        "model_card.md",
        "report.html",
        "weights.safetensors",
    ]
    assert main.main(["predict", "model", "people.csv", "--keep", "[state]"]) == 0
    predicted = rows_of("predictions.csv")
    assert list(predicted) == ["state", "prediction", "p_no", "p_yes"]
    assert predicted["state"] == rows_of("people.csv")["state"]
    right = np.mean(np.array(predicted["prediction"]) == np.array(rows_of("people.csv")["vote"]))
    assert right > 0.8
    capsys.readouterr()
    options = ["--label", "vote", "--bag", "state", "--proportions", "results.csv", "--out", "scores.json"]
    assert main.main(["evaluate", "model", "people.csv", *options]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"accuracy\s+│ {100 * right:.1f} %", said)
    assert "bag error" in said
    assert "predicted yes" in said
    assert '"accuracy"' in (files / "scores.json").read_text()


def test_python_and_the_command_line_predict_the_same(files):
    main.main(FIT)
    main.main(["predict", "model", "people.csv"])
    (files / "people.csv").rename(files / "elsewhere.csv")
    probabilities = llpgan.load("model").predict_proba("elsewhere.csv")
    np.testing.assert_array_equal(probabilities[:, 1], rows_of("predictions.csv")["p_yes"])


def test_columns_in_another_order_change_nothing_and_an_absent_one_is_named(files, capsys):
    main.main(FIT)
    table = pa.csv.read_csv("people.csv")
    pa.csv.write_csv(table.select(["city", "vote", "age", "state"]), "turned.csv")
    for name in ("people", "turned"):
        assert main.main(["predict", "model", f"{name}.csv", "--out", f"{name}.parquet"]) == 0
    assert pa.parquet.read_table("people.parquet") == pa.parquet.read_table("turned.parquet")
    pa.csv.write_csv(table.drop_columns(["age"]), "absent.csv")
    assert main.main(["predict", "model", "absent.csv"]) == 1
    assert "error: absent.csv has no column 'age', which the model was trained on" in capsys.readouterr().err


@pytest.mark.parametrize("keep", ["city,state", "[city, state]"])
def test_columns_are_kept_by_name(files, keep):
    main.main([*FIT, "--report", "false"])
    assert main.main(["predict", "model", "people.csv", "--keep", keep]) == 0
    assert list(rows_of("predictions.csv")) == ["city", "state", "prediction", "p_no", "p_yes"]


def test_a_column_with_a_comma_in_its_name_is_kept(files):
    main.main([*FIT, "--report", "false"])
    table = pa.csv.read_csv("people.csv")
    pa.csv.write_csv(table.append_column("name, first", table["city"]), "named.csv")
    assert main.main(["predict", "model", "named.csv", "--keep", "name, first"]) == 0
    assert rows_of("predictions.csv")["name, first"] == table["city"].to_pylist()


def test_settings_come_from_the_methods_signature(files):
    assert (
        main.main([*FIT[:-1], "DLLP", "--method.epochs", "3", "--random_state", "5", "--columns.drop", "city"])
        == 0
    )
    model = llpgan.load("model")
    assert (model.epochs, model.random_state) == (3, 5)
    assert len(model.history_) == 3
    assert model.encoder_.features == ("age",)


@pytest.mark.parametrize("own", ["0", "7"])
def test_a_random_state_of_the_methods_own_wins_over_the_seed(files, own):
    method = ["BagLogistic", "--method.n_resamples", "2", "--method.random_state", own]
    assert main.main([*FIT[:-1], *method, "--random_state", "5", "--report", "false"]) == 0
    assert llpgan.load("model").random_state == int(own)


def test_a_config_file_sets_options(files, capsys):
    with pytest.raises(SystemExit) as end:
        main.main([*FIT, "--method.C", "0.5", "--print_config"])
    assert end.value.code == 0
    (files / "config.yaml").write_text(capsys.readouterr().out)
    assert main.main(["fit", "--config", "config.yaml", "--out", "again"]) == 0
    assert llpgan.load("again").C == 0.5


@pytest.mark.slow
def test_the_same_command_gives_the_same_model(files):
    command = [*FIT[:-1], "DLLP", "--method.epochs", "2"]
    main.main([*command, "--out", "one"])
    main.main([*command, "--out", "two"])
    for name in ("weights.safetensors", "report.html"):
        assert (files / "one" / name).read_bytes() == (files / "two" / name).read_bytes()
    np.testing.assert_array_equal(
        llpgan.load("one").predict_proba("people.csv"), llpgan.load("two").predict_proba("people.csv")
    )


@pytest.mark.slow
def test_an_output_that_exists_is_kept_unless_overwrite(files, capsys):
    main.main(FIT)
    before = (files / "model" / "model.json").read_bytes()
    assert main.main([*FIT[:-1], "InvCal"]) == 1
    assert (
        "error: model exists: name another output, or allow it to be replaced (--overwrite)"
        in capsys.readouterr().err
    )
    assert (files / "model" / "model.json").read_bytes() == before
    assert main.main([*FIT[:-1], "InvCal", "--overwrite"]) == 0
    assert type(llpgan.load("model")).__name__ == "InvCal"
    assert main.main(["predict", "model", "people.csv", "--out", "results.csv"]) == 1
    assert "results.csv exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "nobody.csv", "--bag", "state"], "error: there is no file nobody.csv"),
        (FIT[:2], "error: say which column holds the bag of each row (--bag)"),
        (["fit", "people.csv", "--bag", "county", "--label", "vote"], "people.csv has no column 'county'"),
        ([*FIT, "--columns.drop", "[ages]"], "no column 'ages'; there are 'state', 'age'"),
        ([*FIT, "--out", "people.csv/model"], "people.csv is a file, not a folder"),
        (["predict", "nowhere", "people.csv"], "nowhere is not a saved model: there is no such folder"),
        (["evaluate", "nowhere", "people.csv", "--label", "vote"], "nowhere is not a saved model"),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(files, capsys, command, message):
    before = sorted(files.iterdir())
    assert main.main(command) == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"llpgan {command[0]}: error: ")
    assert message in said
    assert sorted(files.iterdir()) == before


def test_a_callers_way_with_warnings_is_left_as_it_was(files):
    before = warnings.showwarning, list(warnings.filters)
    for command in (FIT, FIT):  # the second fails: the model exists
        main.main(command)
        assert (warnings.showwarning, warnings.filters) == before


def test_debug_shows_the_traceback(files):
    with pytest.raises(FileNotFoundError, match=r"nobody\.csv"):
        main.main(["fit", "nobody.csv", "--bag", "state", "--debug"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["fit", "people.csv", "--bags", "state"], "there is no option --bags; did you mean --bag?"),
        (
            ["fit", "people.csv", "--method", "Magic"],
            "there is no method 'Magic'; there are DLLP, LLPGAN, MomentMatching",
        ),
        (
            ["fit", "people.csv", "--method", "DLLP", "--method.epoch", "3"],
            r"--method: DLLP has no setting 'epoch' \(did you mean epochs\?\)",
        ),
        (
            ["fit", "people.csv", "--random_state", "first"],
            "--random_state: Expected a whole number. Got value: first",
        ),
        (
            ["fit", "photos", "--image_size", "28"],
            "--image_size: 2 whole numbers are expected, as 28,28, not '28'",
        ),
        (["fit", "photos", "--image_size", "a,b"], "--image_size: whole numbers are expected"),
        (["fit"], "the following arguments are required: data"),
        (["fit", "--config", "nowhere.yaml"], "--config: File does not exist"),
        (["fit", "people.csv", "--method", "dllp"], r"there is no method 'dllp' \(did you mean DLLP\?\)"),
        (["compare", "people.csv", "--methods", "[Magic]"], "there is no method 'Magic'; there are DLLP"),
        (["compare", "people.csv", "--time_limit", "soon"], "--time_limit: Expected a number"),
        (["export", "tflite", "model"], "--format: Expected one of 'onnx'. Got value: tflite"),
    ],
)
def test_bad_usage_and_bad_data_have_different_exit_codes_and_one_line_each(files, capsys, command, message):
    assert main.main(command) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert re.search(message, said)
    assert said.endswith(f"llpgan {command[0]} --help lists the options")


def test_no_such_command(capsys):
    assert main.main(["train"]) == 2
    assert "there is no command 'train'" in capsys.readouterr().err


def test_help_and_version(capsys):
    assert main.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"llpgan {command}" in said for command in main.COMMANDS)
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"llpgan {llpgan.__version__}\n"
    assert main.main(["fit", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--proportions" in said
    assert "The column or columns that say which bag" in said


@pytest.mark.slow
def test_the_installed_command_ends_with_its_exit_code(tmp_path):
    command = [sys.executable, "-m", "llpgan", "predict", "nowhere", "nothing.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("llpgan predict: error: nowhere is not a saved model")
    assert "Traceback" not in done.stderr


def test_inspect_says_what_the_bags_can_tell(files, capsys):
    command = ["inspect", *FIT[1:8], "--out", "bags.json"]
    assert main.main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not drawn at random" in said
    assert "worth about" in said
    assert "was not tried" in said
    assert '"purity"' in (files / "bags.json").read_text()
    assert main.main(command) == 1
    assert "bags.json exists" in capsys.readouterr().err


def test_inspect_promises_nothing_of_a_single_bag(files, capsys):
    people = pa.csv.read_csv("people.csv")
    pa.csv.write_csv(people.set_column(0, "state", [["s0"] * 200]), "single.csv")
    assert main.main(["inspect", "single.csv", "--bag", "state", "--label", "vote"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "A single bag is too few to see whether bags are drawn at random" in said
    assert "held-out" not in said


ESTIMABLE = "accuracy of single predictions can be estimated from held-out bags, without labels"


@pytest.mark.parametrize(
    ("n_bags", "said", "unsaid"), [(3, "3 bags are too few to see whether", ESTIMABLE), (40, ESTIMABLE, "too few")]
)
def test_inspect_promises_an_accuracy_of_enough_random_bags_alone(files, capsys, n_bags, said, unsaid):
    row = np.arange(5 * n_bags)
    votes = np.random.default_rng(0).integers(2, size=len(row))
    columns = {"x": votes + row % 3, "state": [f"b{i // 5}" for i in row], "vote": votes}
    pa.csv.write_csv(pa.table(columns), "bags.csv")
    assert main.main(["inspect", "bags.csv", "--bag", "state", "--label", "vote"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert said in printed
    assert unsaid not in printed


def test_a_training_that_is_lost_fails_and_saves_nothing(files, capsys):
    lost = [*FIT, "--method", "DLLP", "--method.learning_rate", "1e30", "--method.epochs", "2"]
    assert main.main(lost) == 1
    assert "the training is lost; try a smaller learning_rate" in capsys.readouterr().err
    assert not (files / "model").exists()


def test_evaluate_says_why_bags_by_feature_promise_no_accuracy(files, capsys):
    main.main(FIT)
    capsys.readouterr()
    bags = ["--bag", "state", "--proportions", "results.csv"]
    assert main.main(["evaluate", "model", "people.csv", *bags]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Accuracy cannot be estimated because the bags are not random" in said
    assert "In the worst case" in said
    assert "from bags alone" not in said


def test_evaluate_estimates_the_accuracy_from_random_bags(files, capsys):
    main.main(FIT)
    people = pa.csv.read_csv("people.csv")
    group = [f"g{row % 20}" for row in np.random.default_rng(1).permutation(200)]
    shuffled = people.drop_columns(["state"]).append_column("group", [group])
    pa.csv.write_csv(shuffled, "others.csv")
    votes = np.array(people["vote"].to_pylist())
    share = [float(np.mean(votes[np.array(group) == f"g{i}"] == "yes")) for i in range(20)]
    results = {"group": [f"g{i}" for i in range(20)], "no": [1 - p for p in share], "yes": share}
    pa.csv.write_csv(pa.table(results), "groups.csv")
    capsys.readouterr()
    options = ["--label", "vote", "--bag", "group", "--proportions", "groups.csv", "--out", "scores.json"]
    assert main.main(["evaluate", "model", "others.csv", *options]) == 0
    assert "accuracy, from bags alone" in capsys.readouterr().out
    found = json.loads((files / "scores.json").read_text())
    assert found["accuracy, from bags alone"]["low"] < found["accuracy"]["value"]
    assert found["accuracy"]["value"] < found["accuracy, from bags alone"]["high"]


def test_names_of_options_of_the_first_version_still_work(files, tmp_path):
    assert main.main([*FIT, "--seed", "3", "--report", "false", "--out", str(tmp_path / "old")]) == 0
    assert main.main([*FIT, "--random_state", "3", "--report", "false", "--out", str(tmp_path / "new")]) == 0
