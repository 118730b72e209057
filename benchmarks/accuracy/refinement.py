"""BagLogistic with and without refinement on the problems of ``table_regret``: AUC and log loss by labels.

Which refinements are averaged was chosen on ``natural_tables``. Rows go to
``results/refinement.jsonl``, their table to ``results/refinement.md``; rows that are there already are not run
again. ``REFINEMENT_PROBLEMS`` runs a part, separated by semicolons.
"""

import os
import statistics
import time
import warnings

from benchmarks.accuracy.table_regret import OTHER_PROBLEMS, PROBLEMS, SEED
from benchmarks.rows import RESULTS, Row, as_markdown, measure_rows, write_whole
from llpgan import BagLogistic
from llpgan.evaluation import label_scores


def run() -> list[Row]:
    named = os.environ.get("REFINEMENT_PROBLEMS")
    problems = named.split(";") if named else [*PROBLEMS, *OTHER_PROBLEMS]
    cells = [(problem, refine) for problem in problems for refine in (False, True)]
    rows = measure_rows(RESULTS / "refinement.jsonl", ("problem", "refine"), cells, measure)
    shown = summary(rows)
    gains = [row["gain"] for row in shown]
    about = (
        "Test AUC (%) and log loss of BagLogistic with default settings, without and with `refine=True`. "
        "Made from `refinement.jsonl`. Seconds are of one thread on a busy machine.\n\n"
        f"Mean gain of AUC over {len(gains)} problems: {statistics.mean(gains):+.2f} points; "
        f"worst {min(gains):+.2f}."
    )
    table = [row | {"gain": f"{row['gain']:+.2f}"} for row in shown]
    write_whole(RESULTS / "refinement.md", as_markdown("Refinement of BagLogistic", about, table))
    return table


def measure(problem: str, refine: bool) -> Row:
    given = {**PROBLEMS, **OTHER_PROBLEMS}[problem](SEED)
    model = BagLogistic(refine=refine, random_state=SEED)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_bags(given.bags)
    seconds = time.perf_counter() - started
    scores = label_scores(given.test_labels, model.predict_encoded(given.test_instances), given.bags.classes)
    assert scores.auc is not None
    return {
        "auc": round(scores.auc.value, 5),
        "accuracy": round(scores.accuracy.value, 5),
        "log_loss": round(scores.log_loss.value, 4),
        "chosen": repr(model.refinement_),
        "seconds": round(seconds, 1),
    }


def summary(rows: list[Row]) -> list[Row]:
    """One row per problem for which both are measured."""
    by_problem: dict[str, dict[bool, Row]] = {}
    for row in rows:
        by_problem.setdefault(row["problem"], {})[row["refine"]] = row
    return [
        {
            "problem": problem,
            "AUC without": f"{100 * both[False]['auc']:.2f}",
            "AUC with": f"{100 * both[True]['auc']:.2f}",
            "gain": round(100 * (both[True]["auc"] - both[False]["auc"]), 2),
            "log loss without": f"{both[False]['log_loss']:.3f}",
            "with": f"{both[True]['log_loss']:.3f}",
            "chosen": both[True]["chosen"],
        }
        for problem, both in by_problem.items()
        if len(both) == 2
    ]
