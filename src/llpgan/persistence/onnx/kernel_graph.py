"""The named kernels as nodes of a graph, with rows that are known beforehand."""

from collections.abc import Callable

import numpy as np

from llpgan.estimators.kernels import Kernel, NamedKernel
from llpgan.persistence.onnx.onnx_graph import Graph
from llpgan.utils.arrays import Array

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


def _linear(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return graph.add("MatMul", features, graph.constant(np.ascontiguousarray(others.T)))


def _affine(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """γ x·y + c."""
    product = _linear(graph, features, kernel.gamma * others, kernel)
    return graph.add("Add", product, graph.constant(np.array(float(kernel.coef0))))


def _polynomial(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    degree = graph.constant(np.array(float(kernel.degree)))
    return graph.add("Pow", _affine(graph, features, others, kernel), degree)


def _sigmoid(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return graph.add("Tanh", _affine(graph, features, others, kernel))


def _rbf(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """exp(−γ ‖x − y‖²), the square multiplied out."""
    squares = graph.add("Add", _sum(graph, graph.add("Mul", features, features)), _norms(graph, others))
    distances = graph.add("Sub", squares, _linear(graph, features, 2 * others, kernel))
    return _decay(graph, graph.add("Max", distances, graph.constant(np.array(0.0))), kernel)


def _laplacian(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    apart = graph.add("Sub", _pairs(graph, features), graph.constant(others))
    return _decay(graph, _sum(graph, graph.add("Abs", apart), keepdims=0), kernel)


def _additive_chi2(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    """−Σ (x − y)² / (x + y)."""
    return graph.add("Neg", _chi2_distance(graph, features, others))


def _chi2(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    return _decay(graph, _chi2_distance(graph, features, others), kernel)


def _cosine(graph: Graph, features: str, others: Array, kernel: NamedKernel) -> str:
    norms = np.linalg.norm(others, axis=1, keepdims=True)
    product = _linear(graph, features, others / np.where(norms < _TINY, 1.0, norms), kernel)
    norm = graph.add("Sqrt", _sum(graph, graph.add("Mul", features, features)))
    tiny = graph.add("Less", norm, graph.constant(np.array(_TINY)))
    return graph.add("Div", product, graph.add("Where", tiny, graph.constant(np.array(1.0)), norm))


def _chi2_distance(graph: Graph, features: str, others: Array) -> str:
    """Σ (x − y)² / (x + y), of which 0 / 0 is 0."""
    pairs, known = _pairs(graph, features), graph.constant(others)
    apart, together = graph.add("Sub", pairs, known), graph.add("Add", pairs, known)
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    divisor = graph.add("Where", graph.add("Equal", together, zero), one, together)
    return _sum(graph, graph.add("Div", graph.add("Mul", apart, apart), divisor), keepdims=0)


def _decay(graph: Graph, distances: str, kernel: NamedKernel) -> str:
    """exp(−γ · distance)."""
    return graph.add("Exp", graph.add("Mul", distances, graph.constant(np.array(-float(kernel.gamma)))))


def _pairs(graph: Graph, features: str) -> str:
    return graph.add("Unsqueeze", features, graph.constant(np.array([1])))


def _sum(graph: Graph, values: str, keepdims: int = 1) -> str:
    return graph.add("ReduceSum", values, graph.constant(np.array([-1])), keepdims=keepdims)


def _norms(graph: Graph, others: Array) -> str:
    return graph.constant(np.square(others).sum(axis=1))


_TINY = 10 * np.finfo(np.float64).eps  # a norm below it is zero to scikit-learn
KERNELS: dict[str, KernelNodes] = {
    "linear": _linear,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "sigmoid": _sigmoid,
    "rbf": _rbf,
    "laplacian": _laplacian,
    "cosine": _cosine,
    "additive_chi2": _additive_chi2,
    "chi2": _chi2,
}
