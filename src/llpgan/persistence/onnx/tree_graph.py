"""Boosted trees as one node of a graph."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

from llpgan.estimators._tree_engine import booster_of
from llpgan.estimators.bag_boosting import BagBoosting
from llpgan.persistence.onnx.onnx_graph import ML, Graph
from llpgan.utils.arrays import Array


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
    sums = _sums(graph, texts, rows)
    scores = graph.add("Add", sums, graph.constant(np.asarray(model.starts_, np.float64).reshape(1, -1)))
    shape = graph.constant(np.array([-1, n_models, n_outputs]))
    each = graph.add("Reshape", scores, shape)
    if n_outputs == 1:  # the log-odds of the second of two classes
        each = graph.add("Concat", graph.add("Mul", each, graph.constant(np.array(0.0))), each, axis=2)
    return graph.add("ReduceMean", graph.add("Softmax", each, axis=2), graph.constant(np.array([1])), keepdims=0)


def _sums(graph: Graph, texts: Sequence[str], rows: str) -> str:
    """(rows, texts): the sum of the trees of each text, in double precision."""
    trees = [(target, root) for target, text in enumerate(texts) for root in _roots(text)]
    if not trees:
        first = graph.add("ReduceSum", rows, graph.constant(np.array([1])), keepdims=1)
        return graph.add("Mul", first, graph.constant(np.zeros((1, len(texts)))))
    nodes = [_nodes(root, tree) for tree, (_, root) in enumerate(trees)]
    attributes = _attributes(nodes, [target for target, _ in trees], len(texts))
    return graph.cast(graph.add("TreeEnsembleRegressor", rows, domain=ML, **attributes), "float64")


def _roots(text: str) -> list[dict[str, Any]]:
    if not text:
        return []
    return [tree["tree_structure"] for tree in booster_of(text).dump_model()["tree_info"]]


def _nodes(root: dict[str, Any], tree: int) -> list[Node]:
    """The nodes of a tree, parents before children."""
    found: list[Node] = []
    waiting = [(root, 0)]
    n_named = 1
    while waiting:
        node, name = waiting.pop()
        if "split_feature" not in node:
            found.append(Node(tree, name, 0, 0.0, None, node["leaf_value"]))
            continue
        children = (n_named, n_named + 1)
        n_named += 2
        found.append(Node(tree, name, node["split_feature"], node["threshold"], children, 0.0))
        waiting += [(node["left_child"], children[0]), (node["right_child"], children[1])]
    return sorted(found, key=lambda node: node.node)


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
