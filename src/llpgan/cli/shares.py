"""``llpgan shares``: the share of each class in each group of rows, with intervals."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from rich.table import Table

from llpgan.cli.console import terminal
from llpgan.cli.model_inputs import instances_of, opened
from llpgan.evaluation.groups.group_shares import GroupShares, group_text
from llpgan.evaluation.groups.shares_by import shares_of_table
from llpgan.persistence.manifest import files_of_model
from llpgan.report import shares_page
from llpgan.tables.table_spec import names
from llpgan.utils.output_paths import output_if_named


def shares(
    model: str,
    data: str,
    *,
    by: Sequence[str] = (),
    bag: str | Sequence[str] | None = None,
    proportions: str | None = None,
    counts: str | None = None,
    weight: str | None = None,
    exclude: Sequence[str] = (),
    image: str | None = None,
    resize: bool = False,
    out: str | None = None,
    differences: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
) -> GroupShares:
    """Estimate the share of each class in each group of rows, with 95 % intervals.

    Predictions are first changed as little as possible so that each bag has its proportions. Each share is shown
    with the bounds that are certain (Duncan and Davis) and with the estimate of Goodman's regression.

    Parameters
    ----------
    model : str
        The folder of a saved model.
    data : str
        A file like that of the training, with the columns of the groups.
    by : sequence of str, default=()
        The column or columns that define the groups, such as race,college.
    bag : str or sequence of str, default=None
        The column or columns that say which bag a row belongs to.
    proportions : str, default=None
        A table with one row per bag: the columns of the bag, and one column per class. Without it and without
        ``counts``, shares are those of the predictions as they are, and have no intervals.
    counts : str, default=None
        A table like ``proportions`` that holds counts.
    weight : str, default=None
        The column that says how much each row counts, such as survey weights. None means that all rows count the
        same.
    exclude : sequence of str, default=()
        The classes to leave out after the estimate, such as abstained. Shares are then among the others.
    image : str, default=None
        The column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    out : str, default=None
        A file (.csv) for the shares, which are always shown.
    differences : str, default=None
        A file (.csv) for the differences between all pairs of groups.
    html : str, default=None
        A file (.html) for a page with a chart and tables.
    overwrite : bool, default=False
        Replace files that are there.

    Examples
    --------
    llpgan shares model people.csv --by race,college --bag state --proportions results.csv --out shares.csv
    """
    if not by:
        raise ValueError("no column tells the group of a row (by): name one, or several between commas")
    for path in (out, differences):
        _refuse_other_ending(path)
    inputs = [data, proportions, counts, *files_of_model(model)]
    with (
        output_if_named(out, overwrite=overwrite, inputs=inputs) as aside,
        output_if_named(differences, overwrite=overwrite, inputs=[*inputs, out]) as aside_differences,
        output_if_named(html, overwrite=overwrite, inputs=[*inputs, out, differences]) as page,
    ):
        loaded, rows = opened(model, data, image, resize, ids=() if bag is None else names(bag, "bag"))
        probabilities = loaded.predict_encoded(instances_of(loaded, rows))
        found = shares_of_table(
            rows, probabilities, loaded.classes_, by, bag, proportions, counts, weight, exclude
        )
        if found.covariance is None:
            warnings.warn(
                "shares are those of the predictions as they are, without intervals: give the bag of each row and "
                "the proportions or counts of bags to match them (bag) (proportions)",
                stacklevel=1,
            )
        terminal().print(as_table(found, by))
        if aside is not None:
            pa.csv.write_csv(pa.table(_as_text(found.columns(by, "class"))), aside)
        if aside_differences is not None:
            pa.csv.write_csv(pa.table(difference_columns(found)), aside_differences)
        if page is not None:
            given = proportions or counts
            origin = "" if given is None else f"predictions are matched to the proportions of {given}"
            page.write_text(
                shares_page(Path(data).name, type(loaded).__name__, origin, found, by), encoding="utf-8"
            )
    return found


def _refuse_other_ending(path: str | None) -> None:
    if path is not None and Path(path).suffix.lower() != ".csv":
        raise ValueError(f"{path}: shares are written to a file that ends in .csv")


def _as_text(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Groups and classes as text, so that a column may hold values of several types."""
    figures = {"size", "share", "low", "high", "lowest", "highest", "goodman"}
    return {
        name: values if name in figures else [None if value is None else str(value) for value in values]
        for name, values in columns.items()
    }


def difference_columns(found: GroupShares) -> dict[str, list[Any]]:
    """One row for each pair of groups and class: by how much the first group's share exceeds the second's."""
    rows = found.differences()
    return {
        "group": [group_text(row[0]) for row in rows],
        "minus": [group_text(row[1]) for row in rows],
        "class": [str(row[2]) for row in rows],
        "difference": [row[3].value for row in rows],
        "low": [row[3].low for row in rows],
        "high": [row[3].high for row in rows],
    }


def as_table(found: GroupShares, by: Sequence[str]) -> Table:
    """The shares for the terminal."""
    table = Table(", ".join(by), "rows", "class", "share", "95 % interval", "certain", "Goodman")
    columns = found.columns([f"by {name}" for name in by], "class")
    for row, name in enumerate(columns["class"]):
        group = group_text(tuple(columns[f"by {column}"][row] for column in by))
        ends = (
            "none" if columns["low"][row] is None else f"{columns['low'][row]:.3f} to {columns['high'][row]:.3f}"
        )
        goodman = columns["goodman"][row]
        table.add_row(
            group,
            f"{columns['size'][row]:,.0f}",
            str(name),
            f"{columns['share'][row]:.3f}",
            ends,
            f"{columns['lowest'][row]:.3f} to {columns['highest'][row]:.3f}",
            "" if goodman is None else f"{goodman:.3f}",
        )
    return table
