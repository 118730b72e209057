"""A saved model and the data that it is asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llpgan.estimators.base import LLPClassifier
from llpgan.persistence import load
from llpgan.tables import Rows, RowStream, open_rows, open_stream
from llpgan.tables.image_sources import ImageEncoder
from llpgan.utils.arrays import Array


def opened(
    model: str, data: str, image: str | None = None, resize: bool = False, ids: Sequence[str] = ()
) -> tuple[LLPClassifier, Rows]:
    """The model of a folder, and the rows of a file, read as in its training; ``ids`` say the bags."""
    loaded = _loaded(model, image, resize)
    return loaded, open_rows(data, _text_columns(loaded), ids)


def opened_stream(
    model: str, data: str, image: str | None = None, resize: bool = False
) -> tuple[LLPClassifier, RowStream]:
    """The same, where the rows come part after part."""
    loaded = _loaded(model, image, resize)
    return loaded, open_stream(data, _text_columns(loaded))


def _loaded(model: str, image: str | None, resize: bool) -> LLPClassifier:
    """With what the user says of images: which column has their paths, and whether they may have another size."""
    loaded = load(model)
    if image is None and not resize:
        return loaded
    encoder = loaded.encoder_
    if not isinstance(encoder, ImageEncoder):
        given = "image" if image is not None else "resize"
        raise ValueError(f"{model} did not learn from images: leave this option away ({given})")
    loaded.encoder_ = replace(encoder, column=image or encoder.column, resize=resize or encoder.resize)
    return loaded


def _text_columns(model: LLPClassifier) -> Sequence[str]:
    return () if model.encoder_ is None else model.encoder_.text_columns


def tables_in(data: str, options: Mapping[str, Any]) -> list[Any]:
    """The files that bags are made from."""
    return [data, *(options.get(name) for name in ("proportions", "counts", "lower", "upper"))]


def instances_of(model: LLPClassifier, rows: Rows) -> Any:
    """What the model sees of the rows."""
    if model.encoder_ is not None:
        return model.encoder_.encode(rows)
    if rows.array is None:
        raise ValueError(
            f"{rows.name} is no array, but the model was trained on one: give an .npz or .npy, "
            f"or train with Bags.from_tables, which knows what to do with columns"
        )
    _refuse_other_shape(model, rows.name, rows.array)
    return rows.array


def _refuse_other_shape(model: LLPClassifier, name: str, array: Array) -> None:
    if array.shape[1:] != model.instance_shape_:
        raise ValueError(
            f"{name} holds an array of shape {array.shape}, but the model was trained on instances of shape "
            f"{model.instance_shape_}"
        )
