"""CIFAR: pickled by Python 2 or 3 or binary, in a folder or an archive, the images are the same."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduction.datasets.cifar import pickled_batch

from llpgan.data.datasets import labelled_images
from reproduction.datasets import load_cifar10, load_cifar100
from tests.reproduction.datasets.written import (
    CIFAR10_BATCHES,
    CIFAR10_NAMES,
    COARSE_NAMES,
    FINE_NAMES,
    pack,
    python2_pickle,
    python3_pickle,
    write_cifar10,
    write_cifar10_binary,
    write_cifar100,
)

PICKLED, BINARY = "cifar-10-batches-py", "cifar-10-batches-bin"


def assert_is(split, batches):
    train = [batches[name] for name in CIFAR10_BATCHES[:-1]]
    np.testing.assert_array_equal(split.instances.reshape(-1, 3072), np.concatenate([x for x, _ in train]))
    assert split.labels.tolist() == [label for _, labels in train for label in labels]
    np.testing.assert_array_equal(split.test_instances.reshape(-1, 3072), batches["test_batch"][0])
    assert split.test_labels.tolist() == batches["test_batch"][1]
    assert split.instances.shape[1:] == (3, 32, 32) and split.instances.dtype == np.uint8
    assert split.instances.flags.writeable and split.test_instances.flags.writeable
    assert split.class_names == tuple(CIFAR10_NAMES)


@pytest.mark.parametrize("dump", [python2_pickle, python3_pickle])
@pytest.mark.parametrize("given", [".", PICKLED])
def test_pickled_batches_come_as_written(tmp_path, rng, dump, given):
    batches = write_cifar10(tmp_path / PICKLED, rng, dump)
    assert_is(load_cifar10(tmp_path / given), batches)


def test_the_written_pickles_are_such_as_python_reads(rng):
    images = rng.integers(256, size=(2, 3072), dtype=np.uint8)
    batch = pickle.loads(python2_pickle({b"data": images, b"labels": [3, 4]}), encoding="bytes")
    np.testing.assert_array_equal(batch[b"data"], images)
    assert batch[b"labels"] == [3, 4]


def test_binary_batches_come_as_written(tmp_path, rng):
    batches = write_cifar10_binary(tmp_path / BINARY, rng)
    assert_is(load_cifar10(tmp_path), batches)


@pytest.mark.parametrize(
    ("write", "folder", "archive"),
    [
        (write_cifar10, PICKLED, "cifar-10-python.tar.gz"),
        (write_cifar10_binary, BINARY, "cifar-10-binary.tar.gz"),
    ],
)
@pytest.mark.parametrize("place", [".", "cifar10"])
def test_archives_are_read_in_place(tmp_path, rng, write, folder, archive, place):
    batches = write(tmp_path / "elsewhere" / folder, rng)
    data = tmp_path / "data"
    (data / place).mkdir(parents=True, exist_ok=True)
    packed = pack(tmp_path / "elsewhere" / folder, data / place / archive)
    assert_is(load_cifar10(data), batches)
    assert_is(load_cifar10(packed), batches)
    assert [path for path in data.rglob("*") if path.is_file()] == [packed]


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("layout", ["cifar-100-python", "cifar-100-binary"])
def test_cifar_100_has_fine_and_coarse_labels(tmp_path, rng, layout, coarse):
    written = write_cifar100(tmp_path, rng)
    split = load_cifar100(tmp_path / layout, coarse=coarse)
    images, fine, labels = written["train"]
    np.testing.assert_array_equal(split.instances.reshape(-1, 3072), images)
    assert split.labels.tolist() == (labels if coarse else fine)
    assert split.test_labels.tolist() == written["test"][2 if coarse else 1]
    assert split.class_names == tuple(COARSE_NAMES if coarse else FINE_NAMES)


def test_where_nothing_is_the_error_says_what_would_be_right(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no CIFAR-10 in .*: .*batches-py or cifar-10-python\.tar\.gz or"):
        load_cifar10(tmp_path)


def test_a_missing_batch_is_named(tmp_path, rng):
    write_cifar10(tmp_path, rng)
    (tmp_path / "data_batch_4").unlink()
    with pytest.raises(FileNotFoundError, match="no file data_batch_4 in"):
        load_cifar10(tmp_path)


def some(n=3, **entries):
    batch = {b"data": np.zeros((n, 3072), np.uint8), b"labels": [0] * n}
    return python3_pickle(batch | {key.encode(): value for key, value in entries.items()})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (some(labels=[0, 1]), "3 images, but 2 labels"),
        (some(labels=[0, 10, 1]), "image 1 has label 10, but the classes are 0 to 9"),
        (some(labels=[0, -1, 1]), "image 1 has label -1"),
        (some(labels=[0.5, 1.0, 1.0]), "labels must be a list of whole numbers, got float64"),
        (some(labels=5), "'labels' is not a list of numbers or names"),
        (some(labels=[[1], [2], [3]]), "'labels' is not a list of numbers or names"),
        (some(labels=[0, 2**70, 1]), "labels must be a list of whole numbers, got object"),
        (some(n=0), "there are no images"),
        (some(data=np.zeros((3, 784), np.uint8)), r"'data' has shape \(3, 784\), where \(images, 3072\)"),
        (some(data=np.zeros((3, 3072))), "an array of type 'f8', where bytes"),
        (some(data=[1, 2]), r"'data' has shape \(2,\)"),
        (
            python2_pickle({b"data": np.zeros((3, 3072), np.uint8), b"fine_labels": [1]}),
            "no entry 'labels'; there are",
        ),
        (python3_pickle([1, 2]), "holds a list, where a dict is expected"),
        (some()[:-100], "not a pickle of byte arrays: "),
        (b"", "not a pickle of byte arrays: "),
        (b"<html>not found</html>", "not a pickle of byte arrays: "),
    ],
)
def test_what_is_wrong_with_a_pickle_is_named(tmp_path, rng, content, message):
    write_cifar10(tmp_path, rng)
    (tmp_path / "data_batch_2").write_bytes(content)
    with pytest.raises(ValueError, match=f"data_batch_2: .*{message}"):
        load_cifar10(tmp_path)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_a_damaged_pickle_is_read_or_refused_with_a_message(place, damage):
    content = bytearray(python2_pickle({b"labels": [1, 2], b"data": np.zeros((2, 3072), np.uint8)}))
    content[place : place + len(damage)] = damage
    try:
        images, labels = labelled_images("batch", *pickled_batch("batch", bytes(content), key="labels"), 10)
        assert images.shape == (len(labels), 3, 32, 32)
    except ValueError as error:
        assert str(error).startswith("batch: ")


def test_a_binary_batch_that_is_cut_short(tmp_path, rng):
    write_cifar10_binary(tmp_path, rng)
    path = tmp_path / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        ValueError, match=r"test_batch.bin: 9218 bytes are no whole number of images of 3073 bytes"
    ):
        load_cifar10(tmp_path)


def test_too_few_names_of_classes(tmp_path, rng):
    write_cifar10_binary(tmp_path, rng)
    (tmp_path / "batches.meta.txt").write_text("cat\ndog\n")
    with pytest.raises(ValueError, match=r"batches.meta.txt: 2 names of classes, where 10 are expected"):
        load_cifar10(tmp_path)
