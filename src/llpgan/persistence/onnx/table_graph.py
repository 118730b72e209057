"""A user's columns as instances: what :mod:`llpgan.tables.column_encoders` do, as nodes of a graph."""

from functools import singledispatch

import numpy as np

from llpgan.persistence.onnx.onnx_graph import ML, Graph
from llpgan.tables.column_encoders import Category, ColumnEncoder, Date, Number
from llpgan.tables.table_encoder import TableEncoder


def table_instances(graph: Graph, encoder: TableEncoder) -> str:
    """Instances in single precision, as the encoder makes them, from an input a column."""
    return graph.add("Concat", *(encoded(column, graph) for column in encoder.columns), axis=1)


@singledispatch
def encoded(column: ColumnEncoder, graph: Graph) -> str:
    """(rows, features) of a column's input, in single precision."""
    raise TypeError(f"column {column.name!r} is encoded by a {type(column).__name__}, which cannot be exported")


@encoded.register
def _(column: Number, graph: Graph) -> str:
    unit = "in days, dates since 1970" if isinstance(column, Date) else "a number"
    numbers = graph.input(column.name, "float64", what=f"{unit}; NaN is missing")
    blank = graph.add("IsNaN", numbers)
    filled = graph.add("Where", blank, graph.constant(np.array(column.median)), numbers)
    centred = graph.add("Sub", filled, graph.constant(np.array(column.mean)))
    scaled = graph.cast(graph.add("Div", centred, graph.constant(np.array(column.scale))), "float32")
    parts = [scaled, graph.cast(blank, "float32")] if column.tells_missing else [scaled]
    return graph.add("Concat", *(_upright(graph, part) for part in parts), axis=1)


@encoded.register
def _(column: Category, graph: Graph) -> str:
    texts = graph.input(column.name, "str", what='a category; "" is missing')
    place = positions(column)
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


def positions(column: Category) -> dict[str, int]:
    """The feature of each text that has one of its own; −1 has none. An empty text is missing, unless it is known.

    >>> positions(Category("city", ("Oslo", "Rome"), has_other=True, tells_missing=True))
    {'': 3, 'Oslo': 0, 'Rome': 1}
    """
    of_missing = len(column.features) - 1 if column.tells_missing else -1
    return {"": of_missing} | {value: position for position, value in enumerate(column.known)}


def _upright(graph: Graph, values: str) -> str:
    """(rows,) as (rows, 1)."""
    return graph.add("Unsqueeze", values, graph.constant(np.array([1])))
