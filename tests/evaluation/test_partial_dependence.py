import numpy as np
import pytest

from llpgan import BagLogistic, Bags, MeanMap
from llpgan.evaluation import partial_dependence


class Known:
    """Predicts the second class with a probability that is known of each instance."""

    def predict_encoded(self, instances, *, check_input=True):
        second = 1 / (1 + np.exp(-instances[:, 0]))
        return np.column_stack([1 - second, second])


@pytest.fixture
def people(rng):
    n = 240
    age, city = rng.integers(18, 90, n), rng.choice(["Oslo", "Rome"], n)
    table = {"age": age.tolist(), "city": city.tolist(), "state": [f"s{i % 12}" for i in range(n)]}
    table["age"][0] = None
    shares = {f"s{i}": [0.2 + 0.05 * i, 0.8 - 0.05 * i] for i in range(12)}
    results = {
        "state": list(shares),
        "no": [s[0] for s in shares.values()],
        "yes": [s[1] for s in shares.values()],
    }
    return table, results


def test_it_is_the_mean_prediction_at_each_value(rng):
    X = rng.normal(size=(50, 2))
    bags = Bags.from_labels(X, X[:, 1] > 0, np.arange(50) // 5)
    found = partial_dependence(Known(), bags, {"matters": [0], "does not": [1]})
    np.testing.assert_allclose(found["matters"].predicted[:, 1], 1 / (1 + np.exp(-found["matters"].values)))
    mean = (1 / (1 + np.exp(-X[:, 0]))).mean()
    np.testing.assert_allclose(found["does not"].predicted[:, 1], mean)
    assert found["matters"].describe(1).startswith("rises: ")
    assert found["matters"].describe(0).startswith("falls: ")
    assert found["does not"].describe(1).startswith("does not change: ")
    assert found["matters"].change(1) == pytest.approx(-found["matters"].change(0))


def test_values_are_in_the_users_words_and_units(people):
    table, results = people
    bags = Bags.from_tables(table, results, bag="state")
    model = BagLogistic(random_state=0).fit_bags(bags)
    found = partial_dependence(model, bags, bags.encoder.positions)
    ages = [age for age in table["age"] if age is not None]
    assert found["age"].values.min() >= min(ages)
    assert found["age"].values.max() <= max(ages)
    assert all(float(name) == int(float(name)) for name in found["age"].names)
    assert sorted(found["city"].names) == ["Oslo", "Rome"]
    changed = {**table, "city": ["Oslo"] * len(table["city"])}
    place = found["city"].names.index("Oslo")
    np.testing.assert_allclose(
        found["city"].predicted[place], model.predict_proba(changed).mean(axis=0), atol=1e-6
    )
    assert "Oslo" in found["city"].describe(1)


def test_row_order_does_not_matter_where_all_rows_are_used(rng):
    X = rng.normal(size=(40, 2))
    labels, groups, order = X[:, 0] > 0, np.arange(40) // 4, rng.permutation(40)
    model = MeanMap().fit_bags(Bags.from_labels(X, labels, groups))
    one, other = (
        partial_dependence(model, Bags.from_labels(X[rows], labels[rows], groups[rows]), {"x": [0]})["x"]
        for rows in (np.arange(40), order)
    )
    np.testing.assert_allclose(one.predicted, other.predicted)


def test_images_have_no_columns(bags_of_images):
    with pytest.raises(ValueError, match=r"instances have shape \(3, 16, 16\)"):
        partial_dependence(Known(), bags_of_images, {"x": [0]})
