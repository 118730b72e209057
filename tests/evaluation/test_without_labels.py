import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation import judge_without_labels


def probabilities_of(x):
    share = 1 / (1 + np.exp(-3 * x))
    return np.column_stack([1 - share, share])


def test_random_bags_get_an_accuracy_others_the_reason_why_not(rng):
    x = rng.normal(size=(1200, 1))
    labels = (x[:, 0] > 0).astype(int)
    fair = judge_without_labels(Bags.from_labels(x, labels, np.arange(1200) // 20), probabilities_of(x[:, 0]))
    assert fair.scores.accuracy.low > 0.9
    assert "if the model was not trained on these bags" in fair.why
    by_value = np.argsort(np.argsort(x[:, 0])) // 20
    other = judge_without_labels(Bags.from_labels(x, labels, by_value), probabilities_of(x[:, 0]))
    assert other.scores is None
    assert "the bags are not random" in other.why
    assert "errors cancel within a bag" in other.why
    assert other.bags.mean_total_variation.high is not None


def test_few_bags_are_said_to_be_few(rng):
    x = rng.normal(size=(200, 1))
    labels = (x[:, 0] > 0).astype(int)
    few = judge_without_labels(Bags.from_labels(x, labels, np.arange(200) // 20), probabilities_of(x[:, 0]))
    assert "With so few bags" in few.why
    two = judge_without_labels(Bags.from_labels(x, labels, np.arange(200) // 100), probabilities_of(x[:, 0]))
    assert two.scores is None
    assert "2 bags are too few" in two.why


def test_arguments_in_another_order_are_refused(bags):
    model = MeanMap().fit_bags(bags)
    with pytest.raises(TypeError, match=r"bags must be Bags, which .* make, got a MeanMap"):
        judge_without_labels(model, bags)
    with pytest.raises(TypeError, match="probabilities must be an array, a frame or a list, got a MeanMap"):
        judge_without_labels(bags, model)
    with pytest.raises(ValueError, match=r"probabilities need one column for each of 2 classes, got \(80, 3\)"):
        judge_without_labels(bags, np.full((80, 3), 1 / 3))
