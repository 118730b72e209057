"""A store that is damaged says so; a whole one trains and predicts as the same rows in memory do."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import llpgan
from llpgan import DLLP, LLPGAN, AutoLLP, BagLogistic, Bags
from llpgan.bags.on_disk import StoredInstances
from llpgan.cli import main
from llpgan.tables import read as rows
from llpgan.tables.store import is_store, open_store, store_bags
from llpgan.utils.json_files import read_sealed, write_sealed

pytestmark = pytest.mark.filterwarnings("ignore:column")


@pytest.fixture
def ragged():
    """Sorted, so that rows in memory stand as in the store."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(25), rng.integers(1, 30, size=25))
    instances = rng.normal(size=(len(groups), 4)).astype(np.float32)
    return Bags.from_labels(instances, instances[:, 0] + rng.normal(size=len(groups)) > 0, groups)


@pytest.fixture
def store(ragged, tmp_path):
    store_bags(ragged, tmp_path / "store")
    return tmp_path / "store"


def cut(path):
    path.write_bytes(path.read_bytes()[:-4])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def of_a_later_format(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 9}))


def other_instances(path):
    np.save(path, np.zeros((3, 4), np.float32))


DAMAGES = {
    "no instances": ("instances.npy", Path.unlink, "is not whole: it has no instances.npy"),
    "instances cut short": ("instances.npy", cut, "instances.npy is cut short: it has"),
    "other instances": ("instances.npy", other_instances, r"instances.npy holds \(3, 4\) of float32, but"),
    "no bags": ("bags.parquet", Path.unlink, "is not whole: it has no bags.parquet"),
    "bags cut short": ("bags.parquet", cut, "bags.parquet is damaged"),
    "another bag": ("bags.parquet", flip, "bags.parquet is damaged"),
    "no list": ("store.json", Path.unlink, "is not a store: it has no store.json"),
    "another list": ("store.json", flip, "store.json is damaged"),
    "another format": ("store.json", of_a_later_format, "in format 9; this is llpgan"),
}


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_store_is_refused(store, name, damage, said):
    damage(store / name)
    with pytest.raises((ValueError, FileNotFoundError), match=said):
        open_store(store)


OTHER_SHAPES = {
    "shape a text": {"shape": "wide"},
    "shape none": {"shape": []},
    "shape of halves": {"shape": [2.5, 4]},
    "another type": {"dtype": "nonsense"},
    "a type that is none": {"dtype": 3},
    "keys a text": {"n_keys": "one"},
    "more keys": {"n_keys": 5},
    "fewer keys than none": {"n_keys": -1},
    "classes none": {"classes": []},
    "one class more": {"classes": [False, True, True]},
    "classes lists": {"classes": [[0], [1]]},
    "classes of another type": {"class_type": "<M8"},
    "features a text": {"features": "age"},
    "features too few": {"features": ["age"]},
    "encoder a number": {"encoder": 3},
    "encoder a dict": {"encoder": {"dict": {}}},
    "encoder without columns": {"encoder": {"type": "TableEncoder", "dict": {}}},
    "encoder that would run code": {"encoder": {"type": "Popen", "dict": {"args": "true"}}},
    "files a list": {"files": ["bags.parquet"]},
    "no files": {"files": {}},
    "files elsewhere": {"files": {"../../bags.parquet": "0"}},
    "something unknown": {"colour": "red"},
}


@pytest.mark.parametrize("changes", OTHER_SHAPES.values(), ids=OTHER_SHAPES)
def test_a_list_of_another_shape_is_refused_by_name(store, changes):
    content = read_sealed(store / "store.json", 1) | changes
    write_sealed(store / "store.json", content, 1)
    with pytest.raises(ValueError, match=r"store\.json"):
        open_store(store)


def test_is_store_distinguishes_stores_from_other_folders(store, tmp_path):
    assert is_store(store)
    assert is_store(str(store))
    assert not is_store(tmp_path)
    assert not is_store({"age": [1]})


def test_from_tables_opens_a_store_and_wants_nothing_else(store, ragged):
    assert Bags.from_tables(store).bag_ids == ragged.bag_ids
    with pytest.raises(ValueError, match=r"is a store, .*: leave bag away"):
        Bags.from_tables(store, bag="state")


@pytest.mark.parametrize(
    "model",
    [
        DLLP(epochs=3, random_state=0, bags_per_step=4, validation_fraction=0.2),
        LLPGAN(epochs=2, random_state=0),
        BagLogistic(n_resamples=2, random_state=0),
    ],
    ids=["DLLP", "LLPGAN", "BagLogistic"],
)
def test_a_store_trains_the_same_model_as_memory_bit_by_bit(store, ragged, model):
    stored = open_store(store)
    in_memory = type(model)(**model.get_params()).fit_bags(ragged).predict_proba(ragged.instances)
    from_store = type(model)(**model.get_params()).fit_bags(stored)
    np.testing.assert_array_equal(from_store.predict_proba(ragged.instances), in_memory)
    np.testing.assert_array_equal(from_store.predict_proba(stored.instances), in_memory)


