"""Networks of a user's own: what is wrong with them is said before training."""

import pytest
from torch import nn

from llpgan import DLLP, LLPGAN
from llpgan.deep.networks import Classifier, mlp_generator


class Returning(Classifier):
    """A classifier that returns something else than logits and features."""

    def __init__(self, change):
        super().__init__(nn.Linear(3, 4), nn.Linear(4, 2))
        self.change = change

    def forward(self, instances):
        return self.change(*super().forward(instances))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Linear(3, 2), "must return a pair of tensors, logits and features, not a Tensor"),
        (Returning(lambda logits, features: (logits.numpy(), features)), r"not a tuple \(ndarray, Tensor\)"),
        (Returning(lambda logits, features: (logits, features, 1)), r"not a tuple \(Tensor, Tensor, int\)"),
        (Classifier(nn.Linear(3, 4), nn.Linear(4, 2)).requires_grad_(False), "no weights to train: .* are frozen"),
        (Classifier(nn.Linear(3, 4), nn.Linear(4, 7)), r"logits \(2, 7\), not \(2, 2\)"),
        (Classifier(nn.Linear(5, 4), nn.Linear(4, 2)), r"does not take instances of shape \(3,\)"),
        (Classifier(nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (2, 2))), nn.Linear(2, 2)), "logits"),
    ],
)
def test_classifiers(network, message, bags):
    with pytest.raises((TypeError, ValueError), match=message):
        DLLP(classifier=network).fit_bags(bags)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (mlp_generator((4,), 100), r"made \(2, 4\), not instances \(2, 3\)"),
        (mlp_generator((3,), 7), "does not take noise of size 100"),
    ],
)
def test_generators(network, message, bags):
    with pytest.raises(ValueError, match=message):
        LLPGAN(generator=network).fit_bags(bags)
