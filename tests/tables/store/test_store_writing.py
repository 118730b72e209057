"""A store holds what Bags.from_tables would: the same rows, bag after bag."""

import datetime as dt
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image
from sklearn.base import clone

from llpgan import DLLP, BagBoosting, BagLogistic, Bags, Columns, InvCal, LaplacianMeanMap, MeanMap
from llpgan.tables import columns as column_summary
from llpgan.tables import read as csv_blocks
from llpgan.tables import read as rows
from llpgan.tables import sorting as external_sort
from llpgan.tables.store import open_store, store_bags, store_tables

pytestmark = pytest.mark.filterwarnings("ignore:column")


@pytest.fixture
def in_small_parts(monkeypatch):
    """As if the files were large: many parts, many blocks, and a buffer that is often full."""
    monkeypatch.setattr(rows, "_MOST_ROWS", 512)
    monkeypatch.setattr(rows, "_EVEN", 64)
    monkeypatch.setattr(csv_blocks, "_BLOCK_BYTES", 5000)
    monkeypatch.setattr(external_sort, "_BUFFER_BYTES", 20_000)
    monkeypatch.setattr(external_sort, "_ROWS_A_PIECE", 1)
    monkeypatch.setattr(external_sort, "_GATHERED_BYTES", 3000)


def assert_same(stored, bags, rtol=0.0):
    """The same but for the order of rows."""
    assert stored.bag_ids == bags.bag_ids
    assert stored.classes.tolist() == bags.classes.tolist()
    assert stored.features == bags.features
    np.testing.assert_array_equal(stored.proportions, bags.proportions)
    np.testing.assert_array_equal(stored.sizes, bags.sizes)
    found = stored.instances[:]
    assert found.dtype == bags.instances.dtype
    np.testing.assert_allclose(found, bags.instances[bags.row_order], rtol=rtol, atol=rtol)


def test_a_store_of_a_parquet_file_is_what_memory_would_hold(files, in_small_parts, people, results):
    stored = store_tables("people.parquet", "store", "results.parquet", bag="state")
    bags = Bags.from_tables(people, results, bag="state")
    assert_same(stored, bags, rtol=1e-6)
    assert stored.encoder.left_out == bags.encoder.left_out
    assert set(stored.encoder.left_out) == {"nr", "name", "country"}
    for mine, theirs in zip(stored.encoder.columns, bags.encoder.columns, strict=True):
        numbers = {name: value for name, value in vars(theirs).items() if isinstance(value, float)}
        assert {name: getattr(mine, name) for name in numbers} == pytest.approx(numbers, rel=1e-12)
        assert vars(mine) | numbers == vars(theirs)
    assert_same(open_store("store"), stored)


def test_a_folder_of_parquet_files(files, in_small_parts, people, results):
    Path("parts").mkdir()
    for part in range(3):
        pa.parquet.write_table(people.slice(part * 2000, 2000), f"parts/{part}.parquet")
    stored = store_tables("parts", "store", results, bag="state")
    assert_same(stored, store_tables(people, "other", results, bag="state"))


def test_progress_counts_all_rows_twice(files, in_small_parts, people, results):
    read = []
    store_tables("people.parquet", "store", results, bag="state", progress=read.append)
    assert len(read) > 4
    assert sum(read) == 2 * len(people)


def test_a_csv_file(files, in_small_parts, people, results):
    pa.csv.write_csv(people, "people.csv")
    stored = store_tables("people.csv", "store", results, bag="state", columns=Columns(categories="children"))
    bags = Bags.from_tables("people.csv", results, bag="state", columns=Columns(categories="children"))
    assert_same(stored, bags, rtol=1e-6)


def test_shares_from_counts_and_from_labels(files, in_small_parts, people, results):
    counts = results.set_column(1, "no", pa.array(range(1, 41)[: len(results)]))
    counts = counts.set_column(2, "yes", pa.array([7] * len(results)))
    assert_same(
        store_tables("people.parquet", "counts", counts=counts, bag="state"),
        Bags.from_tables(people, counts=counts, bag="state"),
        rtol=1e-6,
    )
    for label in ("children", "owner"):
        assert_same(
            store_tables("people.parquet", label, label=label, bag="state"),
            Bags.from_tables(people, label=label, bag="state"),
            rtol=1e-6,
        )


