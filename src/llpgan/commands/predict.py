"""``llpgan predict``: the class of each row of a file, and the probabilities of all."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from llpgan.commands.opening import instances_of, opened
from llpgan.commands.terminal import terminal
from llpgan.estimators.base import LLPClassifier
from llpgan.files import refuse_existing, whole_file
from llpgan.sources import Rows


def predict(
    model: str, data: str, *, out: str = "predictions.csv", keep: str | Sequence[str] = (), overwrite: bool = False
) -> pa.Table:
    """Predict the class of each row, with the probability of every class, in the order of the rows.

    Args:
        model: the folder of a saved model.
        data: a file (or folder of images) like that of the training; its columns may stand in another order.
        out: the file for predictions: .csv, .csv.gz or .parquet.
        keep: column, or columns (id,state), of the data that the predictions should carry.
        overwrite: replace the file that is there.
    """
    refuse_existing(Path(out), overwrite)
    write = _writer(out)
    loaded, rows = opened(model, data)
    table = predictions(loaded, rows, [*([rows.image] if rows.image else []), *_names(keep, rows)])
    with whole_file(Path(out)) as aside:
        write(table, aside)
    terminal(stderr=True).print(f"saved {out}: {table.num_rows:,} rows")
    return table


def predictions(model: LLPClassifier, rows: Rows, keep: Sequence[str] = ()) -> pa.Table:
    """Kept columns, the predicted class, and a column of probabilities a class."""
    kept = {name: rows.column(name) for name in keep}
    probabilities = model.predict_proba(instances_of(model, rows))
    columns = {"prediction": pa.array(model.classes_[probabilities.argmax(axis=1)])}
    columns |= {f"p_{name}": pa.array(probabilities[:, k]) for k, name in enumerate(model.classes_.tolist())}
    if clash := kept.keys() & columns.keys():
        raise ValueError(f"column {min(clash)!r} cannot be kept: predictions have a column of that name")
    return pa.table(kept | columns)


def _names(keep: str | Sequence[str], rows: Rows) -> Sequence[str]:
    """One column by its name, though that may have a comma; else names between commas, or a list."""
    if not isinstance(keep, str):
        return keep
    return [keep] if keep in rows.table.column_names else [name.strip() for name in keep.split(",")]


def _writer(out: str) -> Callable[[pa.Table, Path], None]:
    write = next((writer for ending, writer in _WRITERS.items() if out.lower().endswith(ending)), None)
    if write is None:
        raise ValueError(f"{out}: predictions are written to a file that ends in {', '.join(_WRITERS)}")
    return write


def _write_csv(table: pa.Table, path: Path) -> None:
    pa.csv.write_csv(table, path)


def _write_csv_gz(table: pa.Table, path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "gzip") as stream:
        pa.csv.write_csv(table, stream)


def _write_parquet(table: pa.Table, path: Path) -> None:
    pa.parquet.write_table(table, path)


_WRITERS = {".csv": _write_csv, ".csv.gz": _write_csv_gz, ".parquet": _write_parquet}
