"""The digits of scikit-learn, odd against even, in bags drawn at random, for rows of accuracy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from llpgan import Bags

Array = NDArray[Any]


def odd_against_even(bag_size: int, seed: int) -> tuple[Bags, Array, Array]:
    """Bags of 80 % of the images, and the images and labels of the others, which choose nothing."""
    digits = load_digits()
    images, odd = digits.images[:, None], digits.target % 2
    train, test, train_odd, test_odd = train_test_split(images, odd, test_size=0.2, random_state=seed)
    rows = np.random.default_rng(seed).permutation(len(train))[: len(train) // bag_size * bag_size]
    return Bags.from_labels(train[rows], train_odd[rows], np.arange(len(rows)) // bag_size), test, test_odd
