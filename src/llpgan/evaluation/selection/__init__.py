"""Selection of methods without labels: splitters of bags, and comparison by cross-validation on held-out bags."""

from llpgan.evaluation.selection.candidates import QUICK, SIMPLEST_FIRST
from llpgan.evaluation.selection.comparing import compare
from llpgan.evaluation.selection.comparison import Comparison, Result
from llpgan.evaluation.selection.folds import Fold, bag_folds
from llpgan.evaluation.selection.label_weight import LabelWeight, choose_label_weight
from llpgan.evaluation.selection.splitters import BagKFold, BagShuffleSplit, WithinBagKFold

__all__ = [
    "QUICK",
    "SIMPLEST_FIRST",
    "BagKFold",
    "BagShuffleSplit",
    "Comparison",
    "Fold",
    "LabelWeight",
    "Result",
    "WithinBagKFold",
    "bag_folds",
    "choose_label_weight",
    "compare",
]
