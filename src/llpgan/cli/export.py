"""``llpgan export``: a saved model for machines without llpgan."""

from pathlib import Path
from typing import Literal

from llpgan.cli.console import terminal
from llpgan.persistence import load
from llpgan.persistence.manifest import files_of_model
from llpgan.persistence.onnx import to_onnx
from llpgan.utils.output_paths import output_file


def export(
    format: Literal["onnx"],  # noqa: A002, the word that users give
    model: str,
    *,
    out: str = "model.onnx",
    overwrite: bool = False,
) -> None:
    """Write a saved model with its preprocessing as one file for onnxruntime.

    Parameters
    ----------
    format : {"onnx"}
        The word onnx.
    model : str
        The folder of a saved model.
    out : str, default="model.onnx"
        The file to write.
    overwrite : bool, default=False
        Replace a file that is there.
    """
    with output_file(Path(out), overwrite=overwrite, inputs=files_of_model(model)) as aside:
        exported = to_onnx(load(model))
        aside.write_bytes(exported.SerializeToString())
    inputs = ", ".join(value.name for value in exported.graph.input)
    terminal(stderr=True).print(f"saved {out}: inputs {inputs}")
