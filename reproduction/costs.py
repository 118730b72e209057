"""About how long a cell takes on one core of 2020: to plan with, and to weigh what is left."""

from reproduction.cells import Cell

_ROWS = {"digits": 1437, "digit-images": 1437, "mnist": 60_000, "fashion-mnist": 60_000, "svhn": 73_257,
         "cifar10": 50_000, "cifar100": 50_000, "adult": 32_561}  # fmt: skip
_N_CLASSES = {"cifar100": 100}
_TABLES = ("digits", "adult")
_GREY = ("digit-images", "mnist", "fashion-mnist")
# Milliseconds an instance and epoch: the paper's two networks, and the dense one; alone and against a generator.
_DLLP = {"table": 0.06, "grey": 0.4, "colour": 5.0}
_LLPGAN = {"table": 0.15, "grey": 1.0, "colour": 16.0}
# Milliseconds an instance, in all, of grey images and rows; colour has four times the pixels, and is harder.
_CLASSICAL = {"InvCal": 0.3, "AlterSVM": 10.0, "BagLogistic": 1.8}
_COLOUR = 8
_USUAL_EPOCHS = 100
_USUALLY_COARSE = 0.8  # of the epochs
_PIXELS_WHILE_COARSE = 1 / 3  # a quarter, then growing to all


def seconds(cell: Cell) -> float:
    """A guess within a factor of two or three.

    >>> round(seconds(Cell("mnist", "DLLP", bag_size=16, epochs=12)))
    288
    >>> small = (("classifier", "mnist_classifier"),)
    >>> round(seconds(Cell("cifar10", "DLLP", bag_size=16, epochs=12, settings=small)))
    240
    >>> coarse = (("coarse_until", 0.5),)
    >>> round(seconds(Cell("cifar10", "DLLP", bag_size=16, epochs=16, settings=coarse)))
    2667
    """
    rows = count_rows(cell)
    kind = _kind(cell)
    if cell.method not in ("DLLP", "LLPGAN", "Supervised", "GAN"):
        return _CLASSICAL.get(cell.method, 1.0) * (_COLOUR if kind == "colour" else 1) * rows / 1000
    each = (_LLPGAN if cell.method in ("LLPGAN", "GAN") else _DLLP)[kind]
    settings = dict(cell.settings)
    usual = _USUALLY_COARSE if kind == "colour" and "classifier" not in settings else 0.0
    coarse = float(settings.get("coarse_until", usual))
    pixels = 1 - coarse * (1 - _PIXELS_WHILE_COARSE)
    return each * rows * (cell.epochs or _USUAL_EPOCHS) * pixels / 1000


def _kind(cell: Cell) -> str:
    """Of the data, or of the network that it is given."""
    if cell.dataset in _TABLES:
        return "table"
    return "grey" if cell.dataset in _GREY or cell.has_small_network else "colour"


def count_rows(cell: Cell) -> int:
    """How many rows a cell trains on, by what is known of the data set."""
    share = 1 if cell.classes is None else len(cell.classes) / _N_CLASSES.get(cell.dataset, 10)
    rows = round(_ROWS[cell.dataset] * share)
    return rows if cell.train_rows is None else min(rows, cell.train_rows)
