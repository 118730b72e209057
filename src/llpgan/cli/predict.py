"""``llpgan predict``: the class of each row of a file, and the probabilities of all."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from llpgan.cli.command_options import names
from llpgan.cli.console import terminal
from llpgan.cli.model_inputs import instances_of, opened_stream
from llpgan.estimators.base import LLPClassifier
from llpgan.persistence.manifest import files_of_model
from llpgan.tables import Rows, RowStream
from llpgan.tables.column_values import plain
from llpgan.utils.output_paths import output_file


def predict(
    model: str,
    data: str,
    *,
    out: str = "predictions.csv",
    keep: str = "",
    image: str | None = None,
    resize: bool = False,
    overwrite: bool = False,
) -> int:
    """Predict the class of each row, with the probability of every class, in the order of the rows.

    The rows are read and predicted part by part, so that memory does not depend on their number.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training, a folder of Parquet files or of images, or one image. The columns may be
        in another order.
    out : str, default="predictions.csv"
        The file for predictions: .csv, .csv.gz or .parquet.
    keep : str, default=""
        The columns of the data to copy to the predictions, such as id,state.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    overwrite : bool, default=False
        Replace a file that is there.

    Examples
    --------
    llpgan predict model people.csv --keep id,state --out predictions.csv
    """
    writer = _writer(out)
    with output_file(Path(out), overwrite=overwrite, inputs=[data, *files_of_model(model)]) as aside:
        loaded, stream = opened_stream(model, data, image, resize)
        kept = [*([stream.image] if stream.image else []), *_names(keep, stream)]
        tables = (predictions(loaded, rows, kept) for rows in stream.parts(loaded.instance_shape_))
        n_rows = _write(tables, aside, writer)
    terminal(stderr=True).print(f"saved {out}: {n_rows:,} row{'s' * (n_rows != 1)}")
    return n_rows


def predictions(model: LLPClassifier, rows: Rows, keep: Sequence[str] = ()) -> pa.Table:
    """Kept columns, the predicted class, and a column of probabilities a class."""
    kept = {name: plain(rows.column(name)) for name in keep}
    probabilities = model.predict_encoded(instances_of(model, rows))
    columns = {"prediction": pa.array(model.classes_[probabilities.argmax(axis=1)])}
    columns |= {f"p_{name}": pa.array(probabilities[:, k]) for k, name in enumerate(model.classes_.tolist())}
    if clash := kept.keys() & columns.keys():
        raise ValueError(f"column {min(clash)!r} cannot be kept: predictions have a column of that name")
    return pa.table(kept | columns)


def _names(keep: str, stream: RowStream) -> Sequence[str]:
    """One column by its name, though that may have a comma; else names between commas."""
    return [keep] if keep in stream.schema.names else names(keep) or []


def _write(tables: Iterator[pa.Table], path: Path, writer: Callable[[Path, pa.Schema], Any]) -> int:
    first = next(tables)
    n_rows = 0
    with writer(path, first.schema) as opened:
        for table in chain([first], tables):
            opened.write_table(table)
            n_rows += table.num_rows
    return n_rows


def _writer(out: str) -> Callable[[Path, pa.Schema], Any]:
    writer = next((writer for ending, writer in _WRITERS.items() if out.lower().endswith(ending)), None)
    if writer is None:
        raise ValueError(f"{out}: predictions are written to a file that ends in {', '.join(_WRITERS)}")
    return writer


@contextmanager
def _csv_gz(path: Path, schema: pa.Schema) -> Iterator[Any]:
    with pa.CompressedOutputStream(str(path), "gzip") as stream, pa.csv.CSVWriter(stream, schema) as opened:
        yield opened


_WRITERS = {".csv": pa.csv.CSVWriter, ".csv.gz": _csv_gz, ".parquet": pa.parquet.ParquetWriter}
