"""Tests of names of earlier versions."""

import numpy as np
import pytest

from llpgan import Bags
from llpgan.bags.known_shares import KnownShares

LOOSE = KnownShares(np.zeros((2, 2)), np.ones((2, 2)), None, np.ones(2))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda bags: bags.subset([1]).instances.tolist() == [[2.0]], "Bags.subset is now Bags.take_bags"),
        (lambda bags: bags.part([0]).bag_ids == ("a",), "Bags.part is now Bags.take_rows"),
        (lambda bags: bags.with_labels([0], ["no"]).n_bags == 3, "Bags.with_labels is now Bags.add_labels"),
        (lambda bags: bags.known is None, "Bags.known is now Bags.share_constraints"),
        (
            lambda _: Bags(
                np.eye(2), np.arange(2), np.full((2, 2), 0.5), ("a", "b"), np.arange(2), known=LOOSE
            ).share_constraints.upper.all(),
            r"Bags\(known=...\) is now share_constraints",
        ),
    ],
)
def test_old_names_of_bags_work_and_say_the_new_one(use, message):
    bags = Bags.from_labels([[1.0], [2.0]], ["no", "yes"], groups=["a", "b"])
    with pytest.warns(FutureWarning, match=message):
        assert use(bags)
