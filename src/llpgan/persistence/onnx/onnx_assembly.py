"""From a fitted estimator to its graph: inputs, preprocessing, the method, and the predicted class."""

import json

import numpy as np
from onnx import ModelProto
from sklearn.utils.validation import check_is_fitted

from llpgan.estimators import SAVED_METHODS
from llpgan.estimators.auto_llp import AutoLLP
from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.persistence.onnx.classical_graph import classical_probabilities
from llpgan.persistence.onnx.onnx_graph import Graph
from llpgan.persistence.onnx.table_graph import table_instances
from llpgan.tables import TableEncoder
from llpgan.utils.version import __version__

INSTANCES, PROBABILITIES, PREDICTION = "instances", "probabilities", "prediction"


def assembled(model: LLPClassifier) -> ModelProto:
    """See :func:`llpgan.persistence.onnx.to_onnx`."""
    check_is_fitted(model, "classes_")
    encoder = model.encoder_
    if isinstance(encoder, TableEncoder):
        _refuse_names([column.name for column in encoder.columns])
        graph = Graph([column.name for column in encoder.columns])
        instances = table_instances(graph, encoder)
    else:
        graph = Graph()
        instances = graph.input(INSTANCES, _kind(model.instance_type_), tuple(model.instance_shape_))
    probabilities = _probabilities(graph, model, instances)
    graph.output(PROBABILITIES, "float64", probabilities, (len(model.classes_),))
    _predict(graph, model, probabilities)
    return graph.model(_metadata(model))


def _probabilities(graph: Graph, model: LLPClassifier, instances: str) -> str:
    if isinstance(model, ClassicalClassifier):
        return classical_probabilities(graph, model, instances)
    if isinstance(model, AutoLLP):
        return _weighted_sum(graph, model, instances)
    from llpgan.estimators.deep import DeepClassifier
    from llpgan.persistence.onnx.network_graph import deep_probabilities

    if isinstance(model, DeepClassifier):
        return deep_probabilities(graph, model, instances)
    if type(model).__name__ in SAVED_METHODS:
        raise TypeError(f"a {type(model).__name__} cannot be exported; llpgan predict takes the saved model")
    raise TypeError(f"{type(model).__name__} is not a method of llpgan: it cannot be exported")


def _weighted_sum(graph: Graph, model: AutoLLP, instances: str) -> str:
    parts = [
        graph.add("Mul", _probabilities(graph, part, instances), graph.constant(np.array(weight)))
        for part, weight in zip(model.models_, model.weights_.tolist(), strict=True)
    ]
    return graph.add("Sum", *parts)


def _predict(graph: Graph, model: LLPClassifier, probabilities: str) -> None:
    """The most probable class, by name; by number where classes are integers."""
    best = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    whole = model.classes_.dtype.kind in "iu"
    names = model.classes_.astype(np.int64) if whole else np.array(_names(model), dtype=object)
    graph.output(PREDICTION, "int64" if whole else "str", graph.add("Gather", graph.constant(names), best))


def _names(model: LLPClassifier) -> list[str]:
    return [str(name) for name in model.classes_.tolist()]


def _kind(instance_type: str) -> str:
    """The type that arrays come in: bytes and single precision as trained, all others in double."""
    name = np.dtype(instance_type).name
    return name if name in ("uint8", "float32") else "float64"


def _metadata(model: LLPClassifier) -> dict[str, str]:
    return {
        "method": type(model).__name__,
        "llpgan": __version__,
        "classes": json.dumps(_names(model), ensure_ascii=False),
    }


def _refuse_names(columns: list[str]) -> None:
    for name in columns:
        if name in ("", PROBABILITIES, PREDICTION):
            raise ValueError(
                f"column {name!r} cannot be an input, which needs a name apart from the outputs {PROBABILITIES!r} "
                f"and {PREDICTION!r}: train with another name"
            )
