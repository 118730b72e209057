"""ONNX graphs of networks: apart from the others because this loads torch."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from onnx import ModelProto
from torch import Tensor, nn

from llpgan.methods.deep import DeepClassifier
from llpgan.persistence.graphs import OPSET, ROWS, Graph


class Logits(nn.Module):
    """Of what a classifier says, the logits alone; in single precision, as a saved model predicts."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = copy.deepcopy(classifier).cpu().float().eval()

    def forward(self, instances: Tensor) -> Tensor:
        """(rows, classes)."""
        logits: Tensor = self.classifier(instances)[0]
        return logits


def deep_probabilities(graph: Graph, model: DeepClassifier, instances: str) -> str:
    """(rows, classes) of instances of any type."""
    network = export_network(Logits(model.classifier_), model.instance_shape_)
    logits = graph.include(network, graph.cast(instances, "float32"))
    probabilities = graph.add("Softmax", graph.cast(logits, "float64"), axis=1)
    return probabilities if model.temperature_ == 1 else _add_temperature(graph, model.temperature_, probabilities)


def export_network(network: nn.Module, shape: tuple[int, ...]) -> ModelProto:
    """A network as a separate graph, for any number of rows."""
    rows = torch.export.Dim(ROWS)
    try:
        with _quiet():
            program = torch.onnx.export(
                network,
                (torch.zeros(3, *shape),),
                dynamo=True,
                dynamic_shapes=({0: rows},),
                opset_version=OPSET,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        raise ValueError(f"torch cannot export the classifier: {_reason(error)}") from error
    assert program is not None
    return program.model_proto


def _add_temperature(graph: Graph, temperature: float, probabilities: str) -> str:
    """See :func:`llpgan.methods.calibration.apply_temperature`."""
    powers = graph.add("Pow", probabilities, graph.constant(np.array(1 / temperature)))
    return graph.add("Div", powers, graph.add("ReduceSum", powers, graph.constant(np.array([1])), keepdims=1))


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().split("\n")[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's notes on itself."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
