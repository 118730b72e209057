"""``llpgan shares``: shares of outcomes by group, from counts of units or from a model."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
from rich.box import SIMPLE_HEAD
from rich.table import Table

from llpgan.bags import Bags
from llpgan.cli.fit import BAG_OPTIONS, list_inputs, load_model, open_model_rows, read_instances
from llpgan.cli.main import make_console
from llpgan.cli.options import passes_on
from llpgan.ecological import GroupCounts, GroupShares, shares_from_counts
from llpgan.ecological.cells import AGGREGATION_BIAS, check_bias
from llpgan.ecological.counts import check_columns
from llpgan.ecological.model_shares import check_excluded, exclude_classes, shares_by_columns
from llpgan.ecological.shares import POOLED_BIAS, group_text
from llpgan.persistence.model import files_of_model
from llpgan.report import shares_page
from llpgan.report.group_counts import CountsPage, list_shown_outcomes
from llpgan.report.tables import format_possible_share
from llpgan.report.text import format_percent
from llpgan.tables import TableSpec
from llpgan.tables.spec import check_names
from llpgan.utils.files import check_endings, output_if_named

_WIDEST = 1000  # characters of a table that is not shown on a terminal
_ONLY_MODELS = ("by", "bag", "proportions", "counts", "long", "weight", "image", "resize")
_ONLY_COUNTS = ("groups", "outcomes", "unit", "remainder", "covariates", "aggregation_bias")


@passes_on(Bags.from_tables, only=BAG_OPTIONS)
def shares(
    source: str,
    data: str | None = None,
    *,
    groups: Sequence[str] = (),
    outcomes: Sequence[str] = (),
    unit: str | Sequence[str] | None = None,
    strata: str | Sequence[str] | None = None,
    remainder: str | None = None,
    exclude: Sequence[str] = (),
    covariates: Sequence[str] = (),
    aggregation_bias: float | None = None,
    by: Sequence[str] = (),
    weight: str | None = None,
    image: str | None = None,
    resize: bool = False,
    out: str | None = None,
    differences: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> GroupShares:
    """Estimate the share of each outcome in each group, with 95 % intervals.

    From counts: a table with one row per unit, such as a precinct, that counts the people of each group and those
    with each outcome. From a model: its folder, and a table of rows whose columns define the groups.

    Each share is shown with the bounds that are certain (Duncan and Davis) and with the estimate of Goodman's
    regression.

    Parameters
    ----------
    source : str
        A table of counts (.csv, .tsv, .tab or .parquet), or the folder of a saved model.
    data : str, default=None
        With a model: a file like that of the training, with the columns of the groups.
    groups : sequence of str, default=()
        The columns that count the people of each group, such as white,black.
    outcomes : sequence of str, default=()
        The columns that count the people with each outcome, such as dem,rep.
    unit : str or sequence of str, default=None
        The column or columns that name a unit. None means numbers.
    strata : str or sequence of str, default=None
        The column or columns that say which county or district a unit (with a model: a bag) belongs to. Each is
        estimated by itself, and all are added up.
    remainder : str, default=None
        The name of one more outcome, such as abstained: the people of all groups minus those with an outcome.
    exclude : sequence of str, default=()
        The outcomes to leave out after the estimate, such as abstained. Shares are then among the others.
    covariates : sequence of str, default=()
        Columns of numbers that may explain how the groups of a unit behave, such as income.
    aggregation_bias : float, default=None
        How far log odds ratios may be wrong because groups behave differently where they are many; it widens the
        intervals. None means 0.3, or 1 for units that may be of several districts.
    by : sequence of str, default=()
        With a model: the column or columns that define the groups, such as race,college. Without the proportions
        or counts of bags, shares are those of the predictions as they are, and have no intervals.
    weight : str, default=None
        With a model: the column that says how much each row counts, such as survey weights. None means that all
        rows count the same.
    image : str, default=None
        With a model: the column that holds the paths of images. None means the same name as in the training.
    resize : bool, default=False
        Resize images to the size of the training images.
    out : str, default=None
        A file (.csv) for the shares, which are always shown.
    differences : str, default=None
        A file (.csv) for the differences between all pairs of groups.
    html : str, default=None
        A file (.html) for a page with charts and tables.
    overwrite : bool, default=False
        Replace files that are there.
    **tables : dict
        With a model: the parameters of Bags.from_tables that describe the proportions of bags.

    Examples
    --------
    llpgan shares precincts.csv --groups white,black --outcomes dem,rep --strata county --html shares.html
    llpgan shares model people.csv --by race,college --bag state --proportions results.csv --out shares.csv
    """
    given = {**locals(), **tables}
    check_endings(out=(out, ".csv"), differences=(differences, ".csv"), html=(html, ".html"))
    from_counts = bool(groups or outcomes)
    for option in _ONLY_MODELS if from_counts else _ONLY_COUNTS:
        if given.get(option):
            other = "a model" if from_counts else "counts (groups) (outcomes)"
            raise ValueError(
                f"({option}) cannot be used {'with counts' if from_counts else 'with a model'}: it is for {other}"
            )
    outputs = {"shares": out, "differences": differences, "page": html}
    if from_counts:
        if data is not None:
            raise ValueError(f"{data}: with (groups) and (outcomes) there is one table, {source}, and no model")
        check_columns(groups, outcomes, unit, remainder, strata, covariates)
        check_excluded(exclude, [*outcomes, *([] if remainder is None else [remainder])])
        if aggregation_bias is not None:
            check_bias(aggregation_bias)
        with _open_outputs(outputs, overwrite, [source]) as files:
            return _estimate_from_counts(
                source, groups, outcomes, unit, strata, remainder, exclude, covariates, aggregation_bias, files
            )
    if not by:
        raise ValueError(
            "nothing says what the groups are: name the columns that count them (groups) (outcomes), or with a "
            "model the columns that define them (by)"
        )
    if data is None:
        raise ValueError(f"with the model {source}, a file of rows is needed too: llpgan shares MODEL DATA")
    check_names(by, "by")
    spec = TableSpec(**tables, weight=weight)
    with _open_outputs(outputs, overwrite, [*list_inputs(data, tables), *files_of_model(source)]) as files:
        loaded = load_model(source, image, resize)
        check_excluded(exclude, loaded.classes_.tolist())
        rows, spec = open_model_rows(loaded, data, spec)
        probabilities = loaded.predict_encoded(read_instances(loaded, rows))
        found = shares_by_columns(rows, probabilities, loaded.classes_, by, spec, exclude, strata)
        if found.covariance is None:
            warnings.warn(
                "shares are those of the predictions as they are, without intervals: give the bag of each row and "
                "the proportions or counts of bags to match them (bag) (proportions)",
                stacklevel=1,
            )
        known = next(iter(spec.tables_of_bags.values()), None)
        origin = "" if known is None else f"predictions are matched to the proportions of {known}"
        title = f"Shares by {', '.join(by)} in {Path(data).name}"
        page = shares_page(title, type(loaded).__name__, origin, found, by) if "page" in files else ""
        _show_and_write(found, by, "class", "rows", _stratum_name(strata), files, page)
    return found


@contextmanager
def _open_outputs(
    outputs: dict[str, str | None], overwrite: bool, inputs: Sequence[Any]
) -> Iterator[dict[str, Path]]:
    """The files to write, under other names until all are complete; what was written is named at the end."""
    with ExitStack() as stack:
        files, named = {}, list(inputs)
        for what, path in outputs.items():
            aside = stack.enter_context(output_if_named(path, overwrite=overwrite, inputs=named))
            if aside is not None:
                files[what] = aside
                named.append(path)
        yield files
    for what, path in outputs.items():
        if path is not None:
            make_console(stderr=True).print(f"saved {path}: {what}")


def _estimate_from_counts(
    source: str,
    groups: Sequence[str],
    outcomes: Sequence[str],
    unit: str | Sequence[str] | None,
    strata: str | Sequence[str] | None,
    remainder: str | None,
    exclude: Sequence[str],
    covariates: Sequence[str],
    aggregation_bias: float | None,
    files: dict[str, Path],
) -> GroupShares:
    counts = GroupCounts.from_table(
        source,
        groups=groups,
        outcomes=outcomes,
        unit=unit,
        remainder=remainder,
        strata=strata,
        covariates=covariates,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        complete = shares_from_counts(counts, aggregation_bias=aggregation_bias)
    for warning in caught:
        warnings.warn(warning.message, stacklevel=1)
    found = exclude_classes(complete, exclude)
    page = ""
    if "page" in files:
        usual = POOLED_BIAS if caught else AGGREGATION_BIAS
        page = CountsPage(
            f"Shares of groups in {Path(source).name}",
            counts,
            complete,
            found,
            usual if aggregation_bias is None else aggregation_bias,
            [str(warning.message) for warning in caught],
            exclude,
            remainder,
        ).render()
    _show_and_write(found, ("group",), "outcome", "people", _stratum_name(strata), files, page)
    return found


def _stratum_name(strata: str | Sequence[str] | None) -> str | None:
    return None if strata is None else ", ".join(check_names(strata, "strata"))


def _show_and_write(
    found: GroupShares,
    by: Sequence[str],
    outcome: str,
    counted: str,
    stratum: str | None,
    files: dict[str, Path],
    page: str,
) -> None:
    console, table = make_console(), make_table(found, by, outcome, counted)
    if not console.is_terminal:  # nobody has to wrap lines in a file
        widest = console.measure(table, options=console.options.update(width=_WIDEST)).maximum
        console.width = max(console.width, widest)
    console.print(table)
    if found.by_stratum:
        make_console(stderr=True).print(
            f"{len(found.by_stratum):,} strata were estimated each by itself; their shares are in the files for "
            f"shares (--out) and for the page (--html)"
        )
    if "shares" in files:
        pa.csv.write_csv(pa.table(_as_text(found.columns(by, outcome, stratum))), files["shares"])
    if "differences" in files:
        pa.csv.write_csv(pa.table(difference_columns(found, outcome)), files["differences"])
    if "page" in files:
        files["page"].write_text(page, encoding="utf-8")


def _as_text(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Groups and classes as text, so that a column may hold values of several types."""
    figures = {"size", "share", "low", "high", "lowest", "highest", "goodman"}
    return {
        name: values if name in figures else [None if value is None else str(value) for value in values]
        for name, values in columns.items()
    }


