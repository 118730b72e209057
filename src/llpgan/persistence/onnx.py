"""Export of trained models to ONNX, with their preprocessing, for machines with only onnxruntime.

>>> from llpgan import MeanMap
>>> model = MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], groups=[0, 1, 2, 3])
>>> [output.name for output in to_onnx(model).graph.output]
['probabilities', 'prediction']
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from llpgan.methods.base import LLPClassifier

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["to_onnx"]


def to_onnx(model: LLPClassifier) -> ModelProto:
    """Convert a trained model to an ONNX graph.

    The inputs of the graph are the columns of the table that the model learned from, each with the name of the
    column and of shape (rows,): numbers as double (NaN is missing), dates as double (days since 1970) and
    categories as string ("" is missing). A model of arrays or images has one input, ``instances``. If a
    model learned from features of a pretrained network (``features``), that network is part of the graph, and the
    input is images in the size that the network sees, as bytes (rows, 3, height, width). The outputs are
    ``probabilities`` of shape (rows, classes), and ``prediction``, the class of each row: int64 if classes are
    integers, otherwise string.

    Parameters
    ----------
    model : LLPClassifier
        Any fitted estimator, except one with a kernel of the user's own.

    Returns
    -------
    onnx.ModelProto
        The graph, which has been checked.

    Raises
    ------
    ModuleNotFoundError
        If the packages ``onnx`` and ``onnxscript`` are not installed.
    """
    if any(find_spec(package) is None for package in ("onnx", "onnxscript")):
        raise ModuleNotFoundError("ONNX is not installed: pip install 'llpgan[onnx]'")
    from llpgan.persistence.graphs import assemble_graph

    return assemble_graph(model)
