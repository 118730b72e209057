"""``llpgan export``: a saved model for machines without llpgan."""

from pathlib import Path
from typing import Literal

from llpgan.commands.terminal import terminal
from llpgan.files import refuse_existing, whole_file
from llpgan.model_files import load
from llpgan.onnx_export import to_onnx


def export(
    format: Literal["onnx"],  # noqa: A002, the word that users give
    model: str,
    *,
    out: str = "model.onnx",
    overwrite: bool = False,
) -> None:
    """Write a saved model as one file for onnxruntime: from columns as they come to probabilities.

    Args:
        format: onnx.
        model: the folder of a saved model.
        out: the file to write.
        overwrite: replace the file that is there.
    """
    refuse_existing(Path(out), overwrite)
    exported = to_onnx(load(model))
    with whole_file(Path(out)) as aside:
        aside.write_bytes(exported.SerializeToString())
    inputs = ", ".join(value.name for value in exported.graph.input)
    terminal(stderr=True).print(f"saved {out}: inputs {inputs}")
