"""Which method to take, when nobody has a label: splits by bags, and a comparison on bags that were held out."""

from llpgan.selection.folds import Fold, bag_folds
from llpgan.selection.splitters import BagKFold, BagShuffleSplit, WithinBagKFold

__all__ = ["BagKFold", "BagShuffleSplit", "Fold", "WithinBagKFold", "bag_folds"]
