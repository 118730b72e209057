"""Checkpoints on disk; what is in them, tests of the training say."""

from llpgan.checkpoints import Checkpoint


def test_a_state_comes_back_and_what_killed_trainings_left_goes(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.ckpt", {"seed": "0"})
    (tmp_path / ".llpgan-999999999-run.ckpt").write_text("half of a st")
    assert checkpoint.load() is None
    checkpoint.save({"epoch": 1})
    assert checkpoint.load() == {"epoch": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]
