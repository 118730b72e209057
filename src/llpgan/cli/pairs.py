"""``llpgan pairs``: from an aggregated report, tables of counts of pairs of columns, to a trained model."""

from collections.abc import Sequence
from pathlib import Path

from llpgan.cli.console import terminal
from llpgan.estimators.marginal_logistic import MarginalLogistic
from llpgan.persistence import save
from llpgan.persistence.manifest import CARD, MODEL_FOLDER
from llpgan.persistence.model_card import model_card, plain
from llpgan.tables import MarginalTables
from llpgan.utils.output_paths import claimed_folder


def pairs(
    report: str,
    *,
    rows: str | None = None,
    classes: Sequence[str] | None = None,
    sd: float = 0.0,
    threshold: float = 0.0,
    C: float = 0.03,
    n_rows: int = 100_000,
    random_state: int = 0,
    out: str = "model",
    overwrite: bool = False,
) -> MarginalLogistic:
    """Learn a classifier of rows from tables of counts of all pairs of columns, and save it.

    Parameters
    ----------
    report : str
        A table (.csv, .csv.gz, .parquet) with one row per cell: column_1, value_1, column_2, value_2, and one
        column of counts per class.
    rows : str, default=None
        A table of rows without labels, with the columns of the report: those that were counted, or a sample. None
        means that rows are drawn that have the counts of the report.
    classes : sequence of str, default=None
        The columns of the report that hold counts. None means all other columns.
    sd : float, default=0.0
        The standard deviation of the noise in each count.
    threshold : float, default=0.0
        Cells with fewer rows than this were left out of the report.
    C : float, default=0.03
        Inverse of the regularization strength: 0.03 suits many columns, 0.3 to 1 three or four.
    n_rows : int, default=100000
        The number of rows to draw where none are given.
    random_state : int, default=0
        The seed of the rows that are drawn. The same seed gives the same model.
    out : str, default="model"
        The folder for the model.
    overwrite : bool, default=False
        Replace a model that is there.

    Examples
    --------
    llpgan pairs report.csv --sd 20 --threshold 10 --C 0.3 --out model
    """
    console = terminal(stderr=True)
    with claimed_folder(Path(out), MODEL_FOLDER, overwrite=overwrite, inputs=[report, rows]):
        tables = MarginalTables.from_counts(report, classes=classes, sd=sd, threshold=threshold)
        console.print(f"{report}: {in_words(tables)}", soft_wrap=True)
        model = MarginalLogistic(C=C, n_rows=n_rows, random_state=random_state).fit_tables(tables, rows)
        save(model, out, overwrite=overwrite, pages={CARD: model_card(model, told(tables, report, rows))})
        console.print(f"saved {out}", soft_wrap=True)
    return model


def in_words(tables: MarginalTables) -> str:
    """How many there are of what."""
    classes = ", ".join(str(name) for name in tables.classes.tolist())
    return (
        f"tables of {len(tables.pairs)} pairs of {len(tables.values)} columns, about {tables.totals.sum():,.0f} "
        f"rows, {len(tables.classes)} classes ({classes})"
    )


def told(tables: MarginalTables, report: str, rows: str | None) -> str:
    """The section of the model card on what the model learned from."""
    noise = f" Each count has noise of standard deviation {tables.sd:g}." if tables.sd else ""
    left_out = f" Cells below {tables.threshold:g} were left out." if tables.threshold else ""
    others = (
        "Rows were drawn from the tables" if rows is None else f"Rows without labels: {plain(Path(rows).name)}"
    )
    return (
        f"## Training data\n\nThe {plain(in_words(tables))}, of {plain(Path(report).name)}.{noise}{left_out} "
        f"{others}.\n"
    )
