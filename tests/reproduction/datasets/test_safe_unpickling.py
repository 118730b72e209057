"""A pickle that calls anything but our stand-ins is refused before it is called."""

import codecs
import os
import pickle

import numpy as np
import pytest
from reproduction.datasets.cifar import read_pickle

from reproduction.datasets import load_cifar10
from tests.reproduction.datasets.written import write_cifar10


class Call:
    """Pickles to a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_a_command_in_a_pickle_is_not_run(tmp_path, rng, protocol):
    write_cifar10(tmp_path, rng)
    evil = pickle.dumps({b"data": Call(os.system, f"touch {tmp_path / 'run'}"), b"labels": [1]}, protocol)
    (tmp_path / "data_batch_1").write_bytes(evil)
    with pytest.raises(
        ValueError, match=r"data_batch_1: .* asks for (posix|nt)\.system, which nothing in it may call"
    ):
        load_cifar10(tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("function", [eval, exec, getattr, open, np.load, np.fromfile, codecs.lookup, bytearray])
def test_nothing_else_is_found_either(function):
    with pytest.raises(ValueError, match="which nothing in it may call"):
        read_pickle("batch", pickle.dumps({b"data": Call(function, "x")}, protocol=2))


def test_a_dotted_name_leads_nowhere():
    dotted = b"\x80\x04\x8c\x07_codecs\x8c\x12encode.__globals__\x93."
    with pytest.raises(ValueError, match=r"asks for _codecs\.encode\.__globals__"):
        read_pickle("batch", dotted)


def test_no_other_codec_is_looked_up():
    with pytest.raises(ValueError, match="a byte string in 'zip', where 'latin1' is expected"):
        read_pickle("batch", pickle.dumps({b"data": Call(codecs.encode, "x", "zip")}, protocol=2))


def test_arrays_of_objects_are_refused():
    with pytest.raises(ValueError, match="an array of type 'O8', where bytes"):
        read_pickle("batch", pickle.dumps({b"data": np.array([[1], "x"], dtype=object)}, protocol=2))


def test_an_array_that_was_never_filled_is_empty():
    bare = b"\x80\x02}(X\x04\x00\x00\x00datacnumpy\nndarray\n)\x81u."
    assert read_pickle("batch", bare)["data"].size == 0


def test_arrays_by_columns_are_turned():
    array = np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3))
    found = read_pickle("batch", pickle.dumps({b"data": array}, protocol=2))["data"]
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
