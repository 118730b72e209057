"""Scikit-learn's handwritten digits: 1,797 images of 8 x 8, ten classes."""

import numpy as np

from llpgan.data.datasets.split import Split


def load_digits(seed: int = 0) -> Split:
    """Load the handwritten digits of scikit-learn, with a test part of one fifth, stratified by class.

    Parameters
    ----------
    seed : int, default=0
        The seed of the split.

    Returns
    -------
    Split
        The data, with rows of 64 pixels.

    Examples
    --------
    >>> digits = load_digits()
    >>> digits.instances.shape, digits.test_instances.shape
    ((1437, 64), (360, 64))
    """
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    pixels, labels = datasets.load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        pixels.astype(np.float32), labels, test_size=0.2, stratify=labels, random_state=seed
    )
    return Split(train, train_labels, test, test_labels)
