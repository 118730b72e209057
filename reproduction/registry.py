"""The experiments by name: a grid of cells, and the table and figure made of their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from reproduction.experiments import (
    average_error,
    bag_kinds,
    convergence,
    draws,
    entropies,
    gan_variants,
    lambdas,
    noises,
    samples,
    times,
)
from reproduction.grids import FOLDER
from reproduction.outputs import Table, error_figure, error_table
from reproduction.run import Results


@dataclass(frozen=True)
class Experiment:
    """What it asks, the cells that answer, and how the answer is shown: pure functions of rows."""

    question: str
    grid: Path
    table: Callable[[Results], Table]
    figure: Callable[[Results], Figure]


EXPERIMENTS = {
    "table1": Experiment(
        "the error of DLLP, LLP-GAN and supervised networks by bag size (Table 1, and its figure)",
        FOLDER / "table1.yaml",
        partial(error_table, title="Table 1: test error (%)", paper="table1"),
        partial(error_figure, paper="table1"),
    ),
    "convergence": Experiment(
        "the error by epoch (Figure 3); from the rows of table1",
        FOLDER / "table1.yaml",
        convergence.table,
        convergence.figure,
    ),
    "table2": Experiment(
        "two classes: InvCal, alter-∝SVM, DLLP and LLP-GAN by bag size (Table 4)",
        FOLDER / "table2.yaml",
        partial(error_table, title="Binary test error (%)", paper="table2"),
        partial(error_figure, paper="table2"),
    ),
    "average-error": Experiment(
        "the binary errors, averaged over data sets (Figure 5); from the rows of table2",
        FOLDER / "table2.yaml",
        average_error.table,
        average_error.figure,
    ),
    "lambda": Experiment(
        "LLP-GAN's error by epoch for several λ (Figure 6 a to c)",
        FOLDER / "lambda.yaml",
        lambdas.table,
        lambdas.figure,
    ),
    "noise": Experiment(
        "the error where proportions are noisy",
        FOLDER / "noise.yaml",
        noises.table,
        noises.figure,
    ),
    "bag-kinds": Experiment(
        "the error where bags are not drawn at random",
        FOLDER / "bag-kinds.yaml",
        bag_kinds.table,
        bag_kinds.figure,
    ),
    "time": Experiment(
        "training time against sample size, and how it grows (Figure 6 d)",
        FOLDER / "time.yaml",
        times.table,
        times.figure,
    ),
    "entropy": Experiment(
        "the entropy of DLLP's predictions by epoch, with and without a term for it (appendix)",
        FOLDER / "entropy.yaml",
        entropies.table,
        entropies.figure,
    ),
    "table3": Experiment(
        "LLP-GAN over random draws of the bags (Table 5)",
        FOLDER / "table3.yaml",
        draws.table,
        draws.figure,
    ),
    "samples": Experiment(
        "images of LLP-GAN's generator, beside those of a GAN without proportions (Figure 4)",
        FOLDER / "samples.yaml",
        samples.table,
        samples.figure,
    ),
    "gan-variants": Experiment(
        "LLP-GAN with other losses of the generator, and with critics",
        FOLDER / "gan-variants.yaml",
        gan_variants.table,
        gan_variants.figure,
    ),
}