def difference_columns(found: GroupShares, outcome: str = "class") -> dict[str, list[Any]]:
    """One row for each pair of groups and class: by how much the first group's share exceeds the second's."""
    rows = found.differences()
    sensitivities = [found.sensitivity(*row[:3]) for row in rows]
    columns: dict[str, list[Any]] = {
        "group": [group_text(row[0]) for row in rows],
        "minus": [group_text(row[1]) for row in rows],
        outcome: [str(row[2]) for row in rows],
        "difference": [row[3].value for row in rows],
        "low": [row[3].low for row in rows],
        "high": [row[3].high for row in rows],
    }
    if all(found is not None for found in sensitivities):
        columns["vanishes_at_r"] = [one.critical_correlation for one in sensitivities if one is not None]
    return columns


def make_table(found: GroupShares, by: Sequence[str], outcome: str = "class", counted: str = "rows") -> Table:
    """The shares for the terminal; of two complementary outcomes the first of counts, the second of a model."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in (", ".join(by), counted, outcome, "share", "95 % interval", "certain", "Goodman"):
        table.add_column(head, overflow="fold", no_wrap=head not in (", ".join(by), outcome))
    shown = list_shown_outcomes(found)
    if outcome == "class" and len(found.outcomes) == 2:
        shown = list(found.outcomes[1:])
    columns = found.columns([f"by {name}" for name in by], outcome)
    for row, name in enumerate(columns[outcome]):
        if name not in shown:
            continue
        group = group_text(tuple(columns[f"by {column}"][row] for column in by))
        low, high, goodman = (columns[end][row] for end in ("low", "high", "goodman"))
        table.add_row(
            group,
            f"{columns['size'][row]:,.0f}",
            str(name),
            format_percent(columns["share"][row]),
            "none" if low is None else f"{100 * low:.1f} to {100 * high:.1f} %",
            f"{100 * columns['lowest'][row]:.1f} to {100 * columns['highest'][row]:.1f} %",
            "" if goodman is None else format_possible_share(goodman),
        )
    return table
