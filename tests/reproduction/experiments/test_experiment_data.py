import numpy as np
import pytest
from reproduction.cells import Cell
from reproduction.inputs import Data, load_data, make_bags
from reproduction.run import measure_error


def test_two_classes_and_a_limit_on_rows():
    cell = Cell("digits", "DLLP", bag_size=8, classes=(4, 9), train_rows=100, test_rows=20)
    data = load_data(cell, "data")
    assert (len(data.labels), len(data.test_labels)) == (100, 20)
    assert set(data.labels) == set(data.test_labels) == {4, 9}
    np.testing.assert_array_equal(data.labels, load_data(cell, "data").labels)


def test_a_draw_decides_the_bags_and_not_the_rows():
    one, two = (Cell("digits", "DLLP", bag_size=8, draw=draw, train_rows=80) for draw in (0, 1))
    data = load_data(one, "data")
    assert data.instances.shape == load_data(two, "data").instances.shape
    assert not np.array_equal(make_bags(one, data).bag_index, make_bags(two, data).bag_index)


@pytest.mark.parametrize("kind", ["random", "feature", "clustered", "dirichlet"])
def test_every_kind_has_bags_of_about_the_size(kind):
    cell = Cell("digits", "DLLP", bag_kind=kind, bag_size=20, train_rows=400)
    bags = make_bags(cell, load_data(cell, "data"))
    assert 10 <= bags.n_bags <= 20
    assert bags.proportions.shape[1] == 10


def test_bags_by_columns_hold_rows_that_agree(rng):
    education = rng.choice(["school", "college"], 60)
    data = Data(rng.normal(size=(60, 2)), rng.integers(2, size=60), np.zeros((1, 2)), np.zeros(1), (education,))
    bags = make_bags(Cell("adult", "DLLP", bag_kind="feature", bag_size=5), data)
    assert bags.n_bags == 2
    assert all(len(set(education[bags.rows_of(bag)])) == 1 for bag in range(2))


@pytest.mark.parametrize(
    ("noise", "level"), [("laplace", 1), ("gaussian", 1), ("rounded", 0.25), ("swapped", 0.5)]
)
def test_noise_changes_proportions_and_nothing_else(noise, level):
    clean = Cell("digits", "DLLP", bag_size=16, train_rows=320)
    noisy = Cell("digits", "DLLP", bag_size=16, train_rows=320, noise=noise, noise_level=level)
    data = load_data(clean, "data")
    bags, changed = make_bags(clean, data), make_bags(noisy, data)
    np.testing.assert_array_equal(bags.bag_index, changed.bag_index)
    assert not np.allclose(bags.proportions, changed.proportions)
    with pytest.raises(ValueError, match="say how much noise"):
        make_bags(Cell("digits", "DLLP", bag_size=16, noise=noise), data)


def test_the_error_is_in_per_cent():
    class Always:
        def predict(self, instances):
            return np.ones(len(instances))

    data = Data(np.zeros((1, 1)), np.zeros(1), np.zeros((4, 1)), np.array([1, 1, 1, 0]))
    assert measure_error(Always(), data) == 25


def test_what_is_not_set_leaves_no_trace_in_the_name():
    assert Cell("digits", "DLLP").content == {"dataset": "digits", "method": "DLLP"}
    assert Cell("digits", "DLLP", draw=0).id == Cell("digits", "DLLP").id != Cell("digits", "DLLP", draw=1).id
