"""``llpgan predict``: to one file, or to a folder of many, in several processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.progress import track

from llpgan.cli.fit import check_predictions, load_model, open_model_stream, read_instances
from llpgan.cli.main import make_console
from llpgan.cli.options import read_names, read_threshold
from llpgan.evaluation.sets import sets_as_text
from llpgan.methods.base import LLPClassifier
from llpgan.persistence.model import files_of_model
from llpgan.tables import Rows, RowStream
from llpgan.tables.columns import plain_values
from llpgan.tables.read import missing_column_error
from llpgan.tables.store import is_store, open_store
from llpgan.tables.streams import list_parquet_files, split_by_file
from llpgan.utils.arrays import check_between_0_and_1, choose_classes
from llpgan.utils.files import FolderKind, output_file, output_folder_in_parts, replace_file
from llpgan.utils.json_files import digest_of_file
from llpgan.utils.workers import check_n_jobs, run_in_jobs

_ROWS_A_PART, _ROWS_AT_ONCE = 2**20, 2**16  # of a store, in whole bags, and read at once
PARTS_FOLDER = FolderKind("_predictions.json", files=())  # with a name that readers of Parquet folders leave out


def predict(
    model: str,
    data: str,
    *,
    out: str = "predictions.csv",
    keep: str = "",
    threshold: str | None = None,
    coverage: float | None = None,
    image: str | None = None,
    resize: bool = False,
    n_jobs: int = 1,
    overwrite: bool = False,
) -> int:
    """Predict the class of each row, with the probability of every class, in the order of the rows.

    The rows are read and predicted part by part, so that memory does not depend on their number.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training, a folder of Parquet files or of images, one image, or a store. The
        columns may be in another order.
    out : str, default="predictions.csv"
        The file for predictions: .csv, .csv.gz or .parquet. A name without an ending is a folder, with one Parquet
        file for each file of the data or about a million rows of a store. If this ends early, the same command
        continues with the files that are missing.
    keep : str, default=""
        The columns of the data to copy to the predictions, such as id,state.
    threshold : str, default=None
        The probability from which a class is predicted: a number for the second of two classes, such as 0.3, or
        classes with numbers, such as rare=0.2. None means that the most probable class is predicted.
    coverage : float, default=None
        Add a column with a set of classes that contains the right one with this probability, such as 0.9. The
        model must have prediction sets, from ``model.conformalize(bags)`` or `llpgan conformalize`.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    n_jobs : int, default=1
        The number of processes that write the files of a folder; -1 means one per core.
    overwrite : bool, default=False
        Replace a file or a folder of predictions that is there.

    Examples
    --------
    llpgan predict model people.csv --keep id,state --out predictions.csv
    """
    how = _Options(keep, read_threshold(threshold), coverage, image, resize)
    if coverage is not None:
        check_between_0_and_1(coverage, "coverage", such_as=0.9)
    if Path(out).suffix == "":
        n_rows = _predict_to_folder(model, data, out, how, n_jobs, overwrite)
    elif n_jobs != 1:
        raise ValueError(
            f"{out} is written by one process: name a folder, without an ending, or leave out (n_jobs)"
        )
    else:
        n_rows = _predict_to_file(model, data, out, how, overwrite)
    make_console(stderr=True).print(f"saved {out}: {n_rows:,} row{'s' * (n_rows != 1)}")
    return n_rows


@dataclass(frozen=True)
class _Options:
    """What the user says of the predictions."""

    keep: str
    threshold: float | Mapping[str, float] | None
    coverage: float | None
    image: str | None
    resize: bool


@dataclass(frozen=True)
class _BagsOfStore:
    """Bags of a store that follow each other."""

    store: str
    bags: slice


_Part = RowStream | _BagsOfStore


def _predict_to_file(model: str, data: str, out: str, options: _Options, overwrite: bool) -> int:
    writer = _find_writer(out)
    with output_file(Path(out), overwrite=overwrite, inputs=[data, *files_of_model(model)]) as aside:
        if is_store(data):
            raise ValueError(
                f"{data} is a store: write its predictions to a folder, a name without an ending (out)"
            )
        loaded, stream = _open_model(model, data, options)
        return write_tables(_predict_stream(loaded, stream, options), aside, writer)


def _predict_to_folder(model: str, data: str, out: str, options: _Options, n_jobs: int, overwrite: bool) -> int:
    """A Parquet file for each part of the data; those that an earlier run has written are kept."""
    check_n_jobs(n_jobs)
    model, data = str(Path(model).absolute()), str(Path(data).absolute())  # processes may have another folder
    files = files_of_model(model)
    parts, inputs = _divide_data(model, data, options)
    names = [f"part-{number:05d}.parquet" for number in range(len(parts))]
    digest = " ".join(map(digest_of_file, files))
    settings = {"model": digest, "data": inputs, "options": asdict(options), "pages": names}
    console = make_console(stderr=True)
    folder = output_folder_in_parts(Path(out), PARTS_FOLDER, settings, overwrite=overwrite, inputs=[data, *files])
    with folder as partly:
        aside = partly.absolute()
        pairs = zip(parts, (aside / name for name in names), strict=True)
        missing = [(part, path) for part, path in pairs if not path.exists()]
        if len(missing) < len(parts):
            console.print(f"{out}: {len(parts) - len(missing)} of {len(parts)} files are complete already")
        arguments = ((model, digest, options, part, path) for part, path in missing)
        written = run_in_jobs(_write_part, arguments, n_jobs)
        is_hidden = not console.is_terminal
        for _ in track(written, "files", len(missing), console=console, transient=True, disable=is_hidden):
            pass
        return sum(pa.parquet.read_metadata(aside / name).num_rows for name in names)


def _open_model(model: str, data: str, options: _Options) -> tuple[LLPClassifier, RowStream]:
    """The model and the stream of the rows, of which nothing is read if an option does not suit the model."""
    loaded = load_model(model, options.image, options.resize)
    check_predictions(loaded, options.threshold, options.coverage)
    stream = open_model_stream(loaded, data)
    _list_kept(stream, options.keep)
    return loaded, stream


def _divide_data(model: str, data: str, options: _Options) -> tuple[list[_Part], list[list[Any]]]:
    """The parts of the data, and names, sizes and times of files that change if the data do."""
    if is_store(data):
        if options.keep or options.image or options.resize:
            raise ValueError(
                f"{data} is a store, which has no columns of its rows: leave out (keep) (image) (resize)"
            )
        check_predictions(load_model(model, None, False), options.threshold, options.coverage)
        bags = open_store(data)
        bounds = np.searchsorted(bags.starts, np.arange(0, len(bags.bag_index), _ROWS_A_PART))
        bounds = np.unique([*bounds.tolist(), bags.n_bags]).tolist()
        parts: list[_Part] = [_BagsOfStore(data, slice(*pair)) for pair in pairwise(bounds)]
        files = sorted(Path(data).iterdir())
    else:
        _, stream = _open_model(model, data, options)
        files = list_parquet_files(Path(data))
        parts = [*split_by_file(data)] if files else [stream]
        files = files or [Path(data)]
    states = [(str(file), file.stat()) for file in files]
    return parts, [[name, state.st_size, state.st_mtime_ns] for name, state in states]


def _write_part(model: str, digest: str, options: _Options, part: _Part, path: Path) -> None:
    """Write the predictions of one part; the digest is that of the model's files."""
    loaded = _load_model_once(model, digest, options.image, options.resize)
    if isinstance(part, RowStream):
        tables = _predict_stream(loaded, part, options)
    else:
        tables = _predict_store(loaded, part, options)
    with replace_file(path) as aside:
        write_tables(tables, aside, pa.parquet.ParquetWriter)


