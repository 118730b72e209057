"""``llpgan inspect``: what bags can tell, before anything is trained."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from llpgan.bags import Bags
from llpgan.cli.command_options import passing_on
from llpgan.cli.console import terminal
from llpgan.cli.fit import origin
from llpgan.cli.model_inputs import tables_in
from llpgan.evaluation import (
    Inspection,
    LearningCurve,
    RandomnessTest,
    inspect_bags,
    learning_curve,
    randomness_test,
)
from llpgan.report import InspectionPage
from llpgan.utils.output_paths import output_if_named


@passing_on(Bags.from_tables, "instances")
def inspect(
    data: str,
    *,
    curve: bool = True,
    random_state: int = 0,
    out: str | None = None,
    html: str | None = None,
    overwrite: bool = False,
    **tables: Any,
) -> Inspection:
    """Inspect bags before training: what they can tell, whether they are random, and what more bags would bring.

    Parameters
    ----------
    data : str
        A table of rows (.csv, .csv.gz, .parquet), a folder with one folder of images per bag, or an .npz file.
    curve : bool, default=True
        Whether to fit a fast method to parts of the bags, to see what more bags would bring.
    random_state : int, default=0
        The seed of the random draws.
    out : str, default=None
        A file (.json) for the figures, which are always shown.
    html : str, default=None
        A file (.html) for a page with charts and tables.
    overwrite : bool, default=False
        Replace files that are there.
    **tables : dict
        The parameters of Bags.from_tables.

    Examples
    --------
    llpgan inspect people.csv --bag state --proportions results.csv
    """
    outputs = [output_if_named(path, overwrite=overwrite, inputs=tables_in(data, tables)) for path in (out, html)]
    with outputs[0] as aside, outputs[1] as page:
        bags = Bags.from_tables(data, **tables)
        found = inspect_bags(bags)
        randomness = randomness_test(bags, random_state=random_state)
        steps = learning_curve(bags, random_state=random_state) if curve and bags.instances.ndim == 2 else None
        console = terminal()
        console.print(_facts(found))
        lines = in_words(found, randomness, steps)
        for line in lines:
            console.print(f"- {line}")
        if aside is not None:
            aside.write_text(json.dumps(_as_json(found, randomness, steps), indent=2) + "\n")
        if page is not None:
            told = InspectionPage(Path(data).name, origin(data, bags, tables), bags, found, lines, steps)
            page.write_text(told.render(), encoding="utf-8")
    return found


def in_words(found: Inspection, randomness: RandomnessTest, curve: LearningCurve | None) -> list[str]:
    """What the figures mean."""
    lines = [*_randomness(found, randomness), _worth(found)]
    lines += [f"No bag tells {pair} apart: their shares keep one ratio." for pair in found.unclear]
    lines.append(
        f"If every bag were two of half the size, they would tell as much as some {found.worth_if_halved:,.0f} "
        f"labelled rows; if every bag were half as mixed, as {found.worth_if_purer:,.0f}."
    )
    return [*lines, _more_bags(curve, found.n_bags)]


def _randomness(found: Inspection, randomness: RandomnessTest) -> list[str]:
    if randomness.looks_random and not found.can_judge:
        if found.n_bags > 1 and found.spread == 0:
            return ["All bags have the same shares: they tell nothing about which rows belong to which class."]
        few = "A single bag is" if found.n_bags == 1 else f"{found.n_bags} bags are"
        return [f"{few} too few to see whether bags are drawn at random, or to judge a model without labels."]
    return [randomness.in_words(), _use_of(randomness)]


def _use_of(randomness: RandomnessTest) -> str:
    if randomness.looks_random:
        return "So bags that are held out can tell how often single predictions are right, without a label."
    return (
        "Methods can learn from such bags, often even better, but without labels nobody can tell how often single "
        "predictions are right: `llpgan evaluate` then gives the error of bags."
    )


def _worth(found: Inspection) -> str:
    if not np.isfinite(found.condition):
        return "The bags do not determine all classes: add bags in which their shares differ."
    return (
        f"If bags differ in nothing but their shares, they tell about as much (of the mean of each class) as "
        f"{found.total_worth:,.0f} labelled rows would; there are {found.rows.sum():,.0f} rows without labels."
    )


def _more_bags(curve: LearningCurve | None, n_bags: int) -> str:
    if curve is None:
        return "What more bags would bring was not tried (it needs a table, and 16 bags)."
    tried = ", ".join(f"{step.error:.3f} with {step.n_bags}" for step in curve.steps)
    if curve.scale == 0:
        return f"More bags seem to bring little to a quick method: bag error on held-out bags {tried}."
    return (
        f"Bag error of a quick method on held-out bags: {tried} bags. Going on like this, {curve.at(n_bags):.3f} "
        f"with all {n_bags}, and {curve.at(2 * n_bags):.3f} with twice as many; a guess, without interval."
    )


def _facts(found: Inspection) -> Table:
    table = Table("", "", title="What the bags can tell", title_justify="left", show_header=False)
    table.add_row("bags", f"{found.n_bags:,}, as good as {found.effective_bags:,.0f} of equal size")
    table.add_row(
        "rows in a bag", f"{found.smallest:,} to {found.largest:,}, half of the bags up to {found.median:,.0f}"
    )
    table.add_row("share of a bag's commonest class", f"{found.purity:.1%} on average")
    table.add_row("shares differ between bags", f"{found.spread:.1f} times as much as in random bags")
    table.add_row("condition of the mixing system", f"{found.condition:,.0f} (1: pure bags; infinite: hopeless)")
    for name, worth, rows in zip(found.classes, found.worth, found.rows, strict=True):
        table.add_row(f"class {name}", f"{rows:,.0f} rows, worth {worth:,.0f} labelled ones")
    return table


def _as_json(found: Inspection, randomness: RandomnessTest, curve: LearningCurve | None) -> dict[str, Any]:
    plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in vars(found).items()}
    plain["condition"] = found.condition if np.isfinite(found.condition) else None
    return {**plain, "randomness": vars(randomness), "learning_curve": None if curve is None else vars(curve)}
