"""Of a dataset of some bags, such as those held out, each bag comes with its own rows and its own proportions."""

import numpy as np
import torch

from llpgan import Bags
from llpgan.deep.batches import BagDataset


def test_bags_keep_their_proportions():
    labels = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    bags = Bags.from_labels(np.arange(8.0)[:, None], labels, groups=[0, 0, 1, 1, 2, 2, 3, 3])
    some = BagDataset(bags, [3, 2])
    batch = some.batch([0, 1])
    assert batch.instances.ravel().tolist() == [6, 7, 4, 5]
    torch.testing.assert_close(batch.proportions, torch.tensor([[0.5, 0.5], [0.0, 1.0]]))
    torch.testing.assert_close(some.batch([1]).proportions, torch.tensor([[0.0, 1.0]]))
