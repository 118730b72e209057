"""Every deep method on the same bags, with one network and one number of epochs for all, in the last epoch.

``python -m benchmarks methods_since`` runs all problems whose data are there, and
``python -m benchmarks.accuracy.methods_since digits-64 election`` some of them.
Rows go to ``results/methods_since.jsonl``, their table to
``results/methods_since.md``; rows that are there already are not run again. Settings are the defaults; test labels
judge, and choose nothing. The time is that of the processor, since the machine may be shared.
"""

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import torch
from sklearn.base import clone

from benchmarks.accuracy.adult import load_encoded as encoded_adult
from benchmarks.rows import RESULTS, Row, find_data_folder, format_table, measure_rows, write_whole
from benchmarks.settings.fashion_settings import lenet
from llpgan import DLLP, DSQ, LLPDC, LLPFC, LLPGAN, LLPVAT, ROT, Bags, CountLLP, MixBag, MomentMatching
from llpgan.data.bagging import dirichlet_bags, feature_bags, into_bags, random_bags
from llpgan.data.datasets import Split, load_election
from llpgan.deep.objectives import Smoothness
from llpgan.methods.deep import DeepClassifier
from llpgan.utils.arrays import Array
from reproduction.datasets import load_adult, load_digits, load_fashion_mnist, load_mnist

LATER = ("MomentMatching", "CountLLP", "DSQ", "ROT", "LLPVAT", "LLPDC", "MixBag", "LLPFC")
SMALLEST_JOB = 30  # people; rarer pairs of occupation and education are one bag together
METHODS: dict[str, DeepClassifier] = {
    "DLLP": DLLP(),
    "LLPGAN": LLPGAN(),
    "MomentMatching": MomentMatching(),
    "LLPGAN, moments": LLPGAN(proportion_loss="moments"),
    "CountLLP": CountLLP(),
    "CountLLP, sigmoid heads": CountLLP(heads="sigmoid"),
    "ROT": ROT(),
    "ROT, hard": ROT(hard=True, relaxation=None, sinkhorn_iterations=3),
    "LLPDC": LLPDC(),
    "MixBag": MixBag(),
    "LLPVAT": LLPVAT(),
    "DSQ": DSQ(),
    "EasyLLP": DLLP(proportion_loss="easyllp"),
    "LLPFC": LLPFC(),
    "LLPVAT, counts": LLPVAT(proportion_loss="counts", smoothness_weight=0.3),
    "LLPGAN, counts and smoothness": LLPGAN(proportion_loss="counts", instance_terms=Smoothness(weight=0.3)),
    "DLLP, 2.3 times the epochs": DLLP(),
}
MORE_EPOCHS = {"DLLP, 2.3 times the epochs": 2.3}  # as long as LLPGAN takes on digits


@dataclass(frozen=True)
class Problem:
    """Bags to learn from and labelled instances to judge by, drawn anew for each seed."""

    data: str
    bags: str
    make: Callable[[int], tuple[Bags, Array, Array]]  # from a seed to bags, test instances and labels
    epochs: int
    seeds: int
    settings: Mapping[str, Any] = field(default_factory=dict)


def make_bags_of_split(load: Callable[[int], Split], bag_size: int, seed: int) -> tuple[Bags, Array, Array]:
    split = load(seed)
    groups = random_bags(len(split.labels), bag_size, seed)
    return into_bags(split.instances, split.labels, groups), split.test_instances, split.test_labels


def unequal_digits(bag_size: int, concentration: float, seed: int) -> tuple[Bags, Array, Array]:
    split = load_digits(seed)
    groups = dirichlet_bags(split.labels, bag_size, concentration, seed)
    return into_bags(split.instances, split.labels, groups), split.test_instances, split.test_labels


def election(seed: int) -> tuple[Bags, Array, Array]:
    """The people themselves are judged: their votes are in no bag, only official results are."""
    data = load_election()
    return data.bags, data.bags.instances, data.votes


def adult(seed: int) -> tuple[Bags, Array, Array]:
    """Random bags of 64 of the training rows."""
    rows, labels, test, test_labels = encoded_adult()
    return into_bags(rows, labels, random_bags(len(labels), 64, seed)), test, test_labels


def adult_by_job(seed: int) -> tuple[Bags, Array, Array]:
    """One bag per occupation and education, the paper's own example of bags that are not random."""
    rows, labels, test, test_labels = encoded_adult()
    columns = load_adult(find_data_folder("adult.csv.gz", "adult.csv", "adult.data", "adult")).columns
    bag_of_row = feature_bags(columns["occupation"], columns["education"], minimum=SMALLEST_JOB)
    return into_bags(rows, labels, bag_of_row), test, test_labels


def images(load: Callable[[Any], Split], folder: str, seed: int) -> Split:
    return load(find_data_folder(folder))


