"""Which method to take, when nobody has a label: splits by bags, and a comparison on bags that were held out."""

from llpgan.selection.candidates import QUICK, SIMPLEST_FIRST
from llpgan.selection.comparison import Comparison, Result
from llpgan.selection.folds import Fold, bag_folds
from llpgan.selection.running import compare
from llpgan.selection.splitters import BagKFold, BagShuffleSplit, WithinBagKFold

__all__ = [
    "QUICK",
    "SIMPLEST_FIRST",
    "BagKFold",
    "BagShuffleSplit",
    "Comparison",
    "Fold",
    "Result",
    "WithinBagKFold",
    "bag_folds",
    "compare",
]
