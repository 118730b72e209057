"""Instances that are arrays already."""

import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.tables import open_rows

X = np.random.default_rng(0).normal(size=(6, 3))
STATES = np.array(["OH", "IA", "OH", "IA", "OH", "IA"])
RESULTS = {"state": ["IA", "OH"], "no": [0.5, 0.25], "yes": [0.5, 0.75]}


@pytest.fixture
def savez(tmp_path):
    def saved(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return saved


def test_an_archive_may_hold_bags_and_instances(savez):
    bags = Bags.from_tables(savez(instances=X, state=STATES), RESULTS, bag="state")
    np.testing.assert_array_equal(bags.instances, X)
    assert bags.bag_ids == ("IA", "OH")
    assert bags.bag_index.tolist() == [1, 0, 1, 0, 1, 0]
    assert bags.encoder.positions == {"column 0": [0], "column 1": [1], "column 2": [2]}


def test_labels_in_the_archive_are_counted(savez):
    path = savez(instances=X, state=STATES, voted=np.array([0, 1, 0, 1, 1, 1]))
    bags = Bags.from_tables(path, bag="state", label="voted")
    np.testing.assert_allclose(bags.proportions, [[0, 1], [2 / 3, 1 / 3]])
    assert bags.instances.shape == (6, 3)


def test_the_only_array_of_more_dimensions_holds_the_instances(savez):
    images = np.zeros((6, 1, 4, 4), dtype=np.uint8)
    bags = Bags.from_tables(savez(pixels=images, state=STATES), RESULTS, bag="state")
    assert bags.instances.dtype == np.uint8
    assert bags.instances.shape == (6, 1, 4, 4)
    assert bags.encoder.positions == {}


@pytest.mark.parametrize("kind", [np.int64, np.float64, "datetime64[D]", bool])
def test_ids_of_every_type(savez, kind):
    ids = np.array([1, 0, 1, 0, 1, 0]).astype(kind)
    results = {"state": np.unique(ids), "no": [0.5, 0.25], "yes": [0.5, 0.75]}
    bags = Bags.from_tables(savez(instances=X, state=ids), results, bag="state")
    assert bags.bag_index.tolist() == [1, 0, 1, 0, 1, 0]


def test_a_model_of_arrays_predicts_from_files_and_arrays(savez, tmp_path):
    model = MeanMap().fit_bags(Bags.from_tables(savez(instances=X, state=STATES), RESULTS, bag="state"))
    np.save(tmp_path / "new.npy", X)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(tmp_path / "new.npy"), expected)
    np.testing.assert_array_equal(model.predict_proba(str(tmp_path / "data.npz")), expected)


def test_an_array_stays_on_disk(tmp_path):
    np.save(tmp_path / "new.npy", X)
    rows = open_rows(tmp_path / "new.npy")
    assert isinstance(rows.array, np.memmap)
    assert len(rows) == 6


def test_a_model_of_arrays_refuses_other_shapes_and_tables(savez, tmp_path):
    encoder = Bags.from_tables(savez(instances=X, state=STATES), RESULTS, bag="state").encoder
    np.save(tmp_path / "new.npy", X[:, :2])
    with pytest.raises(
        ValueError, match=r"new\.npy holds instances of shape \(2,\), but .* arrays of shape \(3,\)"
    ):
        encoder.encode(open_rows(tmp_path / "new.npy"))
    with pytest.raises(ValueError, match=r"the table holds a table, but the model was trained on arrays"):
        encoder.encode(open_rows({"a": [1]}))


WRONG = {
    "lengths": (dict(instances=X, state=STATES[:5]), "'state' has shape (5,), but there are 6 instances"),
    "a second table": (
        dict(instances=X, state=STATES, more=X),
        "'more' has shape (6, 3), but there are 6 instances",
    ),
    "pickled objects": (
        dict(instances=X, state=STATES.astype(object)),
        "the array 'state' cannot be read: Object arrays cannot be loaded when allow_pickle=False",
    ),
    "which are the instances": (dict(a=X, b=X, state=STATES), "call the one that holds the instances 'instances'"),
    "none are the instances": (dict(state=STATES), "call the one that holds the instances 'instances'"),
    "one dimension": (dict(instances=X[:, 0], state=STATES), "have shape (6,): (rows, features) would be right"),
    "a number": (dict(instances=X[0, 0], state=STATES), "have shape (): (rows, features) would be right"),
    "complex ids": (dict(instances=X, state=np.full(6, 1j)), "column 'state' cannot be read"),
    "no column": (dict(instances=X, county=STATES), "has no column 'state'; there are 'county'"),
    "no columns": (dict(instances=X), "has no column 'state'; there are no columns"),
}


@pytest.mark.parametrize(("arrays", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_an_archive_is_named(savez, arrays, said):
    path = savez(**arrays)
    with pytest.raises(ValueError) as error:
        Bags.from_tables(path, RESULTS, bag="state")
    assert said in str(error.value)
    assert str(path) in str(error.value)


def bytes_of(save, tmp_path, **arrays):
    path = tmp_path / "whole"
    with path.open("wb") as file:
        save(file, *arrays.values()) if save is np.save else save(file, **arrays)
    return path.read_bytes()


NO_ARRAYS = {
    "garbage": ("data.npz", lambda folder: b"garbage", "is not a file of arrays that can be read"),
    "cut archive": (
        "data.npz",
        lambda folder: bytes_of(np.savez, folder, a=X)[:-30],
        "is not a file of arrays that",
    ),
    "empty": ("data.npy", lambda folder: b"", "is not a file of arrays that can be read"),
    "cut array": ("data.npy", lambda folder: bytes_of(np.save, folder, a=X)[:-30], "is not a file of arrays that"),
    "array as archive": (
        "data.npz",
        lambda folder: bytes_of(np.save, folder, a=X),
        "is a single array: rename it to .npy",
    ),
    "archive as array": (
        "data.npy",
        lambda folder: bytes_of(np.savez, folder, a=X),
        "is an archive of arrays: rename it to .npz",
    ),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("name", "content", "said"), NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_what_is_no_file_of_arrays_is_named(tmp_path, write, name, content, said):
    path = write(name, content(tmp_path))
    with pytest.raises(ValueError) as error:
        open_rows(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "unsafely" not in str(error.value)