@lru_cache(maxsize=1)
def _load_model_once(model: str, digest: str, image: str | None, resize: bool) -> LLPClassifier:
    """A process loads a model once."""
    return load_model(model, image, resize)


def _predict_stream(model: LLPClassifier, stream: RowStream, options: _Options) -> Iterator[pa.Table]:
    """The predictions of all rows, part by part."""
    kept = [*([stream.image] if stream.image else []), *_list_kept(stream, options.keep)]
    return (
        predictions(model, rows, kept, options.coverage, options.threshold)
        for rows in stream.parts(model.instance_shape_)
    )


def _list_kept(stream: RowStream, keep: str) -> list[str]:
    """The columns to copy."""
    is_name = keep in stream.schema.names  # which may have a comma
    names = [keep] if is_name else read_names(keep or []) or []
    for name in names:
        if name not in stream.schema.names:
            raise ValueError(f"keep: {missing_column_error(stream.name, name, stream.schema.names)}")
    return names


def _predict_store(model: LLPClassifier, part: _BagsOfStore, options: _Options) -> Iterator[pa.Table]:
    """The predictions of the rows of some bags, with the bag of each."""
    bags = open_store(part.store)
    instances, ids = model.encode(bags), bags.bag_ids
    first, last = bags.starts[part.bags.start], bags.starts[part.bags.stop - 1] + bags.sizes[part.bags.stop - 1]
    for start in range(first, last, _ROWS_AT_ONCE):
        rows = slice(start, min(last, start + _ROWS_AT_ONCE))
        of_rows = [ids[bag] for bag in bags.bag_index[rows].tolist()]
        keys = list(zip(*of_rows, strict=True)) if isinstance(ids[0], tuple) else [of_rows]
        kept = {f"bag {place + 1}" if len(keys) > 1 else "bag": pa.array(key) for place, key in enumerate(keys)}
        yield _add_predictions(kept, model, instances[rows], options.coverage, options.threshold)


