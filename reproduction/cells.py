"""A cell of an experiment: all that decides one training, and a name that follows from it."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Cell:
    """One training and its test.

    Attributes
    ----------
    dataset : str
        Its name in :data:`reproduction.inputs.DATASETS`.
    method : str
        Its name in :data:`reproduction.inputs.METHODS`.
    bag_kind : str, default="random"
        How rows become bags, a name in :data:`reproduction.inputs.BAG_KINDS`.
    bag_size : int, default=None
        Rows in a bag; None where a feature decides.
    concentration : float, default=None
        Of Dirichlet bags.
    draw : int, default=0
        Which draw of the bags; it seeds the drawing.
    seed : int, default=0
        Of the training.
    epochs : int, default=None
        Of the methods that have any.
    settings : Settings, default=()
        Of the method, as name and value.
    classes : tuple of int, default=None
        Only these two classes, where the problem is binary.
    train_rows : int, default=None
        So many rows of the training data, drawn at random; None for all.
    test_rows : int, default=None
        The same of the test data.
    noise : str, default=None
        What is done to the proportions, a name in :data:`reproduction.inputs.NOISES`.
    noise_level : float, default=None
        How much of it.
    snapshots : tuple of int, default=()
        After these epochs, images of the generator are kept.
    """

    dataset: str
    method: str
    bag_kind: str = "random"
    bag_size: int | None = None
    concentration: float | None = None
    draw: int = 0
    seed: int = 0
    epochs: int | None = None
    settings: Settings = ()
    classes: tuple[int, int] | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    noise: str | None = None
    noise_level: float | None = None
    snapshots: tuple[int, ...] = ()

    @property
    def has_small_network(self) -> bool:
        """Whether the grid asks for the paper's network for MNIST, on whatever data."""
        return dict(self.settings).get("classifier") == "mnist_classifier"

    def lasting(self, epochs: int) -> "Cell":
        """The same with another number of epochs, if the method has any.

        >>> Cell("mnist", "LLPGAN", epochs=70, snapshots=(50, 70)).lasting(60).snapshots
        (50, 60)
        """
        if self.epochs is None:
            return self
        snapshots = sorted({min(epoch, epochs) for epoch in self.snapshots})
        return replace(self, epochs=epochs, snapshots=tuple(snapshots))

    @cached_property
    def content(self) -> dict[str, Any]:
        """What is set, as JSON has it. A field that is not set leaves no trace, so that names outlive new ones."""
        unset = {field.name: field.default for field in fields(self)}
        found = {name: value for name, value in asdict(self).items() if value != unset[name]}
        if self.settings:
            found["settings"] = dict(self.settings)
        return dict(json.loads(json.dumps(found)))

    @cached_property
    def id(self) -> str:
        """A name that two cells share only if they are the same.

        >>> Cell("digits", "DLLP", bag_size=16).id
        'eaf096c6727b'
        """
        text = json.dumps(self.content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    @property
    def title(self) -> str:
        """The cell in a few words.

        >>> Cell("digits", "DLLP", bag_size=16, epochs=3).title
        'digits, DLLP, random bags of 16, draw 0'
        """
        bags = f"{self.bag_kind} bags" + (f" of {self.bag_size}" if self.bag_size else "")
        more = [str(part) for part in (self.noise, self.noise_level) if part is not None]
        varied = [f"{name} {value}" for name, value in self.settings if name in _TELLING]
        pair = [] if self.classes is None else [f"{self.classes[0]} and {self.classes[1]}"]
        return ", ".join([self.dataset, *pair, self.method, bags, *more, *varied, f"draw {self.draw}"])


_TELLING = ("proportion_weight", "entropy_weight", "generator_loss", "critic", "kernel")
