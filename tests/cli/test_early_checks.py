"""Options whose values can be checked without the data are refused before any table is read."""

import numpy as np
import pytest

from llpgan.cli import main

BAGS = "missing.csv --bag town --proportions missing_towns.csv"
FIT, COMPARE = f"fit {BAGS}", f"compare {BAGS}"
MODEL = f"model {BAGS}"
COUNTS = "shares missing.csv --groups a,b --outcomes no,yes --unit unit"
EARLY = {
    f"{FIT} --hold_out 1.5": "--hold_out is a share",
    f"{FIT} --by race,race": "--by names a column twice",
    f"{FIT} --bag a,,b": "--bag: a name is empty",
    f"{FIT} --proportions_sd -1": "--proportions_sd must be one number that is not negative",
    f"{FIT} --proportions_sd 0.1 --within true": "noise of known size (--proportions_sd)",
    f"{FIT} --counts c.csv": "either proportions or counts",
    f"{FIT} --lower l.csv": "either proportions (or counts) or bounds",
    f"{FIT} --image photo --features nosuch": "there is no backbone 'nosuch'",
    f"{FIT} --image photo --features a.onnx": "there is no backbone a.onnx: no such file",
    f"{FIT} --label=": "--label is an empty text",
    f"{FIT} --weight=": "--weight is an empty text",
    f"{FIT} --method DLLP --method.checkpoint notes.txt": "notes.txt is not a checkpoint",
    f"{FIT} --method DLLP --method.checkpoint .": ". is not a checkpoint",
    f"{FIT} --method DLLP --method.tensorboard notes.txt": "notes.txt is a file: the name of a folder",
    f"{FIT} --method DLLP --method.device warp": "device 'warp' is not available",
    f"{COMPARE} --score accuracy": "--score must be one of cross_entropy",
    f"{COMPARE} --n_jobs 0": "--n_jobs must not be 0",
    f"{COMPARE} --time_limit 0": "(--time_limit)",
    f"{COMPARE} --methods MeanMap,MeanMap": "the same method is given twice",
    f"{COMPARE} --html page.txt": "the file of (--html) must end in .html",
    f"{COMPARE} --tolerance 2": "--tolerance must be a number from 0",
    "predict model missing.csv --threshold maybe=0.2": "no class 'maybe' (--threshold)",
    "predict model missing.csv --coverage 0.9": "no prediction sets",
    "predict model missing.csv --coverage 0.9 --out folder": "no prediction sets",
    f"evaluate {MODEL} --threshold maybe=0.2": "no class 'maybe' (--threshold)",
    f"evaluate {MODEL} --coverage 0.9": "no prediction sets",
    f"evaluate {MODEL} --partial true --within true": "not both",
    f"evaluate {MODEL} --label_names a,b": "names are given for labels (--label_names)",
    f"evaluate {MODEL} --label age": "the model learned from column 'age'",
    f"evaluate {MODEL} --label town": "is given as bag and as label",
    "evaluate model missing.csv": "nothing to judge by",
    f"conformalize {MODEL} --out sets --weight town": "is given as weight and as bag",
    f"monitor {MODEL} --tolerance -1": "--tolerance must be a number",
    f"suggest {MODEL} --label town": "is given as bag and as label",
    f"suggest {MODEL} --resize true": "did not learn from images: leave this option away (--resize)",
    f"shares {MODEL} --by race,race": "--by names a column twice",
    f"shares {MODEL} --by race --exclude maybe": "there is no outcome 'maybe' (--exclude)",
    f"{COUNTS} --groups a": "is the only one (--groups)",
    f"{COUNTS} --groups a,a": "--groups names a column twice",
    f"{COUNTS} --outcomes b,c": "(--groups) and (--outcomes) must be other columns",
    f"{COUNTS} --remainder no": "no name for one more outcome",
    f"{COUNTS} --covariates a": "column 'a' is named twice, (--covariates) and (--groups)",
    f"{COUNTS} --exclude maybe": "there is no outcome 'maybe' (--exclude)",
    f"{COUNTS} --aggregation_bias -1": "--aggregation_bias must be a finite number",
    "pairs missing.csv --out pairs --sd -1": "sd must be",
    "pairs missing.csv --out pairs --threshold -1": "threshold must be",
    "pairs missing.csv --C 0": "'C' parameter",
    "pairs missing.csv --n_rows 0": "'n_rows' parameter",
    "pairs missing.csv --out pairs --classes no,no": "--classes must be at least two names",
    "pairs missing.csv --rows=": "--rows is an empty text",
    "embed missing.csv --features nosuch --image photo": "there is no backbone 'nosuch'",
    "embed missing.csv --text a --image b": "leave one of them out",
    "embed missing.csv --image b --image_size 0,1": "--image_size must be height and width",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model and a file of notes."""
    place = tmp_path_factory.mktemp("early")
    rows = "\n".join(f"{age},t{age % 4}" for age in np.random.default_rng(0).integers(20, 80, 80))
    (place / "people.csv").write_text(f"age,town\n{rows}\n")
    (place / "towns.csv").write_text("town,no,yes\nt0,0.1,0.9\nt1,0.6,0.4\nt2,0.5,0.5\nt3,0.3,0.7\n")
    (place / "notes.txt").write_text("notes")
    words = f"--bag town --proportions {place}/towns.csv --method MeanMap --report false --out {place}/model"
    assert main.main(["fit", f"{place}/people.csv", *words.split()]) == 0
    return place


@pytest.mark.parametrize(("words", "message"), EARLY.items(), ids=EARLY)
def test_options_are_checked_before_tables_are_read(words, message, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    assert main.main(words.split()) in (1, 2)
    text = capsys.readouterr().err
    assert message in text
    assert "missing" not in text
    assert sorted(folder.rglob("*")) == before
