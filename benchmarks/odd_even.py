"""The digits of scikit-learn, odd against even, in bags drawn at random, for rows of accuracy."""

from typing import Any

from numpy.typing import NDArray

from llpgan import Bags
from llpgan.data.bagging import random_bags
from reproduction.datasets import load_digits

Array = NDArray[Any]


def odd_against_even(bag_size: int, seed: int) -> tuple[Bags, Array, Array]:
    """Bags of 80 % of the digits, and the pixels and labels of the others, which choose nothing."""
    digits = load_digits(seed)
    bag_of_row = random_bags(len(digits.labels), bag_size, seed)
    bags = Bags.from_labels(digits.instances, digits.labels % 2, bag_of_row)
    return bags, digits.test_instances, digits.test_labels % 2
