"""``python -m llpgan.demo``: single digits learned from the class shares of bags, in two minutes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from llpgan import DLLP, LLPGAN, Bags
from llpgan.bagging import random_bags
from llpgan.datasets import Split, load_digits
from llpgan.estimators.deep import DeepClassifier

OUT = Path("demo")
BAG_SIZES = (16, 64)
METHODS = {"LLPGAN": LLPGAN, "DLLP": DLLP}


@dataclass
class Result:
    """A trained model, and its test error after each epoch."""

    name: str
    bag_size: int
    model: DeepClassifier

    @property
    def test_errors(self) -> list[float]:
        """In percent, by epoch. They choose nothing: the last epoch counts."""
        return [row["test_error"] for row in self.model.history_]


def main() -> None:
    """Train on bags of digits, show the errors, and save a picture."""
    torch.set_num_threads(1)  # the networks are small: a second thread only waits
    console = Console()
    digits = load_digits()
    console.print(
        f"[bold]Learning from label proportions.[/bold] {len(digits.labels)} handwritten digits in bags; of each "
        f"bag only the share of each class is known. Tested on {len(digits.test_labels)} single digits.\n"
    )
    results = [trained(name, size, digits) for size in BAG_SIZES for name in METHODS]
    floor = trained("DLLP", 1, digits)
    console.print(error_table(results, floor))
    picture = draw(results, floor, OUT / "digits.png")
    console.print(f"Learning curves and generated digits: [bold]{picture}[/bold]")


def trained(name: str, bag_size: int, digits: Split) -> Result:
    """One method on random bags of one size; of size one, it is supervised learning."""

    def test_error(model: Any) -> Mapping[str, float]:
        return {"test_error": 100 * (1 - model.score(digits.test_instances, digits.test_labels))}

    bag_of_row = random_bags(len(digits.labels), bag_size, seed=0)
    bags = Bags.from_labels(digits.instances, digits.labels, bag_of_row)
    model = METHODS[name](random_state=0, verbose=True)
    return Result(name, bag_size, model.fit_bags(bags, monitor=test_error))


def error_table(results: list[Result], floor: Result) -> Table:
    """A row a bag size, a column a method."""
    table = Table(title="Test error (%)")
    for heading in ("bag size", *METHODS, "with every label"):
        table.add_column(heading, justify="right")
    for size in BAG_SIZES:
        errors = [r.test_errors[-1] for r in results if r.bag_size == size]
        table.add_row(str(size), *(f"{error:.1f}" for error in [*errors, floor.test_errors[-1]]))
    return table


def draw(results: list[Result], floor: Result, path: Path) -> Path:
    """Test error by epoch, beside digits from the generator."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        curves, samples = figure.subplots(1, 2, width_ratios=(1.6, 1))
        draw_curves(curves, results, floor)
        gan = next(r for r in results if r.name == "LLPGAN")
        draw_samples(samples, gan.model.sample(64, random_state=0), gan.bag_size)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=130)
    return path


def draw_curves(axes: Any, results: list[Result], floor: Result) -> None:
    """One line a run, on a logarithmic axis; the method by colour, the bag size by line."""
    colours, lines = {"LLPGAN": "#1b6ca8", "DLLP": "#d1603d"}, dict(zip(BAG_SIZES, ("-", "--"), strict=True))
    for result in results:
        label = f"{result.name}, bags of {result.bag_size}"
        axes.plot(result.test_errors, lines[result.bag_size], color=colours[result.name], label=label)
    axes.plot(floor.test_errors, color="#888888", linewidth=1, label="with every label")
    axes.set(xlabel="epoch", ylabel="test error (%)", yscale="log", title="Learning curves")
    axes.set_yticks([1, 2, 5, 10, 20, 50], labels=["1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.legend(frameon=False)


def draw_samples(axes: Any, digits: NDArray[np.float32], bag_size: int) -> None:
    """An eight by eight mosaic, with a margin around each digit."""
    tiles = np.pad(digits.reshape(8, 8, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    mosaic = tiles.transpose(0, 2, 1, 3).reshape(80, 80)
    axes.imshow(mosaic, cmap="gray_r", vmin=0, vmax=16)
    axes.axis("off")
    axes.set(title=f"Generated digits (LLPGAN, bags of {bag_size})")


if __name__ == "__main__":
    main()