def predictions(
    model: LLPClassifier,
    rows: Rows,
    keep: Sequence[str] = (),
    coverage: float | None = None,
    threshold: float | Mapping[str, float] | None = None,
) -> pa.Table:
    """Kept columns, the predicted class, its set if one is wanted, and the probability of each class."""
    kept = {name: plain_values(rows.column(name)) for name in keep}
    return _add_predictions(kept, model, read_instances(model, rows), coverage, threshold)


def _add_predictions(
    kept: Mapping[str, Any],
    model: LLPClassifier,
    instances: Any,
    coverage: float | None,
    threshold: float | Mapping[str, float] | None,
) -> pa.Table:
    probabilities = model.predict_encoded(instances)
    columns = {"prediction": pa.array(model.classes_[choose_classes(probabilities, model.classes_, threshold)])}
    if coverage is not None:
        sets = model.require_sets().contain(probabilities, coverage)
        columns["set"] = pa.array(sets_as_text(sets, model.classes_))
    columns |= {f"p_{name}": pa.array(probabilities[:, k]) for k, name in enumerate(model.classes_.tolist())}
    if clash := kept.keys() & columns.keys():
        raise ValueError(f"column {min(clash)!r} cannot be kept: predictions have a column of that name")
    return pa.table({**kept, **columns})


def write_tables(tables: Iterator[pa.Table], path: Path, writer: Callable[[Path, pa.Schema], Any]) -> int:
    """Write tables to one file; returns the number of rows."""
    first = next(tables)
    n_rows = 0
    with writer(path, first.schema) as opened:
        for table in chain([first], tables):
            opened.write_table(table)
            n_rows += table.num_rows
    return n_rows


def _find_writer(out: str) -> Callable[[Path, pa.Schema], Any]:
    writer = next((writer for ending, writer in _WRITERS.items() if out.lower().endswith(ending)), None)
    if writer is None:
        raise ValueError(
            f"{out}: predictions are written to a file that ends in {', '.join(_WRITERS)}, or to a folder"
        )
    return writer


@contextmanager
def _csv_gz(path: Path, schema: pa.Schema) -> Iterator[Any]:
    with pa.CompressedOutputStream(str(path), "gzip") as stream, pa.csv.CSVWriter(stream, schema) as opened:
        yield opened


_WRITERS = {".csv": pa.csv.CSVWriter, ".csv.gz": _csv_gz, ".parquet": pa.parquet.ParquetWriter}
