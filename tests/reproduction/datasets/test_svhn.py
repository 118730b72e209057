"""SVHN: the digit 0 is no longer class 10, and images come first."""

import numpy as np
import pytest
from scipy.io import savemat

from reproduction.datasets import load_svhn
from tests.reproduction.datasets.written import write_svhn

PIXELS, DIGITS = np.zeros((32, 32, 3, 4), np.uint8), np.ones((4, 1), np.uint8)


@pytest.mark.parametrize("place", [".", "svhn"])
def test_images_and_digits_come_as_written(tmp_path, rng, place):
    written = write_svhn(tmp_path / place, rng)
    svhn = load_svhn(tmp_path)
    for row in range(7):
        np.testing.assert_array_equal(svhn.instances[row].transpose(1, 2, 0), written["train"][0][..., row])
    assert svhn.labels.tolist() == [0, 9, 8, 7, 6, 5, 4]
    assert svhn.test_instances.shape == (5, 3, 32, 32) and svhn.test_instances.flags.c_contiguous
    assert svhn.class_names[0] == "0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"X": PIXELS}, "no matrix 'y'"),
        ({"y": DIGITS}, "no matrix 'X', where X"),
        ({"X": PIXELS, "y": DIGITS[:3]}, "4 images, but 3 labels"),
        ({"X": PIXELS, "y": 0 * DIGITS}, "image 0 has label 0, but the labels are 1 to 10"),
        ({"X": PIXELS, "y": 11 * DIGITS}, "image 0 has label 11"),
        (
            {"X": PIXELS.transpose(3, 0, 1, 2), "y": DIGITS},
            r"X is uint8 \(4, 32, 32, 3\), where uint8 \(32, 32, 3, im",
        ),
        ({"X": PIXELS.astype(float), "y": DIGITS}, "X is float64"),
        ({"X": PIXELS, "y": DIGITS + 0.5}, "y is float64, where whole numbers are expected"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, rng, content, message):
    write_svhn(tmp_path, rng)
    savemat(tmp_path / "test_32x32.mat", content)
    with pytest.raises(ValueError, match=rf"test_32x32\.mat: {message}"):
        load_svhn(tmp_path)


@pytest.mark.parametrize("keep", [0, 50, 200, 5000])
def test_a_file_that_is_cut_short(tmp_path, rng, keep):
    write_svhn(tmp_path, rng)
    path = tmp_path / "train_32x32.mat"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"train_32x32\.mat: "):
        load_svhn(tmp_path)


def test_where_nothing_is_the_error_says_what_would_be_right(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no SVHN in .*: there should be train_32x32\.mat"):
        load_svhn(tmp_path)
