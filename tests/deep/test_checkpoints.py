"""Checkpoints on disk; what is in them, tests of the training say."""

import errno
import os
from pathlib import Path

import pytest
import torch

from llpgan.deep.loop import Checkpoint


def test_a_state_comes_back_and_what_killed_trainings_left_goes(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", {"seed": "0"})
    (tmp_path / ".llpgan-999999999-run.ckpt").write_text("half of a st")
    assert checkpoint.load() is None
    checkpoint.save({"epoch": 1})
    assert checkpoint.load() == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_a_full_disk_is_said_with_the_name_and_leaves_the_last_state(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", {"seed": "0"})
    checkpoint.save({"epoch": 1})

    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"run\.ckpt cannot be written: No space left on device"):
        checkpoint.save({"epoch": 2, "weights": torch.zeros(1000)})
    assert checkpoint.load() == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.ckpt")
    with pytest.raises(ValueError, match=r"run\.ckpt is not a checkpoint"):
        Checkpoint(tmp_path / "run.ckpt", {}).load()
