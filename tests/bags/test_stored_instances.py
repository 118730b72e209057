import pickle

import numpy as np
import pytest

from llpgan import DLLP, Bags
from llpgan.bags.grouping import RowsInOrder, SortedBagIndex, consecutive_runs, rows_of_bags
from llpgan.bags.on_disk import StoredInstances


@pytest.fixture
def array():
    return np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)


@pytest.fixture
def stored(array, tmp_path):
    np.save(tmp_path / "x.npy", array)
    return StoredInstances(tmp_path / "x.npy")


@pytest.mark.parametrize(
    "which",
    [
        slice(None),
        slice(3, 9),
        slice(9, 3),
        slice(0, 50, 7),
        slice(None, None, -1),
        slice(-4, None),
        7,
        -1,
        [4, 5, 6, 1, 2, 49, 49],
        [-1, 0],
        [],
        np.arange(50) % 3 == 0,
        np.random.default_rng(1).permutation(50),
    ],
)
def test_it_is_indexed_as_an_array_is(stored, array, which):
    np.testing.assert_array_equal(stored[which], array[which])


def test_it_has_what_an_array_has(stored, array):
    assert (stored.shape, stored.dtype, stored.ndim, stored.nbytes) == (array.shape, array.dtype, 2, array.nbytes)
    assert len(stored) == 50
    np.testing.assert_array_equal(np.asarray(stored), array)
    np.testing.assert_array_equal(list(stored), array)
    assert np.asarray(stored, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("which", [50, [-51], "age", [[1, 2]], [0.5]])
def test_other_rows_are_refused(stored, which):
    with pytest.raises((IndexError, ValueError)):
        stored[which]


def test_images_and_bytes(tmp_path):
    images = np.random.default_rng(0).integers(256, size=(6, 3, 4, 5)).astype(np.uint8)
    np.save(tmp_path / "x.npy", images)
    np.testing.assert_array_equal(StoredInstances(tmp_path / "x.npy")[[5, 2]], images[[5, 2]])


def test_another_process_opens_the_file_anew(stored, array):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stored))[:], array)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-1], "is cut short: it has 727 bytes of 728"),
        (lambda data: b"no" + data, "is not a file of an array"),
    ],
)
def test_a_damaged_file_is_refused(stored, damage, said):
    stored.path.write_bytes(damage(stored.path.read_bytes()))
    with pytest.raises(ValueError, match=said):
        StoredInstances(stored.path)


def test_objects_and_columns_of_fortran_are_refused(tmp_path):
    np.save(tmp_path / "o.npy", np.array([[{}]]), allow_pickle=True)
    np.save(tmp_path / "f.npy", np.asfortranarray(np.eye(3)))
    with pytest.raises(ValueError, match="holds objects"):
        StoredInstances(tmp_path / "o.npy")
    with pytest.raises(ValueError, match="save it in C order"):
        StoredInstances(tmp_path / "f.npy")


def test_bags_of_a_users_own_file_train_and_predict_as_in_memory(stored, array):
    labels, groups = array[:, 0] > 0, np.arange(50) % 5
    counts = {bag: [sum(~labels[groups == bag]), sum(labels[groups == bag])] for bag in range(5)}
    models = [
        DLLP(epochs=2, random_state=0).fit_bags(Bags.from_arrays(instances, groups, counts=counts))
        for instances in (stored, array)
    ]
    np.testing.assert_array_equal(models[0].predict_proba(stored), models[1].predict_proba(array))
    with pytest.raises(ValueError, match=r"instances of shape \(2,\)"):
        np.save(stored.path.with_name("y.npy"), array[:, :2])
        models[0].predict_proba(StoredInstances(stored.path.with_name("y.npy")))


def test_numbers_that_are_not_finite_are_found(stored, array):
    array[7, 1] = np.nan
    np.save(stored.path, array)
    with pytest.raises(ValueError, match="NaN in row 7, column 1"):
        Bags.from_labels(StoredInstances(stored.path), np.arange(50) % 2)


def test_sorted_rows_need_no_arrays():
    sizes = np.array([2, 1, 4])
    index, plain = SortedBagIndex(sizes), np.repeat(np.arange(3), sizes)
    np.testing.assert_array_equal(index, plain)
    np.testing.assert_array_equal(index * 2 + 1, plain * 2 + 1)
    np.testing.assert_array_equal(index[[-1, 0]], plain[[-1, 0]])
    np.testing.assert_array_equal(index[plain == 2], plain[plain == 2])
    np.testing.assert_array_equal(np.eye(7)[:, RowsInOrder(7)], np.eye(7))
    assert index[3] == 2
    bags, same = (
        Bags(np.arange(7.0)[:, None], of_row, np.full((3, 2), 0.5), ("a", "b", "c"), np.array([0, 1]))
        for of_row in (index, plain)
    )
    assert isinstance(bags.row_order, RowsInOrder)
    for name in ("sizes", "starts", "row_order", "prior"):
        np.testing.assert_array_equal(getattr(bags, name), getattr(same, name))
    np.testing.assert_array_equal(bags.take_bags([2, 0]).instances, same.take_bags([2, 0]).instances)
    np.testing.assert_array_equal(bags.means(bags.instances), same.means(same.instances))


def test_an_empty_bag_is_refused():
    with pytest.raises(ValueError, match="bag 'b' is empty"):
        Bags(np.eye(3), SortedBagIndex(np.array([3, 0])), np.full((2, 2), 0.5), ("a", "b"), np.array([0, 1]))


def test_runs_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    for _ in range(20):
        starts, sizes = rng.integers(100, size=4), rng.integers(1, 5, size=4)
        rows = rows_of_bags(starts, sizes)
        assert rows.tolist() == [start + i for start, n in zip(starts, sizes, strict=True) for i in range(n)]
        found = [rows[start:stop].tolist() for start, stop in consecutive_runs(rows)]
        assert all(run == list(range(run[0], run[0] + len(run))) for run in found)
        assert [row for run in found for row in run] == rows.tolist()
    assert consecutive_runs(np.array([], dtype=int)).shape == (0, 2)
