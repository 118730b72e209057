"""The methods without a network as nodes of a graph, in double precision as they predict."""

from functools import singledispatch

import numpy as np

from llpgan.estimators.alternating_mean_map import AlternatingMeanMap
from llpgan.estimators.bag_boosting import BagBoosting
from llpgan.estimators.bag_logistic import BagLogistic
from llpgan.estimators.classical import ClassicalClassifier
from llpgan.estimators.inv_cal import KernelSigmoid
from llpgan.estimators.kernels import KernelMap
from llpgan.estimators.mean_map import MeanMap
from llpgan.estimators.mean_operator import outputs_to_classes
from llpgan.estimators.one_vs_rest import BinaryClassifier, Sigmoid
from llpgan.persistence.onnx.kernel_graph import kernel_values
from llpgan.persistence.onnx.onnx_graph import Graph
from llpgan.persistence.onnx.tree_graph import boosted_probabilities
from llpgan.utils.arrays import Array


def classical_probabilities(graph: Graph, model: ClassicalClassifier, instances: str) -> str:
    """(rows, classes) of instances of any type and shape."""
    rows = graph.cast(graph.add("Flatten", instances, axis=1), "float64")
    shifted = graph.add("Sub", rows, graph.constant(np.asarray(model.shift_, np.float64)))
    features = graph.add("Div", shifted, graph.constant(np.asarray(model.scale_, np.float64)))
    return of_features(model, graph, features)


@singledispatch
def of_features(model: ClassicalClassifier, graph: Graph, features: str) -> str:
    """(rows, classes) of features in one scale."""
    raise TypeError(f"{type(model).__name__} is not a method of llpgan: it cannot be exported")


@of_features.register
def _(model: MeanMap | AlternatingMeanMap, graph: Graph, features: str) -> str:
    classes = outputs_to_classes(len(model.classes_))
    weights, intercept = model.model_.weights.T @ classes, model.model_.intercept @ classes
    return graph.add("Softmax", _linear(graph, features, weights, intercept), axis=1)


@of_features.register
def _(model: BagLogistic, graph: Graph, features: str) -> str:
    """The mean over its classifiers, one beside the other along a third axis."""
    if model.standardize and model.limit is not None:
        features = _bent(graph, features, model.limit)
    classes = outputs_to_classes(len(model.classes_))
    weights = np.stack([linear.weights.T @ classes for linear in model.models_])
    intercepts = np.stack([(linear.intercept @ classes)[None] for linear in model.models_])
    each = graph.add("Softmax", _linear(graph, features, weights, intercepts), axis=2)
    return graph.add("ReduceMean", each, graph.constant(np.array([0])), keepdims=0)


@of_features.register
def _(model: BagBoosting, graph: Graph, features: str) -> str:
    return boosted_probabilities(graph, model, features)


@of_features.register
def _(model: BinaryClassifier, graph: Graph, features: str) -> str:
    of_kernels = [binary for binary in model.binary_ if isinstance(binary, KernelSigmoid)]
    if of_kernels:
        scores = _kernel_scores(graph, of_kernels, features)
    else:
        linear = [binary for binary in model.binary_ if isinstance(binary, Sigmoid)]
        scores = _scores(graph, linear, getattr(model, "kernel_map_", None), features)
    return _renormalised(graph, _sigmoid(graph, scores), len(model.binary_))


def _kernel_scores(graph: Graph, classes: list[KernelSigmoid], features: str) -> str:
    """InvCal's: each class has weights of its own, and all have one kernel and the same rows."""
    weights = np.column_stack([binary.weights for binary in classes])
    intercept = np.array([binary.intercept for binary in classes])
    values = kernel_values(graph, features, classes[0].kernel, classes[0].instances)
    return _linear(graph, values, weights, intercept)


def _scores(graph: Graph, classes: list[Sigmoid], kernel_map: KernelMap | None, features: str) -> str:
    """Those of a linear model; on a kernel's features, they are sums of the kernel itself."""
    weights = np.column_stack([binary.steepness * binary.model.weights[0] for binary in classes])
    intercept = np.concatenate([binary.steepness * binary.model.intercept for binary in classes])
    if kernel_map is None:
        return _linear(graph, features, weights, intercept)
    values = kernel_values(graph, features, kernel_map.kernel, kernel_map.landmarks)
    return _linear(graph, values, kernel_map.whitening @ weights, intercept)


def _linear(graph: Graph, features: str, weights: Array, intercept: Array) -> str:
    return graph.add("Add", graph.add("MatMul", features, graph.constant(weights)), graph.constant(intercept))


def _bent(graph: Graph, features: str, limit: float) -> str:
    """See :func:`llpgan.estimators.bag_logistic.bent`."""
    ratio = graph.add("Div", features, graph.constant(np.array(limit)))
    square = graph.add("Mul", ratio, ratio)
    return graph.add("Div", features, graph.add("Sqrt", graph.add("Add", square, graph.constant(np.array(1.0)))))


def _sigmoid(graph: Graph, scores: str) -> str:
    """1 / (1 + exp(−score)): onnxruntime's own is zero below −40, where one class may still be the likeliest."""
    odds_against = graph.add("Exp", graph.add("Neg", scores))
    return graph.add("Reciprocal", graph.add("Add", odds_against, graph.constant(np.array(1.0))))


def _renormalised(graph: Graph, positive: str, n_outputs: int) -> str:
    """See :func:`llpgan.estimators.one_vs_rest.renormalised`."""
    if n_outputs == 1:
        return graph.add("Concat", graph.add("Sub", graph.constant(np.array(1.0)), positive), positive, axis=1)
    never_zero = graph.add("Max", positive, graph.constant(np.array(np.finfo(np.float64).tiny)))
    total = graph.add("ReduceSum", never_zero, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", never_zero, total)
