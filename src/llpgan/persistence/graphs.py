"""ONNX graphs of all methods and of their preprocessing."""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, compose, helper, inliner, numpy_helper
from sklearn.utils.validation import check_is_fitted

from llpgan.evaluation.calibrate import LEAST_PROBABILITY, Calibrator
from llpgan.methods import SAVED_METHODS
from llpgan.methods.auto_llp import AutoLLP
from llpgan.methods.bag_boosting import BagBoosting
from llpgan.methods.bag_logistic import BagLogistic
from llpgan.methods.base import LLPClassifier
from llpgan.methods.inv_cal import KernelSigmoid
from llpgan.methods.linear import (
    BinaryClassifier,
    ClassicalClassifier,
    Kernel,
    KernelMap,
    NamedKernel,
    Sigmoid,
    Steps,
)
from llpgan.methods.mean_map import AlternatingMeanMap, MeanMap, outputs_to_classes
from llpgan.methods.trees import Tree, read_trees
from llpgan.tables.embedding import FeatureEncoder, load_encoder_backbone
from llpgan.tables.encode import Category, ColumnEncoder, Date, Number, TableEncoder
from llpgan.utils.arrays import Array
from llpgan.utils.version import __version__

if TYPE_CHECKING:
    from torch import nn

    from llpgan.methods.deep import DeepClassifier

OPSET, ML_OPSET = 18, 3  # of ai.onnx and of ai.onnx.ml
ML = "ai.onnx.ml"
ROWS = "rows"  # the name of the dimension that every input and output begins with
TYPES = {
    "uint8": TensorProto.UINT8,
    "int64": TensorProto.INT64,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "str": TensorProto.STRING,
}


