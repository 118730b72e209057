"""A graph of ONNX that grows node by node."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, compose, helper, inliner, numpy_helper

from llpgan.utils.arrays import Array
from llpgan.utils.version import __version__

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
    """Values are known by name; names of its own begin with a prefix that no reserved name has.

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
        """A value from outside: the shape of one row, and what it is in words."""
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
