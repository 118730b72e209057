"""IDX files: read as written, plain or gzip; what is not one is named."""

import gzip
import shutil

import numpy as np
import pytest

from reproduction.datasets import load_fashion_mnist, load_mnist
from tests.reproduction.datasets.written import idx, write_mnist

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", [".", "mnist"])
def test_images_and_labels_come_as_written(tmp_path, rng, zipped, place):
    written = write_mnist(tmp_path / place, rng, zipped)
    mnist = load_mnist(tmp_path)
    np.testing.assert_array_equal(mnist.instances[:, 0], written["train"][0])
    np.testing.assert_array_equal(mnist.labels, written["train"][1])
    np.testing.assert_array_equal(mnist.test_instances[:, 0], written["t10k"][0])
    np.testing.assert_array_equal(mnist.test_labels, written["t10k"][1])
    assert mnist.instances.dtype == np.uint8 and mnist.labels.dtype == np.int64
    assert mnist.instances.flags.writeable
    assert mnist.class_names[7] == "7"


def test_fashion_mnist_has_its_own_folder(tmp_path, rng):
    write_mnist(tmp_path / "mnist", rng)
    written = write_mnist(tmp_path / "fashion-mnist", rng)
    fashion = load_fashion_mnist(str(tmp_path))
    np.testing.assert_array_equal(fashion.instances[:, 0], written["train"][0])
    assert fashion.class_names[9] == "Ankle boot"


def test_a_gzip_file_may_have_lost_its_ending(tmp_path, rng):
    write_mnist(tmp_path, rng)
    (tmp_path / f"{IMAGES}.gz").rename(tmp_path / IMAGES)
    assert len(load_mnist(tmp_path).instances) == 6


def test_where_nothing_is_the_error_says_what_would_be_right(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=rf"no MNIST in .*mnist and {tmp_path}: .* {IMAGES} or {IMAGES}\.gz"
    ):
        load_mnist(tmp_path)


def test_a_missing_file_is_named(tmp_path, rng):
    write_mnist(tmp_path, rng)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match="there should be t10k-labels-idx1-ubyte or"):
        load_mnist(tmp_path)


def test_labels_where_images_are_expected(tmp_path, rng):
    write_mnist(tmp_path, rng)
    shutil.copy(tmp_path / f"{LABELS}.gz", tmp_path / f"{IMAGES}.gz")
    with pytest.raises(ValueError, match=r"train-images.*: labels, magic number 2049, where images \(2051\)"):
        load_mnist(tmp_path)


def test_images_where_labels_are_expected(tmp_path, rng):
    write_mnist(tmp_path, rng)
    shutil.copy(tmp_path / f"{IMAGES}.gz", tmp_path / f"{LABELS}.gz")
    with pytest.raises(ValueError, match=r"train-labels.*: images, magic number 2051, where labels \(2049\)"):
        load_mnist(tmp_path)


def test_a_gzip_file_that_is_cut_short(tmp_path, rng):
    write_mnist(tmp_path, rng)
    path = tmp_path / f"{IMAGES}.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.gz: the gzip file is cut short or damaged"):
        load_mnist(tmp_path)


def test_a_gzip_file_that_is_damaged(tmp_path, rng):
    write_mnist(tmp_path, rng)
    path = tmp_path / f"{IMAGES}.gz"
    content = bytearray(path.read_bytes())
    content[-6] ^= 255  # in the checksum
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cut short or damaged"):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(np.zeros((6, 28, 28)))[:-1], r"announces 4704 bytes of shape \(6, 28, 28\), but there are only 4703"),
        (idx(np.zeros((6, 28, 28))) + b"x", "announces 4704 bytes .* but there are more"),
        (idx(np.zeros((6, 28, 28)))[:9], "ends after 9 bytes, within the header"),
        (b"\0\0\x08\x03" + 12 * b"\xff", r"announces \d{29} bytes .* but there are only 0"),
        (b"", "ends after 0 bytes, within the header"),
        (b"<html>not found</html>", r"magic number \d+, where images \(2051\) are expected"),
        (idx(np.zeros((6, 32, 32))), "images of 32 x 32, where 28 x 28 are expected"),
        (idx(np.zeros((5, 28, 28))), "5 images, but 6 labels: there must be one for each"),
    ],
)
def test_what_is_wrong_with_images_is_named(tmp_path, rng, content, message):
    write_mnist(tmp_path, rng, zipped=False)
    (tmp_path / IMAGES).write_bytes(content)
    with pytest.raises(ValueError, match=f"{IMAGES}: .*{message}"):
        load_mnist(tmp_path)


def test_a_label_that_is_no_class(tmp_path, rng):
    write_mnist(tmp_path, rng)
    (tmp_path / f"{LABELS}.gz").write_bytes(gzip.compress(idx([0, 1, 2, 11, 4, 5])))
    with pytest.raises(ValueError, match="image 3 has label 11, but the classes are 0 to 9"):
        load_mnist(tmp_path)
