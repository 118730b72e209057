"""Moments of columns in one scale: stable far from zero, and refused where there are none."""

import numpy as np
import pytest

from llpgan.bags import Bags
from llpgan.bags.on_disk import TO_ZERO, StoredInstances, column_moments, robust_scale
from llpgan.methods.bag_logistic import BagLogistic


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1.0, 1e37])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_moments_are_those_of_the_column_in_any_unit(unit, shift, rng):
    column = rng.normal(size=(10_000, 1)) + shift
    mean, deviation = column_moments(unit * column)
    np.testing.assert_allclose(mean, unit * column.mean(), rtol=1e-6, atol=1e-9 * unit)
    np.testing.assert_allclose(deviation, unit * column.std(), rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, -1e18, 1e38])
def test_a_constant_column_is_known_as_such(value):
    mean, scale = robust_scale(np.full((5000, 1), value))
    assert mean.tolist() == [value]
    assert scale.tolist() == [TO_ZERO]


def test_a_column_that_varies_in_its_last_digits_is_constant_too(rng):
    assert robust_scale(1e18 + rng.integers(-500, 500, size=(100, 1)))[1].tolist() == [TO_ZERO]
    assert robust_scale(1e9 + rng.integers(-500, 500, size=(100, 1)))[1] < 500


def test_values_that_are_not_finite_are_found_though_a_file_was_said_to_have_none(tmp_path, blobs):
    instances, labels, groups = blobs
    broken = instances.copy()
    broken[33, 2] = np.nan
    np.save(tmp_path / "x.npy", broken)
    stored = StoredInstances(tmp_path / "x.npy", finite=True)
    with pytest.raises(ValueError, match="NaN in row 33, column 2"):
        BagLogistic().fit_bags(Bags.from_labels(stored, labels, groups))
    fitted = BagLogistic(n_resamples=2, random_state=0).fit(instances, labels, groups=groups)
    with pytest.raises(ValueError, match="NaN in row 33, column 2"):
        fitted.predict(stored)
