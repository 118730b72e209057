import os

import pytest

from llpgan.cli.arguments import refuse_bad_config

LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
BAD = {
    "a billion laughs": (LAUGHS.encode(), r"has an alias \(\*a0\) in line 2: write out the value"),
    "bytes": (bytes(range(256)), "is not text in UTF-8"),
    "zeros": (b"\0\0\0", "is not YAML: .*special characters are not allowed"),
    "brackets": (b"[" * 1000, "is nested more than 32 deep"),
    "half of a list": (b"bag: [state", "is not YAML: .*line 1"),
    "a table": (b"x" * (2**20 + 1), "has more than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("content", "said"), BAD.values(), ids=BAD)
def test_a_config_file_that_is_a_trap_or_no_text_is_refused_by_name(content, said, tmp_path):
    (tmp_path / "options.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=rf"--config: .*options\.yaml {said}"):
        refuse_bad_config(tmp_path / "options.yaml")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "options.yaml")
    with pytest.raises(ValueError, match=r"options\.yaml is not a file"):
        refuse_bad_config(tmp_path / "options.yaml")


def test_usual_options_pass(tmp_path):
    (tmp_path / "options.yaml").write_text("bag: state\nmethod:\n  class_path: DLLP\n  init_args: {epochs: 3}\n")
    refuse_bad_config(tmp_path / "options.yaml")
