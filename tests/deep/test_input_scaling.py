"""Tables are standardised column by column, images put into [−1, 1]; and back."""

import numpy as np
import pytest
import torch

from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.deep.images import Scaling, Unscaling


def test_columns_of_a_table_are_standardised(rng):
    table = rng.normal(size=(10_000, 3)) * [1, 100, 0.01] + [0, 1e4, 5]
    scaled = Scaling.from_instances(table)(torch.tensor(table, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-2)
    np.testing.assert_allclose(scaled.std(0), 1, atol=1e-2)


def test_a_constant_column_becomes_zero():
    table = np.full((10, 1), 1e6)
    assert Scaling.from_instances(table)(torch.tensor(table, dtype=torch.float32)).abs().max() == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_images_are_scaled_by_their_range(dtype):
    images = np.array([0, 4, 16, 8], dtype).reshape(1, 1, 2, 2)
    assert Scaling.from_instances(images)(torch.tensor(images)).ravel().tolist() == [-1, -0.5, 1, 0]


def test_the_range_is_that_of_all_images():
    images = np.zeros((3000, 1, 1, 1), np.uint8)
    images[-1] = 16
    assert Scaling.from_instances(images)(torch.tensor(images))[[0, -1]].ravel().tolist() == [-1, 1]


def test_unscaling_undoes_scaling(rng):
    table = rng.normal(size=(20, 3)) * [1, 100, 0.01] + 5
    scaling = Scaling.from_instances(table)
    rows = torch.tensor(table, dtype=torch.float32)
    torch.testing.assert_close(Unscaling(scaling)(scaling(rows)), rows)


def test_the_way_back_of_a_constant_column_is_its_value(rng):
    table = np.column_stack([rng.normal(size=20), np.full(20, 7.0)])
    fakes = Unscaling(Scaling.from_instances(table))(torch.full((2, 2), 5.0, requires_grad=True))
    assert fakes[:, 1].tolist() == [7, 7]
    fakes.sum().backward()
    assert torch.isfinite(fakes).all()


def test_a_column_beyond_single_precision_is_left_out_with_a_warning(rng):
    table = np.column_stack([rng.normal(size=20), 1e12 + rng.normal(size=20)])
    with pytest.warns(TrainingWarning, match="column 1 varies too little"):
        scaling = Scaling.from_instances(table)
    assert scaling(torch.tensor(table, dtype=torch.float32))[:, 1].abs().max() == 0


def test_a_value_far_beyond_the_training_stays_finite():
    scaled = Scaling.from_instances(np.array([[0.0], [1e-20]]))(torch.tensor([[1e38], [-1e38]]))
    assert torch.isfinite(scaled.square()).all()
    assert scaled[0] > 0 > scaled[1]