def problems() -> dict[str, Problem]:
    """By name; those of data that are not there fail when they are run."""
    found = {
        f"digits-{size}": Problem(
            "digits", f"random bags of {size}", partial(make_bags_of_split, load_digits, size), 60, 3
        )
        for size in (16, 64)
    }
    found["digits-unequal"] = Problem(
        "digits", "bags of 64 that differ (Dirichlet 0.3)", partial(unequal_digits, 64, 0.3), 60, 3
    )
    found["election"] = Problem(
        "the election", "51 states", election, 30, 2, {"calibrate": False, "learning_rate": 1e-3}
    )
    found["adult"] = Problem("Adult", "random bags of 64", adult, 6, 2)
    found["adult-by-job"] = Problem("Adult", "by occupation and education", adult_by_job, 15, 2)
    lenet_5 = {"classifier": lenet, "activation": "relu"}
    for name, title, load in (
        ("fashion-mnist", "Fashion-MNIST, LeNet-5", load_fashion_mnist),
        ("mnist", "MNIST, LeNet-5", load_mnist),
    ):
        for size in (16, 64, 128, 256, 1024):
            make = partial(make_bags_of_split, partial(images, load, name), size)
            found[f"{name}-{size}"] = Problem(title, f"random bags of {size}", make, 20, 2, lenet_5)
    return found


PROBLEMS = problems()


def run(names: list[str] | None = None) -> list[Row]:
    torch.set_num_threads(1)  # methods side by side are quicker than threads
    chosen = list(names or PROBLEMS)
    most = max(PROBLEMS[problem].seeds for problem in chosen)
    cells = (
        (problem, method, seed)
        for seed, problem, method in product(range(most), chosen, METHODS)  # all problems once, then again
        if seed < PROBLEMS[problem].seeds
    )
    rows = measure_rows(RESULTS / "methods_since.jsonl", ("problem", "method", "seed"), cells, measure)
    write_whole(RESULTS / "methods_since.md", page(rows))
    return [cell(rows, problem, method) for problem, method in product(chosen, METHODS)]


def cell(rows: list[Row], problem: str, method: str) -> Row:
    """What the terminal shows of a method on a problem."""
    own = [row for row in rows if (row["problem"], row["method"]) == (problem, method)]
    return {"problem": problem, "method": method, "accuracy": accuracies(own), "time": relative_time(rows, own)}


def measure(problem: str, method: str, seed: int) -> Row:
    """Accuracy after the last epoch; or why the method does not take these bags."""
    about = PROBLEMS[problem]
    bags, instances, labels = about.make(seed)
    model: DeepClassifier = clone(METHODS[method])
    epochs = round(about.epochs * MORE_EPOCHS.get(method, 1))
    model.set_params(epochs=epochs, random_state=seed, **about.settings)
    started = time.process_time()
    try:
        model.fit_bags(bags)
    except ValueError as error:
        return {"refused": str(error)}
    return {
        "accuracy": float((model.predict(instances) == labels).mean()),
        "cpu_seconds": round(time.process_time() - started, 1),
        "epochs": epochs,
        "settings": {name: getattr(value, "__name__", repr(value)) for name, value in model.get_params().items()},
    }


def page(rows: list[Row]) -> str:
    """One table per data set, with its explanation."""
    text = (
        "Accuracy on test instances (%) after the last epoch: mean, standard deviation and number of draws of the "
        "bags. Settings are the defaults (but for the network, and on the election a rate of 0.001 without "
        "calibration); smoothness beside counts has the weight of 0.3 that held-out bags of MNIST chose "
        "(`combined_settings.md`). All methods of a problem have one network and, unless the name of the row says "
        "otherwise, one number of epochs. Time is that of one processor core, relative to DLLP on the same bags; "
        "rows were measured on days when the machine was more or less busy. Made from `methods_since.jsonl`."
    )
    tables = (f"## {data}\n\n{format_table(summary(rows, data))}" for data in measured_data(rows))
    return "\n\n".join(["# The deep methods since the paper", text, "\n".join(tables)])


def measured_data(rows: list[Row]) -> list[str]:
    """The data sets of the rows, in the order of the problems."""
    there = {PROBLEMS[row["problem"]].data for row in rows}
    return [data for data in dict.fromkeys(problem.data for problem in PROBLEMS.values()) if data in there]


def summary(rows: list[Row], data: str) -> list[Row]:
    """One row per method that was run on these data, one column per kind of bags, and the time."""
    names = [name for name, problem in PROBLEMS.items() if problem.data == data]
    of_data = [row for row in rows if row["problem"] in names]
    there = [name for name in names if any(row["problem"] == name for row in of_data)]
    methods = [method for method in METHODS if any(row["method"] == method for row in of_data)]
    return [{"method": method} | summarize(of_data, method, there) for method in methods]


def summarize(rows: list[Row], method: str, names: list[str]) -> Row:
    own = [row for row in rows if row["method"] == method]
    cells = {PROBLEMS[name].bags: accuracies([row for row in own if row["problem"] == name]) for name in names}
    return {**cells, "time": relative_time(rows, own)}


def accuracies(found: list[Row]) -> str:
    if any("refused" in row for row in found):
        return "refused"
    values = [100 * row["accuracy"] for row in found]
    if not values:
        return ""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f} ({len(values)})"


def relative_time(rows: list[Row], found: list[Row]) -> str:
    """The median ratio to DLLP with the same problem and seed."""
    plain = {(row["problem"], row["seed"]): row["cpu_seconds"] for row in rows if row["method"] == "DLLP"}
    ratios = [
        row["cpu_seconds"] / plain[row["problem"], row["seed"]]
        for row in found
        if "cpu_seconds" in row and (row["problem"], row["seed"]) in plain
    ]
    return f"{statistics.median(ratios):.1f}" if ratios else ""


if __name__ == "__main__":
    run(sys.argv[1:])
