"""The data inside the package: scikit-learn's digits, and the election of 2016."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from llpgan.bags import Bags
from llpgan.utils.arrays import Array

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]


class Split(NamedTuple):
    """Labelled data to make bags of, and labelled data to test on.

    Attributes
    ----------
    instances : ndarray of shape (n_samples, ...)
        The training instances.
    labels : ndarray of shape (n_samples,)
        Their classes.
    test_instances : ndarray of shape (n_test_samples, ...)
        The test instances.
    test_labels : ndarray of shape (n_test_samples,)
        Their classes.
    class_names : tuple of str
        The name of each class, by its label. Empty if the labels are the names.
    """

    instances: Array
    labels: Array
    test_instances: Array
    test_labels: Array
    class_names: tuple[str, ...] = ()


def labelled_images(where: str, images: Images, labels: Array, n_classes: int) -> tuple[Images, Labels]:
    """Images and the label of each; refused where there are none, they differ in number, or a label is no class.

    >>> labelled_images("batch", np.zeros((2, 1, 4, 4), np.uint8), np.array([3, 10]), n_classes=10)
    Traceback (most recent call last):
    ValueError: batch: image 1 has label 10, but the classes are 0 to 9
    """
    if len(images) == 0:
        raise ValueError(f"{where}: there are no images")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"{where}: labels must be a list of whole numbers, got {labels.dtype} {labels.shape}")
    if len(images) != len(labels):
        raise ValueError(f"{where}: {len(images)} images, but {len(labels)} labels: there must be one for each")
    for image in np.flatnonzero((labels < 0) | (labels >= n_classes)).tolist():
        raise ValueError(
            f"{where}: image {image} has label {labels[image]}, but the classes are 0 to {n_classes - 1}"
        )
    return images, labels.astype(np.int64)


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


FOLDER = Path(__file__).parent / "election2016"
PEOPLE, RESULTS = FOLDER / "respondents.csv.gz", FOLDER / "state_results.csv"
BAG, LABEL = "state", "voted_trump"


class Election(NamedTuple):
    """A real problem of learning from label proportions, with the hidden truth.

    Attributes
    ----------
    bags : Bags
        The voters by state, with the *official* proportions of the classes in the state.
    people : pyarrow.Table
        The voters, with their state and demography but without their vote.
    votes : ndarray of shape (n_samples,)
        The reported vote of each voter, "other" or "trump", for evaluation only.
    """

    bags: Bags
    people: pa.Table
    votes: NDArray[np.str_]


def load_election() -> Election:
    """Load the presidential election of 2016: 44,932 voters of a survey, and the official results of 51 states.

    The voters come from the Cooperative Congressional Election Study. The official results are another source.

    Returns
    -------
    Election
        The bags, the table of voters, and their votes.

    Examples
    --------
    >>> election = load_election()
    >>> election.bags
    Bags(44932 instances of shape (25,), 51 bags of 71 to 4136, 2 classes)
    >>> election.votes[:3].tolist()
    ['trump', 'trump', 'other']
    """
    table = pa.csv.read_csv(PEOPLE)
    bags = Bags.from_tables(PEOPLE, RESULTS, bag=BAG, label=LABEL)
    votes = bags.classes[table[LABEL].to_numpy()]
    return Election(bags, table.drop_columns([LABEL]), votes)
