"""Functions that divide labelled data into bags, for experiments in which the labels are known.

Each function returns the bag of each row: an array of integers from 0, with ``NO_BAG`` (−1) for rows in no bag. If
there are such rows, a warning says how many and why. :func:`into_bags` leaves them out::

    bag_of_row = dirichlet_bags(labels, bag_size=64, concentration=0.5, seed=0)
    bags = into_bags(instances, labels, bag_of_row)

The functions of :mod:`llpgan.data.bagging.noise` take Bags and return Bags with noisy proportions.
"""

from llpgan.data.bagging.at_random import between, poisson, random_bags, varying_bags
from llpgan.data.bagging.by_class import dirichlet_bags
from llpgan.data.bagging.by_feature import feature_bags
from llpgan.data.bagging.clustered import clustered_bags
from llpgan.data.bagging.labelled_rows import NO_BAG, into_bags
from llpgan.data.bagging.noise import gaussian_noise, laplace_noise, rounded, swapped

__all__ = [
    "NO_BAG",
    "between",
    "clustered_bags",
    "dirichlet_bags",
    "feature_bags",
    "gaussian_noise",
    "into_bags",
    "laplace_noise",
    "poisson",
    "random_bags",
    "rounded",
    "swapped",
    "varying_bags",
]
