"""``llpgan predict``, ``export`` and ``demo``."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from llpgan.bags import Bags
from llpgan.cli.console import make_console
from llpgan.cli.fit import collect_fit_report, open_model_stream, read_instances, read_labels
from llpgan.cli.main import make_visible
from llpgan.cli.options import read_names
from llpgan.data.election import LABEL, PEOPLE, RESULTS, Election, load_election
from llpgan.evaluation import label_scores
from llpgan.evaluation.sets import sets_as_text
from llpgan.methods.bag_logistic import BagLogistic
from llpgan.methods.base import LLPClassifier
from llpgan.methods.dllp import DLLP
from llpgan.persistence import load, save
from llpgan.persistence.model import MODEL_FOLDER, files_of_model
from llpgan.persistence.onnx import to_onnx
from llpgan.report.page import saved_pages
from llpgan.tables import Rows, RowStream, TableEncoder, open_stream
from llpgan.tables.backbones import LITES, WORDLLAMA
from llpgan.tables.columns import plain_values
from llpgan.tables.embedding import FeatureEncoder, Text
from llpgan.utils.arrays import Array
from llpgan.utils.files import claim_folder, output_file


def predict(
    model: str,
    data: str,
    *,
    out: str = "predictions.csv",
    keep: str = "",
    coverage: float | None = None,
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
    coverage : float, default=None
        Add a column with a set of classes that contains the right one with this probability, such as 0.9. The
        model must have prediction sets, from ``model.conformalize(bags)`` or `llpgan conformalize`.
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
        loaded, stream = open_model_stream(model, data, image, resize)
        kept = [*([stream.image] if stream.image else []), *_names(keep, stream)]
        if coverage is not None:
            loaded.require_sets().select_thresholds(coverage)
        tables = (predictions(loaded, rows, kept, coverage) for rows in stream.parts(loaded.instance_shape_))
        n_rows = _write(tables, aside, writer)
    make_console(stderr=True).print(f"saved {out}: {n_rows:,} row{'s' * (n_rows != 1)}")
    return n_rows


def embed(
    data: str,
    *,
    features: str | None = None,
    text: str | None = None,
    image: str | None = None,
    image_size: tuple[int, int] | None = None,
    out: str = "features.parquet",
    overwrite: bool = False,
) -> int:
    """Write the features of images or texts by a pretrained network, with all columns of the data.

    llpgan fit and compare compute features by themselves (--features). This is for features that are also used
    elsewhere.

    Parameters
    ----------
    data : str
        A folder of images, or a table with a column of texts or of paths of images.
    features : str, default=None
        The name of the network, such as timm:resnet50. None means efficientnet_lite0 for images, and wordllama for
        texts.
    text : str, default=None
        The column of texts.
    image : str, default=None
        The column of paths of images.
    image_size : tuple of int, default=None
        The height and width that images are resized to. None means those of the network's own configuration.
    out : str, default="features.parquet"
        The Parquet file for the features.
    overwrite : bool, default=False
        Replace a file that is there.

    Examples
    --------
    llpgan embed photos/ --features efficientnet_lite0 --out features.parquet
    """
    if not out.lower().endswith(".parquet"):
        raise ValueError(f"{out}: features are written to a file that ends in .parquet")
    stream = open_stream(data, [text] if text else [])
    image = image or stream.image
    if (text is None) == (image is None):
        raise ValueError(f"{data}: name its column of texts (text), or of paths of images (image)")

    def tables() -> Iterator[pa.Table]:
        encoder: FeatureEncoder | TableEncoder | None = None
        for rows in stream.parts((1024,)):
            if encoder is None and text is not None:
                encoder = TableEncoder((Text.of_backbone(text, features or WORDLLAMA),))
            elif encoder is None:
                assert image is not None
                encoder = FeatureEncoder.learned(rows, image, features or LITES[0], image_size)
            found = encoder.encode(rows)
            vectors = {f"feature{place}": pa.array(values) for place, values in enumerate(found.T)}
            yield pa.table(dict(zip(rows.table.column_names, rows.table.columns, strict=True)) | vectors)

    with output_file(Path(out), overwrite=overwrite, inputs=[data]) as aside:
        n_rows = _write(tables(), aside, pa.parquet.ParquetWriter)
    make_console(stderr=True).print(f"saved {out}: {n_rows:,} row{'s' * (n_rows != 1)}")
    return n_rows


def predictions(
    model: LLPClassifier, rows: Rows, keep: Sequence[str] = (), coverage: float | None = None
) -> pa.Table:
    """Kept columns, the predicted class, its set if one is wanted, and the probability of each class."""
    kept = {name: plain_values(rows.column(name)) for name in keep}
    probabilities = model.predict_encoded(read_instances(model, rows))
    columns = {"prediction": pa.array(model.classes_[probabilities.argmax(axis=1)])}
    if coverage is not None:
        sets = model.require_sets().contain(probabilities, coverage)
        columns["set"] = pa.array(sets_as_text(sets, model.classes_))
    columns |= {f"p_{name}": pa.array(probabilities[:, k]) for k, name in enumerate(model.classes_.tolist())}
    if clash := kept.keys() & columns.keys():
        raise ValueError(f"column {min(clash)!r} cannot be kept: predictions have a column of that name")
    return pa.table(kept | columns)


def _names(keep: str, stream: RowStream) -> Sequence[str]:
    """One column by its name, though that may have a comma; else names between commas."""
    return [keep] if keep in stream.schema.names else read_names(keep) or []


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


def export(
    format: Literal["onnx"],  # noqa: A002, the word that users give
    model: str,
    *,
    out: str = "model.onnx",
    overwrite: bool = False,
) -> None:
    """Write a saved model with its preprocessing as one file for onnxruntime.

    Parameters
    ----------
    format : {"onnx"}
        The word onnx.
    model : str
        The folder of a saved model.
    out : str, default="model.onnx"
        The file to write.
    overwrite : bool, default=False
        Replace a file that is there.
    """
    with output_file(Path(out), overwrite=overwrite, inputs=files_of_model(model)) as aside:
        exported = to_onnx(load(model))
        aside.write_bytes(exported.SerializeToString())
    inputs = ", ".join(value.name for value in exported.graph.input)
    make_console(stderr=True).print(f"saved {out}: inputs {inputs}")


_SHOWN_STATES = ("California", "Ohio", "Wyoming")
_SHOWN_PEOPLE = ("state", "age", "race", "ideology", "party_id")


def demo(out: str = "demo", random_state: int = 0, epochs: int = 100, overwrite: bool = False) -> None:
    """Learn the votes of single people from the official results of 51 states, and compare with their answers.

    Parameters
    ----------
    out : str, default="demo"
        The folder for the model, its report, and a copy of the two tables to try the other commands on.
    random_state : int, default=0
        The seed. The same seed gives the same model.
    epochs : int, default=100
        The number of passes of the network over the bags. Fewer take less time.
    overwrite : bool, default=False
        Replace the model and the two tables that are there.
    """
    folder = Path(out)
    with ExitStack() as stack:
        stack.enter_context(claim_folder(folder / "model", MODEL_FOLDER, overwrite=overwrite))
        for table in (PEOPLE, RESULTS):
            copy = output_file(folder / table.name, overwrite=overwrite, inputs=[PEOPLE, RESULTS])
            shutil.copyfile(table, stack.enter_context(copy))
        _show(folder, random_state, epochs, overwrite)


def _show(folder: Path, random_state: int, epochs: int, overwrite: bool) -> None:
    console = Console(highlight=False)
    election = load_election()
    _introduce(console, election)
    console.print("Learning from the 51 results alone, with a network and with logistic regression:")
    models = [DLLP(random_state=random_state, epochs=epochs, verbose=True), BagLogistic(random_state=random_state)]
    found = {f"{type(model).__name__}, from 51 results": _from_results(model, election) for model in models}
    found[f"logistic regression, from {len(election.votes):,} votes"] = from_every_vote(election)
    console.print(_comparison(found, election))
    best = models[-1]
    console.print(_some_people(best, election))
    _keep(best, election.bags, folder, overwrite)
    console.print(_what_next(folder), soft_wrap=True)


def _introduce(console: Console, election: Election) -> None:
    bags = election.bags
    console.print(
        f"[bold]51 numbers in, individual voters out.[/bold] Of each state only its official result in the "
        f"election of 2016 is known. Of {len(election.votes):,} voters of a survey we know the state, age, race, "
        f"ideology and other answers; how they voted is hidden.\n"
    )
    table = Table("state", "voters asked", "official share of Trump", title="What is known", title_justify="left")
    for state in _SHOWN_STATES:
        place = bags.bag_ids.index(state)
        table.add_row(state, f"{bags.sizes[place]:,}", f"{bags.proportions[place, 1]:.1%}")
    table.add_row("... 48 more", f"{len(election.votes):,} in all", "")
    console.print(table)


def _from_results(model: LLPClassifier, election: Election) -> Array:
    return model.fit_bags(election.bags).predict_proba(election.bags)


def _comparison(found: dict[str, Array], election: Election) -> Table:
    table = Table("", "right (%)", "AUC", title="Judged by the hidden votes of all voters", title_justify="left")
    commonest = 100 * float((election.votes == "other").mean())
    table.add_row("always the commonest class", f"{commonest:.1f}", "0.500")
    for name, probabilities in found.items():
        scores = label_scores(election.votes, probabilities, election.bags.classes)
        assert scores.auc is not None
        table.add_row(name, f"{100 * scores.accuracy.value:.1f}", f"{scores.auc.value:.3f}")
    return table


def from_every_vote(election: Election) -> Array:
    """What full supervision predicts from the same columns: each fifth of the people from the others' votes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    instances, logistic = election.bags.instances, LogisticRegression(max_iter=1000)
    predicted: Array = cross_val_predict(logistic, instances, election.votes, method="predict_proba")
    return predicted