class Graph:
    """Values are known by name; generated names begin with a prefix that no reserved name has.

    >>> graph = Graph(reserved=["age"])
    >>> age = graph.input("age", "float64")
    >>> graph.output("twice", "float64", graph.add("Mul", age, graph.constant(np.array(2.0))))
    >>> [node.op_type for node in graph.model({}).graph.node]
    ['Mul', 'Identity']
    """

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self._prefix = "/"
        while any(name.startswith(self._prefix) for name in reserved):
            self._prefix += "/"
        self._n_names = 0
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def input(self, name: str, kind: str, shape: tuple[int, ...] = (), what: str = "") -> str:
        """An input: the shape of one row, and a description."""
        self._inputs.append(helper.make_tensor_value_info(name, TYPES[kind], [ROWS, *shape], what))
        return name

    def output(self, name: str, kind: str, value: str, shape: tuple[int, ...] = ()) -> None:
        """A value for outside."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=self._name()))
        self._outputs.append(helper.make_tensor_value_info(name, TYPES[kind], [ROWS, *shape]))

    def constant(self, values: Array) -> str:
        """An array that the graph holds, in its own type; text as objects."""
        name = self._name()
        self._constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The one output of an operator."""
        name = self._name()
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def cast(self, value: str, kind: str) -> str:
        """The same value in another type."""
        return self.add("Cast", value, to=TYPES[kind])

    def include(self, model: ModelProto, value: str) -> str:
        """The one output of another graph at this value, its one input."""
        inlined = inliner.inline_local_functions(model)
        graph = compose.add_prefix(inlined, f"{self._name()}/").graph
        self._nodes.append(helper.make_node("Identity", [value], [graph.input[0].name], name=self._name()))
        for part in (*graph.node, *graph.initializer):
            del part.metadata_props[:]  # they hold the paths of source files
            part.doc_string = ""
        self._nodes.extend(graph.node)
        self._constants.extend(graph.initializer)
        return str(graph.output[0].name)

    def model(self, metadata: Mapping[str, str]) -> ModelProto:
        """The whole, checked."""
        graph = helper.make_graph(self._nodes, "llpgan", self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model_gen_version(
            graph, opset_imports=opsets, producer_name="llpgan", producer_version=__version__
        )
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        return model

    def _name(self) -> str:
        self._n_names += 1
        return f"{self._prefix}{self._n_names}"


def table_instances(graph: Graph, encoder: TableEncoder) -> str:
    """Instances in single precision, as the encoder makes them, from an input a column."""
    return graph.add("Concat", *(encode_column(column, graph) for column in encoder.columns), axis=1)


@singledispatch
def encode_column(column: ColumnEncoder, graph: Graph) -> str:
    """(rows, features) of a column's input, in single precision."""
    raise TypeError(f"column {column.name!r} is encoded by a {type(column).__name__}, which cannot be exported")


@encode_column.register
def _(column: Number, graph: Graph) -> str:
    unit = "in days, dates since 1970" if isinstance(column, Date) else "a number"
    numbers = graph.input(column.name, "float64", what=f"{unit}; NaN is missing")
    blank = graph.add("IsNaN", numbers)
    filled = graph.add("Where", blank, graph.constant(np.array(column.median)), numbers)
    centred = graph.add("Sub", filled, graph.constant(np.array(column.mean)))
    scaled = graph.cast(graph.add("Div", centred, graph.constant(np.array(column.scale))), "float32")
    parts = [scaled, graph.cast(blank, "float32")] if column.tells_missing else [scaled]
    return graph.add("Concat", *(_upright(graph, part) for part in parts), axis=1)


@encode_column.register
def _(column: Category, graph: Graph) -> str:
    texts = graph.input(column.name, "str", what='a category; "" is missing')
    place = category_positions(column)
    codes = graph.add(
        "LabelEncoder",
        texts,
        domain=ML,
        keys_strings=list(place),
        values_int64s=list(place.values()),
        default_int64=len(column.known) if column.has_other else -1,
    )
    features = graph.constant(np.arange(len(column.features)))
    return graph.cast(graph.add("Equal", _upright(graph, codes), features), "float32")


def category_positions(column: Category) -> dict[str, int]:
    """The feature of each text that has one; −1 has none. An empty text is missing, unless it is known.

    >>> category_positions(Category("city", ("Oslo", "Rome"), has_other=True, tells_missing=True))
    {'': 3, 'Oslo': 0, 'Rome': 1}
    """
    of_missing = len(column.features) - 1 if column.tells_missing else -1
    return {"": of_missing} | {value: position for position, value in enumerate(column.known)}


def _upright(graph: Graph, values: str) -> str:
    """(rows,) as (rows, 1)."""
    return graph.add("Unsqueeze", values, graph.constant(np.array([1])))


class Node(NamedTuple):
    """A node of a tree: a leaf has no children, and a value for one target."""

    tree: int
    node: int
    feature: int
    threshold: float
    children: tuple[int, int] | None
    value: float


def boosted_probabilities(graph: Graph, model: BagBoosting, rows: str) -> str:
    """(rows, classes): the mean over models of the probabilities of their trees' sums."""
    n_models, n_outputs = model.starts_.shape
    texts = [text for trees in model.trees_ for text in trees]
    sums = _add_tree_sums(graph, texts, rows)
    scores = graph.add("Add", sums, graph.constant(np.asarray(model.starts_, np.float64).reshape(1, -1)))
    shape = graph.constant(np.array([-1, n_models, n_outputs]))
    each = graph.add("Reshape", scores, shape)
    if n_outputs == 1:  # the log-odds of the second of two classes
        each = graph.add("Concat", graph.add("Mul", each, graph.constant(np.array(0.0))), each, axis=2)
    return graph.add("ReduceMean", graph.add("Softmax", each, axis=2), graph.constant(np.array([1])), keepdims=0)


def _add_tree_sums(graph: Graph, texts: Sequence[str], rows: str) -> str:
    """(rows, texts): the sum of the trees of each text, in double precision."""
    trees = [(target, tree) for target, text in enumerate(texts) for tree in read_trees(text)]
    if not trees:
        first = graph.add("ReduceSum", rows, graph.constant(np.array([1])), keepdims=1)
        return graph.add("Mul", first, graph.constant(np.zeros((1, len(texts)))))
    nodes = [_nodes(number, tree) for number, (_, tree) in enumerate(trees)]
    attributes = _attributes(nodes, [target for target, _ in trees], len(texts))
    return graph.cast(graph.add("TreeEnsembleRegressor", rows, domain=ML, **attributes), "float64")


def _nodes(number: int, tree: Tree) -> list[Node]:
    """The nodes of a tree, and after them its leaves."""
    n_nodes = len(tree.features)
    sides = [[child if child >= 0 else n_nodes - 1 - child for child in side] for side in (tree.left, tree.right)]
    parts = zip(tree.features, tree.thresholds, *sides, strict=True)
    nodes = [
        Node(number, i, feature, threshold, (a, b), 0.0) for i, (feature, threshold, a, b) in enumerate(parts)
    ]
    leaves = [Node(number, n_nodes + leaf, 0, 0.0, None, value) for leaf, value in enumerate(tree.own.tolist())]
    return nodes + leaves


def _attributes(trees: Sequence[Sequence[Node]], targets: Sequence[int], n_targets: int) -> dict[str, Any]:
    nodes = [node for tree in trees for node in tree]
    leaves = [(node, targets[node.tree]) for node in nodes if node.children is None]
    return {
        "n_targets": n_targets,
        "nodes_treeids": [node.tree for node in nodes],
        "nodes_nodeids": [node.node for node in nodes],
        "nodes_featureids": [node.feature for node in nodes],
        "nodes_modes": ["LEAF" if node.children is None else "BRANCH_LEQ" for node in nodes],
        "nodes_truenodeids": [node.children[0] if node.children else 0 for node in nodes],
        "nodes_falsenodeids": [node.children[1] if node.children else 0 for node in nodes],
        "nodes_values_as_tensor": _doubles("nodes_values", [node.threshold for node in nodes]),
        "target_treeids": [node.tree for node, _ in leaves],
        "target_nodeids": [node.node for node, _ in leaves],
        "target_ids": [target for _, target in leaves],
        "target_weights_as_tensor": _doubles("target_weights", [node.value for node, _ in leaves]),
    }


def _doubles(name: str, values: Sequence[float]) -> Any:
    numbers: Array = np.asarray(values, np.float64)
    return helper.make_tensor(name, TensorProto.DOUBLE, numbers.shape, numbers.tolist())


# From features (rows, d) and known rows (b, d) to (rows, b).
KernelNodes = Callable[[Graph, str, Array, NamedKernel], str]


def kernel_values(graph: Graph, features: str, kernel: Kernel, others: Array) -> str:
    """The kernel of each row and each of the others."""
    if not isinstance(kernel, NamedKernel):
        raise ValueError(
            f"the kernel is a function of your own, which cannot be exported: train with one of "
            f"{', '.join(KERNELS)}"
        )
    return KERNELS[kernel.name](graph, features, others, kernel)


def _linear_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return graph.add("MatMul", features, graph.constant(np.ascontiguousarray(others.T)))


def _affine_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """γ x·y + c."""
    product = _linear_kernel(graph, features, kernel.gamma * others, kernel)
    return graph.add("Add", product, graph.constant(np.array(float(kernel.coef0))))


def _polynomial_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    degree = graph.constant(np.array(float(kernel.degree)))
    return graph.add("Pow", _affine_kernel(graph, features, others, kernel), degree)


def _sigmoid_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return graph.add("Tanh", _affine_kernel(graph, features, others, kernel))


def _rbf_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """exp(−γ ‖x − y‖²), the square multiplied out."""
    squares = graph.add(
        "Add", _sum(graph, graph.add("Mul", features, features)), graph.constant(np.square(others).sum(axis=1))
    )
    distances = graph.add("Sub", squares, _linear_kernel(graph, features, 2 * others, kernel))
    return _decay(graph, graph.add("Max", distances, graph.constant(np.array(0.0))), kernel)


def _laplacian_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    apart = graph.add("Sub", _add_pairs(graph, features), graph.constant(others))
    return _decay(graph, _sum(graph, graph.add("Abs", apart), keepdims=0), kernel)


def _additive_chi2_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """−Σ (x − y)² / (x + y)."""
    return graph.add("Neg", _chi2_distance(graph, features, others))


def _chi2_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return _decay(graph, _chi2_distance(graph, features, others), kernel)


def _cosine_kernel(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    norms = np.linalg.norm(others, axis=1, keepdims=True)
    product = _linear_kernel(graph, features, others / np.where(norms < _TINY, 1.0, norms), kernel)
    norm = graph.add("Sqrt", _sum(graph, graph.add("Mul", features, features)))
    tiny = graph.add("Less", norm, graph.constant(np.array(_TINY)))
    return graph.add("Div", product, graph.add("Where", tiny, graph.constant(np.array(1.0)), norm))


def _chi2_distance(graph: Graph, features: str, others: Array) -> str:
    """Σ (x − y)² / (x + y), of which 0 / 0 is 0."""
    pairs, known = _add_pairs(graph, features), graph.constant(others)
    apart, together = graph.add("Sub", pairs, known), graph.add("Add", pairs, known)
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    divisor = graph.add("Where", graph.add("Equal", together, zero), one, together)
    return _sum(graph, graph.add("Div", graph.add("Mul", apart, apart), divisor), keepdims=0)


def _decay(graph: Graph, distances: str, kernel: NamedKernel) -> str:
    """exp(−γ · distance)."""
    return graph.add("Exp", graph.add("Mul", distances, graph.constant(np.array(-float(kernel.gamma)))))


def _add_pairs(graph: Graph, features: str) -> str:
    return graph.add("Unsqueeze", features, graph.constant(np.array([1])))


def _sum(graph: Graph, values: str, keepdims: int = 1) -> str:
    return graph.add("ReduceSum", values, graph.constant(np.array([-1])), keepdims=keepdims)


_TINY = 10 * np.finfo(np.float64).eps  # a norm below it is zero to scikit-learn
KERNELS: dict[str, KernelNodes] = {
    "linear": _linear_kernel,
    "poly": _polynomial_kernel,
    "polynomial": _polynomial_kernel,
    "sigmoid": _sigmoid_kernel,
    "rbf": _rbf_kernel,
    "laplacian": _laplacian_kernel,
    "cosine": _cosine_kernel,
    "additive_chi2": _additive_chi2_kernel,
    "chi2": _chi2_kernel,
}


def classical_probabilities(graph: Graph, model: ClassicalClassifier, instances: str) -> str:
    """(rows, classes) of instances of any type and shape."""
    rows = graph.cast(graph.add("Flatten", instances, axis=1), "float64")
    shifted = graph.add("Sub", rows, graph.constant(np.asarray(model.shift_, np.float64)))
    features = graph.add("Div", shifted, graph.constant(np.asarray(model.scale_, np.float64)))
    return method_graph(model, graph, features)


@singledispatch
def method_graph(model: ClassicalClassifier, graph: Graph, features: str) -> str:
    """(rows, classes) of features in one scale."""
    raise TypeError(f"{type(model).__name__} is not a method of llpgan: it cannot be exported")


@method_graph.register
def _(model: MeanMap | AlternatingMeanMap, graph: Graph, features: str) -> str:
    classes = outputs_to_classes(len(model.classes_))
    weights, intercept = model.model_.weights.T @ classes, model.model_.intercept @ classes
    return graph.add("Softmax", _affine_scores(graph, features, weights, intercept), axis=1)


@method_graph.register
def _(model: BagLogistic, graph: Graph, features: str) -> str:
    """The mean over its classifiers, stacked along a third axis."""
    if (steps := getattr(model, "steps_", None)) is not None:
        features = graph.add("Concat", features, _add_steps(graph, features, steps), axis=1)
    if model.standardize and model.limit is not None:
        features = _soft_clip(graph, features, model.limit)
    classes = outputs_to_classes(len(model.classes_))
    weights = np.stack([linear.weights.T @ classes for linear in model.models_])
    intercepts = np.stack([(linear.intercept @ classes)[None] for linear in model.models_])
    each = graph.add("Softmax", _affine_scores(graph, features, weights, intercepts), axis=2)
    if (shares := getattr(model, "weights_", None)) is None:
        return graph.add("ReduceMean", each, graph.constant(np.array([0])), keepdims=0)
    weighted = graph.add("Mul", each, graph.constant(shares[:, None, None]))
    return graph.add("ReduceSum", weighted, graph.constant(np.array([0])), keepdims=0)


@method_graph.register
def _(model: BagBoosting, graph: Graph, features: str) -> str:
    return boosted_probabilities(graph, model, features)


@method_graph.register
def _(model: BinaryClassifier, graph: Graph, features: str) -> str:
    of_kernels = [binary for binary in model.binary_ if isinstance(binary, KernelSigmoid)]
    if of_kernels:
        scores = _kernel_scores(graph, of_kernels, features)
    else:
        linear = [binary for binary in model.binary_ if isinstance(binary, Sigmoid)]
        scores = _add_scores(graph, linear, getattr(model, "kernel_map_", None), features)
    return _add_renormalize(graph, _logistic(graph, scores), len(model.binary_))


def _kernel_scores(graph: Graph, classes: list[KernelSigmoid], features: str) -> str:
    """InvCal's: each class has its weights, and all share one kernel and the rows."""
    weights = np.column_stack([binary.weights for binary in classes])
    intercept = np.array([binary.intercept for binary in classes])
    values = kernel_values(graph, features, classes[0].kernel, classes[0].instances)
    return _affine_scores(graph, values, weights, intercept)


def _add_scores(graph: Graph, classes: list[Sigmoid], kernel_map: KernelMap | None, features: str) -> str:
    """Those of a linear model; on a kernel's features, they are sums of the kernel itself."""
    weights = np.column_stack([binary.steepness * binary.model.weights[0] for binary in classes])
    intercept = np.concatenate([binary.steepness * binary.model.intercept for binary in classes])
    if kernel_map is None:
        return _affine_scores(graph, features, weights, intercept)
    values = kernel_values(graph, features, kernel_map.kernel, kernel_map.landmarks)
    return _affine_scores(graph, values, kernel_map.whitening @ weights, intercept)


def _affine_scores(graph: Graph, features: str, weights: Array, intercept: Array) -> str:
    return graph.add("Add", graph.add("MatMul", features, graph.constant(weights)), graph.constant(intercept))


def _add_steps(graph: Graph, features: str, steps: Steps) -> str:
    """See :class:`llpgan.methods.linear.Steps`."""
    taken = graph.add("Gather", features, graph.constant(steps.columns), axis=1)
    above = graph.cast(graph.add("Greater", taken, graph.constant(steps.thresholds)), "float64")
    centred = graph.add("Sub", above, graph.constant(steps.shares))
    return graph.add("Div", centred, graph.constant(steps.scales))


def _soft_clip(graph: Graph, features: str, limit: float) -> str:
    """See :func:`llpgan.methods.bag_logistic.soft_clip`."""
    ratio = graph.add("Div", features, graph.constant(np.array(limit)))
    square = graph.add("Mul", ratio, ratio)
    return graph.add("Div", features, graph.add("Sqrt", graph.add("Add", square, graph.constant(np.array(1.0)))))


def _logistic(graph: Graph, scores: str) -> str:
    """1 / (1 + exp(−score)): onnxruntime's own is zero below −40, where one class may still be the likeliest."""
    odds_against = graph.add("Exp", graph.add("Neg", scores))
    return graph.add("Reciprocal", graph.add("Add", odds_against, graph.constant(np.array(1.0))))


def _add_renormalize(graph: Graph, positive: str, n_outputs: int) -> str:
    """See :func:`llpgan.methods.linear.renormalize`."""
    if n_outputs == 1:
        return graph.add("Concat", graph.add("Sub", graph.constant(np.array(1.0)), positive), positive, axis=1)
    never_zero = graph.add("Max", positive, graph.constant(np.array(np.finfo(np.float64).tiny)))
    total = graph.add("ReduceSum", never_zero, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", never_zero, total)


INSTANCES, PROBABILITIES, PREDICTION = "instances", "probabilities", "prediction"


def assemble_graph(model: LLPClassifier) -> ModelProto:
    """See :func:`llpgan.persistence.onnx.to_onnx`."""
    check_is_fitted(model, "classes_")
    encoder = model.encoder_
    if isinstance(encoder, TableEncoder):
        _refuse_names([column.name for column in encoder.columns])
        graph = Graph([column.name for column in encoder.columns])
        instances = table_instances(graph, encoder)
    elif isinstance(encoder, FeatureEncoder):
        graph = Graph()
        instances = feature_instances(graph, encoder)
    else:
        graph = Graph()
        instances = graph.input(INSTANCES, _input_type(model.instance_type_), tuple(model.instance_shape_))
    probabilities = _probabilities(graph, model, instances)
    if (calibrator := getattr(model, "calibrator_", None)) is not None:
        probabilities = _calibrate(graph, calibrator, probabilities)
    graph.output(PROBABILITIES, "float64", probabilities, (len(model.classes_),))
    _predict(graph, model, probabilities)
    return graph.model(_metadata(model))


def feature_instances(graph: Graph, encoder: FeatureEncoder) -> str:
    """The features of images (rows, 3, height, width), which are bytes in the size of the backbone's input."""
    backbone, preprocess = load_encoder_backbone(encoder), encoder.preprocess
    if backbone.module is None:
        raise ValueError(f"{encoder.backbone} is no torch module: export the model of its features on its own")
    images = graph.cast(graph.input(INSTANCES, "uint8", (3, *preprocess.size), "images, RGB"), "float32")
    mean, std = (np.reshape(values, (3, 1, 1)) * 255 for values in (preprocess.mean, preprocess.std))
    centred = graph.add("Sub", images, graph.constant(mean.astype(np.float32)))
    scaled = graph.add("Div", centred, graph.constant(std.astype(np.float32)))
    network = copy.deepcopy(backbone.module).cpu().float().eval()
    if preprocess.mirror:
        backwards = graph.constant(np.arange(preprocess.size[1])[::-1].copy())
        scaled = graph.add("Concat", scaled, graph.add("Gather", scaled, backwards, axis=3), axis=0)
    exported = export_network(network, (3, *preprocess.size))
    features = graph.add("Flatten", graph.include(exported, scaled), axis=1)
    if not preprocess.mirror:
        return features
    of_both = graph.add("Reshape", features, graph.constant(np.array([2, -1, encoder.n_features])))
    return graph.add("ReduceMean", of_both, graph.constant(np.array([0])), keepdims=0)


def _probabilities(graph: Graph, model: LLPClassifier, instances: str) -> str:
    if isinstance(model, ClassicalClassifier):
        return classical_probabilities(graph, model, instances)
    if isinstance(model, AutoLLP):
        return _weighted_sum(graph, model, instances)
    from llpgan.methods.deep import DeepClassifier

    if isinstance(model, DeepClassifier):
        return deep_probabilities(graph, model, instances)
    if type(model).__name__ in SAVED_METHODS:
        raise TypeError(f"a {type(model).__name__} cannot be exported; llpgan predict takes the saved model")
    raise TypeError(f"{type(model).__name__} is not a method of llpgan: it cannot be exported")


def _calibrate(graph: Graph, calibrator: Calibrator, probabilities: str) -> str:
    """See :meth:`llpgan.evaluation.calibrate.Calibrator.apply`."""
    least = graph.constant(np.array(LEAST_PROBABILITY))
    probabilities = graph.cast(probabilities, "float64")
    if calibrator.kind != "isotonic":
        logs = graph.add("Log", graph.add("Max", probabilities, least))
        centred = graph.add("Sub", logs, graph.add("ReduceMean", logs, graph.constant(np.array([1])), keepdims=1))
        scores = graph.add("Mul", centred, graph.constant(calibrator.slopes))
        return graph.add("Softmax", graph.add("Add", scores, graph.constant(calibrator.intercepts)), axis=1)
    # linear between knots: the first value, and for each piece its slope times how far p is in it
    starts, ends = calibrator.knots[:, :-1], calibrator.knots[:, 1:]
    widths = ends - starts
    slopes = np.diff(calibrator.values, axis=1) / np.where(widths > 0, widths, 1)
    each = graph.add("Unsqueeze", probabilities, graph.constant(np.array([2])))
    reached = graph.add("Min", graph.add("Max", each, graph.constant(starts[None])), graph.constant(ends[None]))
    steps = graph.add("Mul", graph.add("Sub", reached, graph.constant(starts[None])), graph.constant(slopes[None]))
    moved = graph.add("ReduceSum", steps, graph.constant(np.array([2])), keepdims=0)
    corrected = graph.add("Max", graph.add("Add", moved, graph.constant(calibrator.values[:, 0])), least)
    total = graph.add("ReduceSum", corrected, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", corrected, total)


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
    names = model.classes_.astype(np.int64) if whole else np.array(_output_names(model), dtype=object)
    graph.output(PREDICTION, "int64" if whole else "str", graph.add("Gather", graph.constant(names), best))


def _output_names(model: LLPClassifier) -> list[str]:
    return [str(name) for name in model.classes_.tolist()]


def _input_type(instance_type: str) -> str:
    """The type that arrays come in: bytes and single precision as trained, all others in double."""
    name = np.dtype(instance_type).name
    return name if name in ("uint8", "float32") else "float64"


def _metadata(model: LLPClassifier) -> dict[str, str]:
    return {
        "method": type(model).__name__,
        "llpgan": __version__,
        "classes": json.dumps(_output_names(model), ensure_ascii=False),
    }


def _refuse_names(columns: list[str]) -> None:
    for name in columns:
        if name in ("", PROBABILITIES, PREDICTION):
            raise ValueError(
                f"column {name!r} cannot be an input, which needs a name apart from the outputs {PROBABILITIES!r} "
                f"and {PREDICTION!r}: train with another name"
            )


def deep_probabilities(graph: Graph, model: DeepClassifier, instances: str) -> str:
    """(rows, classes) of instances of any type."""
    from llpgan.deep.networks.parts import Logits

    network = export_network(Logits(model.classifier_), model.instance_shape_)
    logits = graph.include(network, graph.cast(instances, "float32"))
    probabilities = graph.add("Softmax", graph.cast(logits, "float64"), axis=1)
    return probabilities if model.temperature_ == 1 else _add_temperature(graph, model.temperature_, probabilities)


def export_network(network: nn.Module, shape: tuple[int, ...]) -> ModelProto:
    """A network as a separate graph, for any number of rows."""
    import torch

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