def test_columns_as_the_user_says(files, in_small_parts, people, results):
    columns = Columns(only=["age", "city"], categories="income", numbers="nr", dates="since", min_count=2)
    stored = store_tables("people.parquet", "store", results, bag="state", columns=columns)
    assert_same(stored, Bags.from_tables(people, results, bag="state", columns=columns), rtol=1e-6)


DAY = dt.date(2016, 11, 8)
IDS = {
    "texts": ["b", "a", "ä", "b"],
    "numbers": [7, -1, 2**40, 7],
    "fractions": [0.5, 1.5, -2.0, 0.5],
    "dates": [DAY, DAY, dt.date(2020, 1, 1), DAY],
    "moments": [dt.datetime(2016, 11, 8, 20, 15), dt.datetime(2020, 1, 1), dt.datetime(2016, 11, 8, 20, 15), None],
    "truth": [True, False, True, True],
    "decimals": [Decimal("1.50"), Decimal("2.25"), Decimal("1.50"), Decimal("2.25")],
    "codes": pa.array(["b", "a", "b", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_bags_keep_their_names(ids, tmp_path):
    table = pa.table(
        {"bag": ids, "more": ["x", "y", "x", "x"], "age": [1.0, 2.0, 4.0, 9.0], "label": [0, 1, 1, 0]}
    )
    table = table.filter(pa.compute.is_valid(table["bag"]))
    for bag in ("bag", ["bag", "more"]):
        bags = Bags.from_tables(table, bag=bag, label="label")
        to = tmp_path / str(bag)
        assert_same(store_tables(table, to, bag=bag, label="label"), bags, rtol=1e-6)
        assert open_store(to).bag_ids == bags.bag_ids
        assert list(map(type, open_store(to).bag_ids)) == list(map(type, bags.bag_ids))


def test_bags_in_memory_and_of_mapped_arrays(tmp_path, bags, in_small_parts):
    assert_same(store_bags(bags, tmp_path / "memory"), bags)
    np.save(tmp_path / "x.npy", bags.instances)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    groups = np.random.default_rng(0).integers(5, size=len(mapped))
    bags = Bags.from_arrays(mapped, groups, {bag: [0.5, 0.5] for bag in range(5)}, classes=["no", "yes"])
    assert_same(store_bags(bags, tmp_path / "mapped"), bags)
    assert_same(store_bags(open_store(tmp_path / "mapped"), tmp_path / "again"), bags)


def test_images_stay_bytes(tmp_path, in_small_parts):
    images = np.random.default_rng(0).integers(256, size=(30, 1, 8, 8)).astype(np.uint8)
    bags = Bags.from_labels(images, np.arange(30) % 2, np.arange(30) % 7)
    assert_same(store_bags(bags, tmp_path / "memory"), bags)
    for row, image in enumerate(images):
        path = tmp_path / f"photos/clinic {row % 3}/{row:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[0]).save(path)
    shares = {"folder": [f"clinic {i}" for i in range(3)], "no": [0.5, 0.2, 0.1], "yes": [0.5, 0.8, 0.9]}
    photos = tmp_path / "photos"
    assert_same(store_tables(photos, tmp_path / "files", shares), Bags.from_tables(photos, shares))


def test_arrays_with_their_bags(tmp_path, in_small_parts):
    np.savez(tmp_path / "x.npz", instances=np.random.default_rng(0).normal(size=(300, 4)), site=np.arange(300) % 3)
    shares = {"site": [0, 1, 2], "no": [0.5, 0.2, 0.1], "yes": [0.5, 0.8, 0.9]}
    stored = store_tables(tmp_path / "x.npz", tmp_path / "store", shares, bag="site")
    assert_same(stored, Bags.from_tables(tmp_path / "x.npz", shares, bag="site"))


def test_ids_that_cannot_be_stored_are_refused(tmp_path):
    bags = Bags.from_arrays([[1.0], [2.0]], ["a", 7], {"a": [1, 0], 7: [0, 1]})
    with pytest.raises(TypeError, match="bag ids of type int, str cannot be stored"):
        store_bags(bags, tmp_path / "store")
    assert not (tmp_path / "store").exists()


WRONG = {
    "no bag": (dict(bag="county"), "people.parquet has no column 'county'; there are 'state'"),
    "no bag said": (dict(), "say which column holds the bag of each row"),
    "no shares": (dict(bag="state", proportions=None), "the classes' shares are not known"),
    "no label": (dict(bag="state", label="vote"), "people.parquet has no column 'vote'"),
    "no column": (dict(bag="state", columns=Columns(drop="phone")), "people.parquet: no column 'phone'"),
    "not numbers": (
        dict(bag="state", columns=Columns(numbers="city")),
        r"people.parquet: column 'city', row \d+: '\w+' is not a number",
    ),
    "a bag without shares": (
        dict(bag="state", proportions={"state": ["s0"], "no": [0.5], "yes": [0.5]}),
        r"bag 's1' \(and \d+ more\) of people.parquet has no row in the table of proportions",
    ),
    "too much": (dict(bag="state", label="name", proportions=None), "has more than 3 values: it is no label"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_and_leaves_nothing(files, in_small_parts, options, said, monkeypatch):
    monkeypatch.setattr("llpgan.tables.join.MOST_LABELS", 3)
    before = sorted(files.iterdir())
    with pytest.raises(ValueError, match=said):
        store_tables("people.parquet", "store", **{"proportions": "results.parquet", **options})
    assert sorted(files.iterdir()) == before


def with_value(table, column, row, value):
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values))


BAD_VALUES = {
    "no bag": ("state", None, "people.parquet, row 4321 has no bag: its 'state' is missing"),
    "infinite": ("age", np.inf, "people.parquet: column 'age', row 4321: inf is not a finite number"),
    "a word": (
        "income",
        "much",
        "column 'income', row 4321: 'much' is not a number, as 4999 of the 5000 values of this column are",
    ),
}


@pytest.mark.parametrize(("column", "value", "said"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_named_by_its_row(files, in_small_parts, people, results, column, value, said):
    pa.parquet.write_table(with_value(people, column, 4321, value), "people.parquet")
    with pytest.raises(ValueError, match=said):
        store_tables("people.parquet", "store", results, bag="state")


def test_columns_of_other_types_are_refused_at_once(files, in_small_parts, people, results):
    for values, kind in (([[1]] * len(people), "list<.*: int64>"), ([b"x", b"y"] * (len(people) // 2), "binary")):
        pa.parquet.write_table(people.append_column("odd", pa.array(values)), "odd.parquet")
        with pytest.raises(ValueError, match=f"odd.parquet: column 'odd' holds {kind}"):
            store_tables("odd.parquet", "store", results, bag="state")


def test_a_leak_is_refused(files, in_small_parts, people):
    label = pa.array(np.random.default_rng(0).integers(2, size=len(people)))
    table = people.append_column("spam", label)
    counted = Bags.from_tables(table, bag="state", label="spam")
    shares = {"state": counted.bag_ids, "no": counted.proportions[:, 0], "yes": counted.proportions[:, 1]}
    pa.parquet.write_table(table, "people.parquet")
    with pytest.raises(ValueError, match="column 'spam' looks like the label: it has the share of the class"):
        store_tables("people.parquet", "store", shares, bag="state")
    with pytest.raises(
        ValueError, match="column 'owner' looks like the label: it is named after the class 'owner'"
    ):
        named = {"state": counted.bag_ids, "owner": shares["no"], "yes": shares["yes"]}
        store_tables("people.parquet", "store", named, bag="state", columns=Columns(drop="spam"))


def test_files_of_a_folder_that_do_not_match_are_refused(files, people, results):
    Path("parts").mkdir()
    pa.parquet.write_table(people, "parts/a.parquet")
    pa.parquet.write_table(people.drop_columns(["age"]), "parts/b.parquet")
    with pytest.raises(ValueError, match="do not both have a column 'age'"):
        store_tables("parts", "store", results, bag="state")
    ages = pa.array(["old"] * len(people))
    pa.parquet.write_table(people.set_column(1, "age", ages), "parts/b.parquet")
    with pytest.raises(ValueError, match="its files hold different types"):
        store_tables("parts", "store", results, bag="state")


def test_a_file_that_is_cut_short_or_empty_is_refused(files, people, results):
    path = Path("people.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"people.parquet is not a table that can be read"):
        store_tables(path, "store", results, bag="state")
    pa.parquet.write_table(people.slice(0, 0), path)
    with pytest.raises(ValueError, match=r"people.parquet is empty"):
        store_tables(path, "store", results, bag="state")


def test_rows_that_change_between_the_two_readings_are_noticed(files, people, results, monkeypatch):
    from llpgan.tables import sorting as store_writing

    write = store_writing.write_rows

    def later(*args):
        pa.parquet.write_table(people.slice(1), "people.parquet")
        return write(*args)

    monkeypatch.setattr(store_writing, "write_rows", later)
    with pytest.raises(ValueError, match=r"people.parquet has changed while it was read"):
        store_tables("people.parquet", "store", results, bag="state")
    assert not Path("store").exists()


def test_a_store_is_replaced_only_if_asked_for(files, results):
    store_tables("people.parquet", "store", results, bag="state")
    with pytest.raises(FileExistsError, match="store exists"):
        store_tables("people.parquet", "store", results, bag="state")
    store_tables("people.parquet", "store", results, bag="state", overwrite=True)
    shutil.rmtree("store")
    Path("store").mkdir()
    Path("store/letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match=r"not a folder with a store.json"):
        store_tables("people.parquet", "store", results, bag="state", overwrite=True)


def test_a_full_disk_is_said_before_anything_is_written(files, results, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 9))
    with pytest.raises(OSError, match=r"the store takes 0.00 GB, but only 0.00 GB are free"):
        store_tables("people.parquet", "store", results, bag="state")


KILLED = """
import os, warnings
warnings.simplefilter("ignore")
from llpgan.tables import sorting as external_sort
from llpgan.tables.store import store_tables
write = external_sort.SortingWriter._write_waiting
external_sort._BUFFER_BYTES, external_sort._ROWS_A_PIECE = 20_000, 1
external_sort.SortingWriter._write_waiting = lambda self: (write(self), os.kill(os.getpid(), 9))
store_tables("people.parquet", "store", "results.parquet", bag="state")
"""


@pytest.mark.slow
def test_a_build_that_is_killed_leaves_nothing_that_opens(files):
    assert subprocess.run([sys.executable, "-c", KILLED]).returncode == -9
    assert not Path("store").exists()
    (left,) = [path for path in files.iterdir() if path.is_dir()]
    with pytest.raises(FileNotFoundError, match=r"is not a store: it has no store.json"):
        open_store(left)
    assert store_tables("people.parquet", "store", "results.parquet", bag="state").n_bags == 30
    assert not left.exists()
    assert [path for path in files.iterdir() if path.name.startswith(".")] == []


def test_a_median_is_that_of_a_random_sample(monkeypatch):
    monkeypatch.setattr(column_summary, "SAMPLE", 2000)
    rng = np.random.default_rng(0)
    numbers, column = rng.exponential(size=20_000), column_summary.ColumnSummary("x")
    numbers[:5] = np.nan
    for start in range(0, 20_000, 1000):
        part = pa.chunked_array([numbers[start : start + 1000]])
        column.add(part, start.__add__, rng.random(1000))
    found = column.describe_numbers()
    assert found.n_missing == 5
    assert found.median == pytest.approx(np.nanmedian(numbers), abs=0.06)  # of a sample of 2000, ± .022
    assert found.mean == pytest.approx(np.nanmean(numbers), rel=1e-3)


def test_texts_of_which_there_are_too_many(monkeypatch):
    monkeypatch.setattr(column_summary, "MOST_TEXTS", 500)
    rng, summary = np.random.default_rng(0), column_summary.ColumnSummary("x", "category")
    for start in range(0, 20_000, 1000):
        part = [f"own {start + i}" if i % 2 else rng.choice(["a", "b"]) for i in range(1000)]
        summary.add(pa.chunked_array([part]))
    counts = summary.texts
    assert len(counts) <= 500
    assert counts["a"] + counts["b"] == 10_000
    assert len(counts) + summary.n_forgotten == 10_002


def test_the_bags_of_a_store_need_little_memory(files, results):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = store_tables("people.parquet", "store", results, bag="state")
    assert not isinstance(stored.instances, np.ndarray)
    assert not isinstance(stored.bag_index, np.ndarray)
    assert not isinstance(stored.row_order, np.ndarray)


def bounds(results):
    """Bounds of the shares of yes and no, as two tables."""
    yes = results["yes"].to_numpy()
    low, high = (np.clip(np.stack([1 - yes, yes]) + by, 0, 1) for by in (-0.05, 0.05))
    return {
        name: pa.table({"state": results["state"], "no": table[0], "yes": table[1]})
        for name, table in (("lower", low), ("upper", high))
    }


@pytest.mark.parametrize("form", ["bounds", "noise", "unknown"])
def test_a_store_holds_what_is_known_of_shares(form, files, people, results):
    options = {
        "bounds": bounds(results),
        "noise": {"proportions": results, "proportions_sd": 0.02},
        "unknown": {
            "proportions": results.append_column("other", pa.array([None] * len(results), pa.float64()))
            .set_column(1, "no", pa.array(results["no"].to_numpy() / 2))
            .set_column(2, "yes", pa.array([None] * len(results), pa.float64())),
            "partial": True,
        },
    }[form]
    stored = store_tables(people, "store", bag="state", **options)
    bags = Bags.from_tables(people, bag="state", **options)
    assert_same(stored, bags)
    again = store_bags(bags, "again")
    for known in (stored.share_constraints, again.share_constraints):
        for name in ("lower", "upper", "sizes"):
            np.testing.assert_array_equal(getattr(known, name), getattr(bags.share_constraints, name))
        assert (known.sd is None) == (bags.share_constraints.sd is None)
        assert known.sd is None or known.sd.tolist() == bags.share_constraints.sd.tolist()


@pytest.fixture
def weighed(people):
    """People with weights, some of which are zero."""
    weights = np.random.default_rng(2).integers(4, size=len(people)) / 2
    return people.append_column("times", pa.array(weights))


@pytest.mark.parametrize("shares_from", ["results", "labels"])
def test_a_store_holds_the_weights_of_rows(shares_from, files, in_small_parts, weighed, results):
    pa.parquet.write_table(weighed, "weighed.parquet", row_group_size=700)
    given = {"proportions": results} if shares_from == "results" else {"label": "owner"}
    stored = store_tables("weighed.parquet", "store", bag="state", weight="times", **given)
    bags = Bags.from_tables(weighed, bag="state", weight="times", **given)
    assert "times" not in stored.features
    np.testing.assert_allclose(stored.proportions, bags.proportions, rtol=1e-12)
    np.testing.assert_array_equal(stored.weights, bags.weights[bags.row_order])
    np.testing.assert_array_equal(stored.totals, bags.totals)
    again = store_bags(replace(bags, bag_weights=np.arange(1.0, 1 + bags.n_bags)), "again")
    np.testing.assert_array_equal(again.weights, stored.weights)
    np.testing.assert_array_equal(again.bag_weights, np.arange(1.0, 1 + bags.n_bags))
    some = again.take_bags([3, 5])
    np.testing.assert_array_equal(some.totals, bags.totals[[3, 5]])


STORED = [
    BagLogistic(n_resamples=2, random_state=0),
    BagBoosting(n_models=2, max_rounds=5, bag_shift="covariate", random_state=0),
    BagBoosting(n_models=2, max_rounds=5, bag_shift="label", random_state=0),
    DLLP(epochs=1, random_state=0),
    MeanMap(),
    LaplacianMeanMap(),
    InvCal(),
]


@pytest.mark.parametrize("method", STORED, ids=repr)
def test_a_method_learns_from_stored_weights_what_it_learns_from_those_in_memory(method, tmp_path):
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(2, size=400), np.arange(400) // 16  # order matters to what is held out
    X, weights = rng.normal(size=(400, 2)) + 2 * labels[:, None], rng.integers(4, size=400) / 2
    bags = Bags.from_labels(X, labels, groups, weights=weights)
    if method.takes_bag_weights:
        bags = replace(bags, bag_weights=rng.uniform(0.5, 2, bags.n_bags))
    models = [clone(method).fit_bags(given) for given in (bags, store_bags(bags, tmp_path / "store"))]
    np.testing.assert_allclose(*(model.predict_proba(X) for model in models), atol=1e-5)
    unweighted = clone(method).fit_bags(replace(bags, weights=None, bag_weights=None)).predict_proba(X)
    assert np.abs(models[0].predict_proba(X) - unweighted).max() > 1e-3


BAD_WEIGHTS = {
    "negative": (
        lambda w: np.where(np.arange(len(w)) == 3000, -1.0, w),
        "row 3000: weight -1 is missing or negative",
    ),
    "missing": (
        lambda w: np.where(np.arange(len(w)) == 3000, np.nan, w),
        "row 3000: weight nan is missing or negative",
    ),
    "infinite": (lambda w: np.where(np.arange(len(w)) == 3000, np.inf, w), "row 3000: inf is not a finite number"),
    "all zero": (lambda w: 0 * w, "column 'times': all weights are zero"),
}


@pytest.mark.parametrize(("change", "said"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights_are_refused_before_anything_is_written(change, said, files, in_small_parts, weighed, results):
    wrong = pa.array(change(weighed["times"].to_numpy()), from_pandas=False)
    pa.parquet.write_table(weighed.drop_columns("times").append_column("times", wrong), "wrong.parquet")
    with pytest.raises(ValueError, match=rf"wrong.parquet.*{said}"):
        store_tables("wrong.parquet", "store", results, bag="state", weight="times")
    assert not Path("store").exists()


def test_a_bag_without_weight_is_named_before_anything_is_written(files, in_small_parts, weighed, results):
    none = np.where(np.array(weighed["state"].to_pylist()) == "s7", 0, weighed["times"].to_numpy())
    pa.parquet.write_table(weighed.drop_columns("times").append_column("times", pa.array(none)), "wrong.parquet")
    with pytest.raises(ValueError, match=r"wrong.parquet: bag 's7': its weights sum to 0"):
        store_tables("wrong.parquet", "store", results, bag="state", weight="times")
    assert not Path("store").exists()


def test_a_block_without_weight_is_no_mistake(files, in_small_parts, weighed, results):
    early = np.where(np.arange(len(weighed)) < 700, 0.0, 1.0)
    pa.parquet.write_table(
        weighed.drop_columns("times").append_column("times", pa.array(early)), "early.parquet", row_group_size=700
    )
    stored = store_tables("early.parquet", "store", results, bag="state", weight="times")
    assert stored.weights.sum() == len(weighed) - 700


def test_weights_go_when_a_store_is_replaced_by_one_without(files, weighed, results):
    store_tables(weighed, "store", results, bag="state", weight="times")
    assert Path("store/weights.npy").is_file()
    store_tables(weighed, "store", results, bag="state", overwrite=True)
    assert not Path("store/weights.npy").exists()
    assert open_store("store").weights is None


def test_damaged_weights_are_named(files, weighed, results):
    store_tables(weighed, "store", results, bag="state", weight="times")
    with Path("store/weights.npy").open("r+b") as file:
        file.seek(500)
        file.write(b"12345678")
    with pytest.raises(ValueError, match=r"weights.npy"):
        open_store("store")


def test_options_of_bags_are_refused_where_a_store_has_them_already(files, people, results):
    store_tables(people, "store", results, bag="state")
    with pytest.raises(ValueError, match="leave partial away"):
        Bags.from_tables("store", partial=True)


def test_a_store_is_no_table_and_says_what_it_lacks(tmp_path):
    rows = {"town": ["a", "a", "b", "b"], "age": [20.0, 31.0, 40.0, 50.0], "vote": [0, 1, 1, 1]}
    store_tables(rows, tmp_path / "store", bag="town", label="vote")
    with pytest.raises(ValueError, match="is a store, not a table: see llpgan fit"):
        store_tables(tmp_path / "store", tmp_path / "again", bag="town", label="vote")
    (tmp_path / "store" / "store.json").unlink()
    with pytest.raises(ValueError, match=r"is not whole: it has no store\.json"):
        Bags.from_tables(tmp_path / "store", bag="town", label="vote")
