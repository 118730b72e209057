"""``llpgan embed``, ``export`` and ``demo``."""

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from llpgan.cli.fit import collect_fit_report
from llpgan.cli.main import make_console, make_visible
from llpgan.cli.predict import write_tables
from llpgan.data.bagging import into_bags, random_bags
from llpgan.data.datasets import LABEL, PEOPLE, RESULTS, Election, load_digits, load_election
from llpgan.evaluation import LabelScores, label_scores
from llpgan.methods.auto_llp import AutoLLP
from llpgan.methods.base import LLPClassifier
from llpgan.persistence import load, save
from llpgan.persistence.model import MODEL_FOLDER, files_of_model
from llpgan.persistence.onnx import to_onnx
from llpgan.report.content import make_mosaics
from llpgan.report.page import saved_pages
from llpgan.report.text import format_percent
from llpgan.tables import TableEncoder, TableSpec, open_stream
from llpgan.tables.backbones import LITES, WORDLLAMA
from llpgan.tables.embedding import FeatureEncoder, Text
from llpgan.tables.read import missing_column_error
from llpgan.utils.arrays import Array
from llpgan.utils.files import claim_folder, output_file


def embed(
    data: str,
    *,
    features: str | None = None,
    text: str | None = None,
    image: str | None = None,
    image_size: tuple[int, int] | None = None,
    mirror: bool | None = None,
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
    mirror : bool, default=None
        Whether the network also sees each image mirrored, and the mean of both features is used, which takes
        twice the time. None means False.
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
    if text is not None and image is not None:
        raise ValueError("features are of texts (text) or of images (image): leave one of them out")
    if text is not None and image_size is not None:
        raise ValueError("texts have no size: leave out the size of images (image_size)")
    if text is not None and mirror is not None:
        raise ValueError("texts have no mirror image: leave it out (mirror)")
    TableSpec(features=features, text=text, image=image, image_size=image_size)
    stream = open_stream(data, [text] if text else [])
    if text is not None and text not in stream.schema.names:
        raise ValueError(f"text: {missing_column_error(stream.name, text, stream.schema.names)}")
    image = image or stream.image
    if (text is None) == (image is None):
        raise ValueError(f"{data}: name its column of texts (text), or of paths of images (image)")

    def tables() -> Iterator[pa.Table]:
        encoder: FeatureEncoder | TableEncoder | None = None
        for rows in stream.parts((1024,)):
            if encoder is None and text is not None:
                encoder = TableEncoder((Text.from_backbone(text, features or WORDLLAMA),))
            elif encoder is None:
                assert image is not None
                encoder = FeatureEncoder.learn(rows, image, features or LITES[0], image_size, mirror)
            found = encoder.encode(rows)
            vectors = {f"feature{place}": pa.array(values) for place, values in enumerate(found.T)}
            yield pa.table(dict(zip(rows.table.column_names, rows.table.columns, strict=True)) | vectors)

    with output_file(Path(out), overwrite=overwrite, inputs=[data]) as aside:
        n_rows = write_tables(tables(), aside, pa.parquet.ParquetWriter)
    make_console(stderr=True).print(f"saved {out}: {n_rows:,} row{'s' * (n_rows != 1)}")
    return n_rows


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


_WIDTH = 80
_SHOWN_STATES = ("California", "Ohio", "Wyoming")
_SHOWN_PEOPLE = ("state", "age", "race", "ideology", "party_id")
_DIGITS_PER_BAG = 16
_PICTURE = "digits.png"


def demo(out: str = "demo", random_state: int = 0, epochs: int = 60, overwrite: bool = False) -> None:
    """Predict single voters from 51 election results, and learn digits with LLP-GAN; takes about 40 seconds.

    Parameters
    ----------
    out : str, default="demo"
        The folder for the model, its report, a picture of digits, and a copy of the election's two tables, with
        which you can try the other commands.
    random_state : int, default=0
        The seed. The same seed gives the same models.
    epochs : int, default=60
        The number of passes of LLP-GAN over the bags of digits. Fewer take less time.
    overwrite : bool, default=False
        Replace the files of an earlier demo.
    """
    if epochs < 1:
        raise ValueError(f"--epochs must be a number from 1 on, got {epochs}")
    folder, inputs = Path(out), [PEOPLE, RESULTS]
    console = Console(highlight=False)
    console.width = min(console.width, _WIDTH)
    with ExitStack() as stack:
        stack.enter_context(claim_folder(folder / "model", MODEL_FOLDER, overwrite=overwrite))
        picture = stack.enter_context(output_file(folder / _PICTURE, overwrite=overwrite, inputs=inputs))
        for table in inputs:
            copy = output_file(folder / table.name, overwrite=overwrite, inputs=inputs)
            shutil.copyfile(table, stack.enter_context(copy))
        _demonstrate_tables(console, folder, random_state, overwrite)
        _demonstrate_images(console, picture, random_state, epochs)
    console.print(_list_demo_files(folder))
    console.print(_list_next_commands(folder), soft_wrap=True)


def _demonstrate_tables(console: Console, folder: Path, random_state: int, overwrite: bool) -> None:
    election, start = load_election(), time.perf_counter()
    n_people = f"{len(election.votes):,}"
    console.print("[bold]1. From 51 election results to single voters[/bold]\n")
    console.print(
        f"Known: how each US state voted in 2016, and the answers of {n_people} survey respondents to questions "
        f"on their age, race, ideology and so on. Hidden: whom each of them voted for.\n"
    )
    console.print(_tabulate_states(election))
    console.print("\nTraining AutoLLP, the default for tables, on the 51 results (about 15 seconds) ...")
    model = AutoLLP(random_state=random_state).fit_bags(election.bags)
    console.print(f"Done after {time.perf_counter() - start:.0f} s. Writing the report ...\n")
    labels = election.votes
    content = collect_fit_report(model, election.bags, str(PEOPLE), labels, f"proportions: from {RESULTS.name}")
    save(model, folder / "model", overwrite=overwrite, pages=saved_pages(model, content))
    assert content.labels is not None
    console.print(_tabulate_accuracy(content.labels, election))
    console.print(_tabulate_people(model, election))


def _tabulate_states(election: Election) -> Table:
    bags = election.bags
    table = Table("state", "respondents", "official share of Trump", title="What is known", title_justify="left")
    for state in _SHOWN_STATES:
        place = bags.bag_ids.index(state)
        table.add_row(state, f"{bags.sizes[place]:,}", format_percent(bags.proportions[place, 1]))
    table.add_row("... 48 more", f"{len(election.votes):,} in all", "")
    return table


def _tabulate_accuracy(scores: LabelScores, election: Election) -> Table:
    """Accuracy and AUC of the model, of the commonest class, and of a model that was trained on every vote."""
    assert scores.auc is not None
    supervised = label_scores(election.votes, predict_from_votes(election), election.bags.classes)
    assert supervised.auc is not None
    n_votes, commonest = f"{len(election.votes):,}", float((election.votes == "other").mean())
    title = "Compared with the hidden votes"
    table = Table("", "votes predicted correctly", "AUC", title=title, title_justify="left")
    table.add_row("always the commonest class", format_percent(commonest), "0.500")
    table.add_row("[bold]AutoLLP, from 51 results[/bold]", *_accuracy_and_auc(scores))
    table.add_row(f"logistic regression, from {n_votes} votes", *_accuracy_and_auc(supervised))
    return table


def _accuracy_and_auc(scores: LabelScores) -> tuple[str, str]:
    return format_percent(scores.accuracy.value), "" if scores.auc is None else f"{scores.auc.value:.3f}"


def predict_from_votes(election: Election) -> Array:
    """What full supervision predicts from the same columns: each fifth of the people from the others' votes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    instances, logistic = election.bags.instances, LogisticRegression(max_iter=1000)
    predicted: Array = cross_val_predict(logistic, instances, election.votes, method="predict_proba")
    return predicted


def _tabulate_people(model: LLPClassifier, election: Election, n: int = 8) -> Table:
    """The first rows of the table with their predictions; correct ones are green."""
    people = election.people.select(_SHOWN_PEOPLE).slice(0, n).to_pylist()
    probabilities = model.predict_proba(election.people.slice(0, n))[:, 1]
    table = Table(*_SHOWN_PEOPLE, "P(Trump)", "voted", title="Eight of the voters", title_justify="left")
    for person, probability, vote in zip(people, probabilities, election.votes, strict=False):
        colour = "green" if (vote == "trump") == (probability > 0.5) else "red"
        answers = ("?" if value is None else str(value) for value in person.values())
        table.add_row(*answers, f"{probability:.2f}", f"[{colour}]{vote}[/{colour}]")
    return table


def _demonstrate_images(console: Console, picture: Path, random_state: int, epochs: int) -> None:
    from matplotlib.image import imsave
    from threadpoolctl import threadpool_limits

    from llpgan.methods.llp_gan import LLPGAN  # loads torch

    digits, shape = load_digits(), (-1, 1, 8, 8)
    images = digits.instances.reshape(shape)
    bags = into_bags(images, digits.labels, random_bags(len(images), _DIGITS_PER_BAG, random_state))
    console.print("\n[bold]2. LLP-GAN on handwritten digits[/bold]\n")
    console.print(
        f"Known: {len(images):,} images in {bags.n_bags} bags of {_DIGITS_PER_BAG}, and how many of each digit "
        f"every bag has. Hidden: which digit an image shows. LLP-GAN learns to recognize digits and to draw "
        f"new ones.\n"
    )
    with threadpool_limits(1):  # these networks are so small that threads wait for each other most of the time
        model = LLPGAN(random_state=random_state, epochs=epochs, verbose=True).fit_bags(bags)
        found = model.predict(digits.test_instances.reshape(shape))
    accuracy, commonest = float((found == digits.test_labels).mean()), np.bincount(digits.test_labels).max()
    console.print(
        f"\n[bold]{format_percent(accuracy)}[/bold] of {len(found)} new images are recognized correctly; guessing "
        f"the commonest digit would be right for {format_percent(commonest / len(found))}."
    )
    mosaics = make_mosaics(model, bags)
    assert mosaics is not None
    gap = np.full((len(mosaics.real), 12, 3), 255, np.uint8)
    enlarged = np.hstack([mosaics.real, gap, mosaics.generated]).repeat(4, axis=0).repeat(4, axis=1)
    imsave(picture, enlarged, format="png")


def _list_demo_files(folder: Path) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, content in (
        ("model/report.html", "open this in a browser: what the election model learned and how good it is"),
        ("model/", "the election model"),
        (_PICTURE, "64 real digits (left) and 64 that LLP-GAN has drawn (right)"),
        (PEOPLE.name, "the survey respondents"),
        (RESULTS.name, "the election results"),
    ):
        table.add_row("  " + escape(make_visible(str(folder / name))), content)
    whole = Table.grid()
    whole.add_row("\n[bold]Files[/bold]\n")
    whole.add_row(table)
    return whole


def _list_next_commands(folder: Path) -> str:
    people, results = (escape(make_visible(str(folder / name))) for name in (PEOPLE.name, RESULTS.name))
    return (
        f"\n[bold]Next[/bold]: the same from the command line, then with your own tables\n\n"
        f"  llpgan fit {people} --bag state \\\n"
        f"    --proportions {results} --label {LABEL} --out my_model\n"
        f"  llpgan predict my_model {people} --out predictions.csv\n"
        f"  llpgan evaluate my_model {people} --label {LABEL}\n"
    )