def _some_people(model: LLPClassifier, election: Election, n: int = 8) -> Table:
    """The first rows of the table, one by one."""
    people = election.people.select(_SHOWN_PEOPLE).slice(0, n).to_pylist()
    probabilities = model.predict_proba(election.people.slice(0, n))[:, 1]
    table = Table(*_SHOWN_PEOPLE, "P(Trump)", "voted", title="The first voters", title_justify="left")
    for person, probability, vote in zip(people, probabilities, election.votes, strict=False):
        table.add_row(*map(_describe_person, person.values()), f"{probability:.2f}", _mark(vote, probability))
    return table


def _mark(vote: str, probability: float) -> str:
    right = (vote == "trump") == (probability > 0.5)
    return f"[green]{vote}[/green]" if right else f"[red]{vote}[/red]"


def _describe_person(value: Any) -> str:
    return "?" if value is None else str(value)


def _keep(model: LLPClassifier, bags: Bags, folder: Path, overwrite: bool) -> None:
    """The model with its report."""
    labels = read_labels(str(PEOPLE), LABEL, model)
    story = collect_fit_report(model, bags, str(PEOPLE), labels, f"proportions: those of {RESULTS.name}")
    save(model, folder / "model", overwrite=overwrite, pages=saved_pages(model, story))


def _what_next(folder: Path) -> str:
    model, people, results = (
        escape(make_visible(str(folder / name))) for name in ("model", PEOPLE.name, RESULTS.name)
    )
    return (
        f"\nThe model is in [bold]{model}[/bold]; a browser shows its report, "
        f"[bold]{model}/report.html[/bold].\n"
        f"The same by hand, and with other methods (--method LLPGAN):\n\n"
        f"  llpgan fit {people} --bag state --proportions {results} --label {LABEL} --out my_model\n"
        f"  llpgan predict my_model {people} --out predictions.csv\n"
        f"  llpgan evaluate my_model {people} --label {LABEL}\n"
    )
