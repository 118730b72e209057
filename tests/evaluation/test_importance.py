import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation import bag_scores, importance, partial_dependence
from llpgan.evaluation.explain import fewer_rows
from llpgan.methods import base


@pytest.fixture
def one_column_tells(rng):
    """Of four columns the first two say the class, and only together; bags differ in their shares."""
    groups = np.repeat(np.arange(30), 10)
    labels = rng.random(300) < rng.random(30)[groups]
    instances = rng.normal(size=(300, 4))
    instances[:, 0] += 2 * labels
    instances[:, 1] -= 2 * labels
    return Bags.from_labels(instances, labels, groups)


def test_only_informative_columns_matter(one_column_tells):
    model = MeanMap().fit_bags(one_column_tells)
    rises = importance(model, one_column_tells, {"both": [0, 1], "first": [0], "none": [2, 3]})
    assert rises["both"].mean > rises["first"].mean > 10 * abs(rises["none"].mean)
    assert rises["both"].sd > 0


def test_columns_of_a_group_are_shuffled_together(one_column_tells):
    """Shuffling all columns is giving each bag the predictions of other rows: recomputed by hand."""
    model = MeanMap().fit_bags(one_column_tells)
    rise = importance(model, one_column_tells, {"all": range(4)}, repeats=1, random_state=3)["all"]
    order = np.random.default_rng(3).permutation(300)
    probabilities = model.predict_proba(one_column_tells.instances)
    before, after = (
        bag_scores(one_column_tells, p).mean_cross_entropy.value for p in (probabilities, probabilities[order])
    )
    assert rise.mean == pytest.approx(after - before)
    assert rise.sd == 0


def test_the_same_seed_gives_the_same_figures(one_column_tells):
    model = MeanMap().fit_bags(one_column_tells)
    one, other = (importance(model, one_column_tells, {"first": [0]}, random_state=1) for _ in range(2))
    assert one == other


def test_fewer_rows_keep_every_bag_and_its_proportions(rng):
    bag_of_row = np.repeat(["a", "b", "c"], [1, 100, 899])
    bags = Bags.from_arrays(rng.normal(size=(1000, 2)), bag_of_row, rng.dirichlet([1, 1], size=3))
    fewer = fewer_rows(bags, 100, rng)
    assert fewer.sizes.tolist() == [1, 10, 89]
    np.testing.assert_array_equal(fewer.proportions, bags.proportions)
    assert fewer_rows(bags, 1000, rng) is bags


def test_fewer_rows_mean_the_same(one_column_tells):
    model = MeanMap().fit_bags(one_column_tells)
    all_rows, some = (importance(model, one_column_tells, {"both": [0, 1]}, max_rows=n) for n in (300, 150))
    assert some["both"].mean == pytest.approx(all_rows["both"].mean, rel=0.3)


def test_images_have_no_columns(one_column_tells):
    images = Bags.from_labels(np.zeros((4, 1, 2, 2)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"columns, but instances have shape \(1, 2, 2\)"):
        importance(MeanMap(), images, {})


def test_columns_are_those_of_the_table(rng):
    age, city = rng.integers(18, 90, 200), rng.choice(["Oslo", "Rome", "Bonn"], 200)
    labels = np.where(age > 50, "old", "young")
    table = {"age": age, "city": city, "label": labels, "bag": np.arange(200) // 10}
    bags = Bags.from_tables(table, bag="bag", label="label")
    model = MeanMap().fit_bags(bags)
    for found in (importance(model, bags), partial_dependence(model, bags)):
        assert list(found) == ["age", "city"]
    rises = importance(model, bags)
    assert rises["age"].mean > 5 * abs(rises["city"].mean)
    with pytest.warns(FutureWarning, match="seed=...\\) is now random_state"):
        assert importance(model, bags, ["city"], seed=0) == importance(model, bags, ["city"])
    with pytest.raises(ValueError, match="there is no column 'town'"):
        partial_dependence(model, bags, ["town"])


def test_bags_that_were_checked_when_they_were_made_are_not_checked_again(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    bags = Bags.from_labels(X, X[:, 0] > 0, np.arange(60) // 5)
    model = MeanMap().fit_bags(bags)
    checked = []
    monkeypatch.setattr(base, "check_instances", lambda *given: checked.append(given))
    importance(model, bags)
    assert not checked
    model.predict_encoded(bags.instances)
    assert len(checked) == 1