def test_a_training_from_a_store_goes_on_from_its_checkpoint(store, tmp_path):
    once = DLLP(epochs=3, random_state=0).fit_bags(open_store(store))
    checkpoint = tmp_path / "checkpoint"
    settings = dict(random_state=0, checkpoint=checkpoint, epochs=3)

    def stop(model):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DLLP(**settings).fit_bags(open_store(store), monitor=stop)
    again = DLLP(**settings).fit_bags(open_store(store))
    instances = open_store(store).instances
    np.testing.assert_array_equal(once.predict_proba(instances), again.predict_proba(instances))


def test_bags_of_a_store_can_be_divided_and_judged(store, ragged):
    stored = open_store(store)
    assert isinstance(stored.instances, StoredInstances)
    some, same = stored.take_bags([3, 1]), ragged.take_bags([3, 1])
    assert isinstance(some.instances, np.ndarray)
    np.testing.assert_array_equal(some.instances, same.instances)
    np.testing.assert_array_equal(stored.means(stored.instances), ragged.means(ragged.instances))
    np.testing.assert_array_equal(stored.take_rows([5, 0]).instances, ragged.take_rows([5, 0]).instances)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(rows, "_MOST_ROWS", 1024)


@pytest.mark.slow
def test_from_files_to_a_store_a_model_and_predictions(files, people, small_parts, capsys):
    assert main.main(["store", "people.parquet", "--bag", "state", "--proportions", "results.parquet"]) == 0
    assert "saved store: 5,000 rows in 30 bags, 2 classes (no, yes)" in capsys.readouterr().err
    assert main.main(["fit", "store", "--method", "DLLP", "--method.epochs", "2"]) == 0
    assert "this page covers 30 of the 30 bags" in Path("model/report.html").read_text()
    model = llpgan.load("model")
    expected = model.predict_proba("people.parquet")
    pa.csv.write_csv(people, "people.csv")
    Path("parts").mkdir()
    for part in range(3):
        pa.parquet.write_table(people.slice(part * 2000, 2000), f"parts/{part}.parquet")
    for source, out in [("people.parquet", "a.parquet"), ("people.csv", "b.csv.gz"), ("parts", "c.csv")]:
        assert main.main(["predict", "model", source, "--out", out, "--keep", "[nr, city]"]) == 0
        assert f"saved {out}: 5,000 rows" in capsys.readouterr().err
        table = pa.parquet.read_table(out) if out == "a.parquet" else pa.csv.read_csv(out)
        assert table.column_names == ["nr", "city", "prediction", "p_no", "p_yes"]
        assert table["nr"].to_pylist() == list(range(5000))
        np.testing.assert_array_equal(np.column_stack([table["p_no"], table["p_yes"]]), expected)
        assert table["prediction"].to_pylist() == model.classes_[expected.argmax(axis=1)].tolist()


def test_parts_of_sorted_rows_are_not_called_unlike_the_whole(files, people, small_parts, capsys):
    """Most parts have only rare villages, of which there are too many for a column each."""
    villages = pa.array([f"village {i:03d}" for i in np.arange(len(people)) // 25])
    pa.parquet.write_table(people.append_column("village", villages), "sorted.parquet")
    assert main.main(["store", "sorted.parquet", "--bag", "state", "--proportions", "results.parquet"]) == 0
    assert "village" not in capsys.readouterr().err


def test_a_part_that_cannot_be_predicted_leaves_no_file(files, people, small_parts, capsys):
    main.main(["store", "people.parquet", "--bag", "state", "--proportions", "results.parquet"])
    main.main(["fit", "store", "--method", "DLLP", "--method.epochs", "1", "--report", "false"])
    ages = people["age"].to_pylist()
    ages[4000] = float("inf")
    pa.parquet.write_table(people.set_column(1, "age", pa.array(ages)), "new.parquet")
    before = sorted(files.iterdir())
    assert main.main(["predict", "model", "new.parquet"]) == 1
    assert "new.parquet: column 'age', row 4000: inf is not a finite number" in capsys.readouterr().err
    assert sorted(files.iterdir()) == before
    assert main.main(["fit", "store", "--bag", "state", "--out", "other"]) == 1
    assert "store is a store, which holds its bags and proportions already" in capsys.readouterr().err


def test_predictions_of_an_array_in_a_file(files, capsys):
    instances = np.random.default_rng(0).normal(size=(3000, 3))
    np.savez("train.npz", instances=instances, site=np.arange(3000) % 9, label=instances[:, 0] > 0)
    options = ["--bag", "site", "--label", "label"]
    assert main.main(["store", "train.npz", "--to", "arrays", *options]) == 0
    assert main.main(["fit", "arrays", "--method", "MeanMap", "--report", "false"]) == 0
    np.save("new.npy", instances)
    assert main.main(["predict", "model", "new.npy", "--out", "new.csv"]) == 0
    found = pa.csv.read_csv("new.csv")["p_True"].to_numpy()
    np.testing.assert_allclose(found, llpgan.load("model").predict_proba(instances)[:, 1], rtol=1e-12)


def test_without_a_method_a_store_is_learned_as_other_tables(store):
    from llpgan.evaluation.choose import default_method

    assert isinstance(default_method(open_store(store)).method, AutoLLP)
    shutil.rmtree(store)
