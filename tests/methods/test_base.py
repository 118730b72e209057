"""What every estimator does with what users hand over: rows in any form, labels, proportions, weights."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score

from llpgan import BagLogistic, Bags, MeanMap, load, save
from llpgan.tables import Columns

README = Path(__file__).parent.parent.parent / "README.md"


@pytest.fixture(scope="module")
def people():
    """Two classes in columns of other means and scales, beside a category."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=200)
    return pd.DataFrame(
        {
            "state": np.repeat([f"s{i}" for i in range(20)], 10),
            "age": rng.normal(50, 5, size=200) + 20 * labels,
            "income": rng.normal(9000, 100, size=200) - 500 * labels,
            "vote": np.where(labels, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model(people):
    return MeanMap().fit_bags(Bags.from_tables(people, bag="state", label="vote"))


ARRAYS = {
    "an array": lambda frame: frame.to_numpy(),
    "one of float32": lambda frame: frame.to_numpy(np.float32),
    "one of objects": lambda frame: frame.to_numpy(object),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_rows_without_names_of_columns_are_not_taken_for_encoded_ones(model, people, array):
    features = people[["age", "income"]]
    assert model.score(features, people["vote"]) > 0.95
    for method in (model.predict, model.predict_proba, lambda rows: model.score(rows, people["vote"])):
        with pytest.raises(
            ValueError, match="columns without names, but the model was trained on a table with col"
        ):
            method(array(features))


def test_encoded_instances_have_a_door_of_their_own(model, people):
    expected = model.predict_proba(people)
    np.testing.assert_array_equal(model.predict_encoded(model.encode(people)), expected)
    bags = Bags.from_tables(people, bag="state", label="vote")
    np.testing.assert_array_equal(model.predict_proba(bags), expected)
    np.testing.assert_array_equal(model.predict_proba(bags.take_bags([3])), expected[bags.rows_of(3)])


def test_bags_that_are_encoded_otherwise_are_refused(model, people):
    others = Bags.from_tables(people.iloc[50:], bag="state", label="vote")
    with pytest.raises(
        ValueError, match="these bags are encoded otherwise than those that this MeanMap was trained"
    ):
        model.predict(others)
    with pytest.raises(ValueError, match="these bags are encoded otherwise"):
        model.predict(Bags.from_labels(people[["age", "income"]], people["vote"], people["state"]))


def test_one_row_of_a_frame_is_no_table(model, people, blobs):
    with pytest.raises(TypeError, match=r"df\.iloc\[\[0\]\]"):
        model.predict(people.iloc[0])
    assert model.predict(people.iloc[[0]]).shape == (1,)
    of_arrays = MeanMap().fit(*blobs[:2], groups=blobs[2])
    with pytest.raises(TypeError, match=r"X must be an array or a frame .* df\.iloc\[\[0\]\]"):
        of_arrays.predict(pd.DataFrame(blobs[0]).iloc[0])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("people.csv", "X must be an array or a frame of numbers, one row per instance, got a str"),
        ({"a": [1.0]}, "got a dict"),
        ((row for row in [[1.0]]), "got a generator"),
        ({1.0}, "got a set"),
        ([[1.0], [1.0, 2.0]], "X cannot be made an array: its rows have different lengths"),
        (pd.DataFrame({"a": ["x"], "b": [1], "c": [1]}), "X: column 'a', row 0: 'x' (str) is not a number"),
    ],
    ids=["path", "dict", "generator", "set", "ragged", "text"],
)
def test_what_a_model_of_arrays_cannot_take_is_named(blobs, rows, said):
    model = MeanMap().fit(*blobs[:2], groups=blobs[2])
    for method in (model.predict, lambda X: MeanMap().fit(X, [0, 1], groups=[0, 1])):
        with pytest.raises((ValueError, TypeError), match=re.escape(said)):
            method(rows)
        if not hasattr(rows, "__len__"):
            break  # it is used up


def test_bags_are_what_fit_bags_takes(people):
    with pytest.raises(TypeError, match=r"what fit_bags takes must be Bags, which .* make, got a DataFrame"):
        MeanMap().fit_bags(people)


def test_labels_without_groups_are_warned_of_once(blobs):
    instances, labels, groups = blobs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_val_score(BagLogistic(n_resamples=1), instances, labels, groups=groups, cv=GroupKFold(5))
    said = [warning for warning in caught if "labels without groups" in str(warning.message)]
    assert len(said) == 1
    assert said[0].filename == __file__
    assert "enable_metadata_routing=True" in str(said[0].message)
    with pytest.warns(UserWarning, match="every row a separate bag"):
        MeanMap().fit(instances, np.eye(2)[labels])


def test_supervised_learning_that_is_asked_for_is_not_warned_of(blobs):
    instances, labels, _ = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = MeanMap().fit(instances, labels, groups=np.arange(len(labels)))
    with pytest.warns(UserWarning, match="labels without groups"):
        fallen_into = MeanMap().fit(instances, labels)
    np.testing.assert_array_equal(asked.predict_proba(instances), fallen_into.predict_proba(instances))


@pytest.mark.parametrize("frame", [np.array, pd.DataFrame])
def test_proportions_without_groups_are_refused(blobs, bags, frame):
    rows = frame(bags.proportions[bags.bag_index])
    with pytest.raises(ValueError, match="proportions need groups, the bag of each row"):
        MeanMap().fit(blobs[0], rows)
    with pytest.raises(ValueError, match="proportions need groups, the bag of each row"):
        MeanMap().fit_bags(bags).score(blobs[0], rows)


def frame_of(bags, names):
    shares = dict(zip(bags.classes.tolist(), bags.proportions[bags.bag_index].T, strict=True))
    return pd.DataFrame({name: shares.get(name, shares[bags.classes[0]]) for name in names})


def test_the_columns_of_a_frame_are_scored_by_their_names(people):
    bags = Bags.from_labels(people[["age", "income"]], people["vote"], people["state"])
    model = MeanMap().fit_bags(bags)
    score = model.score(people[["age", "income"]], bags.proportions[bags.bag_index], groups=people["state"])
    for names in (["no", "yes"], ["yes", "no"]):
        assert model.score(people[["age", "income"]], frame_of(bags, names), groups=people["state"]) == score
    for names, said in (
        (["no", "maybe"], "y: no column for the class 'yes'; there are 'no', 'maybe'"),
        (["No ", "yes"], "y: no column for the class 'no'; there are 'No ', 'yes'. Did you mean 'No '?"),
        (["no", "yes", "maybe"], "proportions need one column for each of the 2 classes 'no', 'yes'"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            model.score(people[["age", "income"]], frame_of(bags, names), groups=people["state"])


def test_integer_classes_stay_integers_from_a_cross_table_to_a_saved_model(people, tmp_path):
    votes = (people["vote"] == "yes").astype(int)
    features = people.drop(columns="vote")
    bags = Bags.from_tables(features, counts=pd.crosstab(people["state"], votes), bag="state")
    model = MeanMap().fit_bags(bags)
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        assert each.classes_.tolist() == [0, 1]
        assert (each.predict(features) == votes).mean() > 0.95
        assert each.score(features, votes) == (each.predict(features) == votes).mean()


@pytest.mark.parametrize("labels", [[0, 1], ["0", "1"], [0.0, 1.0], [False, True]], ids=repr)
@pytest.mark.parametrize("classes", [[0, 1], ["0", "1"]], ids=repr)
def test_labels_and_classes_of_different_types_are_matched_or_named(blobs, bags, labels, classes):
    instances, truth, groups = blobs
    model = MeanMap().fit_bags(Bags.from_arrays(instances, groups, bags.proportions, classes=classes))
    y = np.array(labels)[truth]
    if isinstance(labels[0], bool) and classes == ["0", "1"]:
        with pytest.raises(ValueError, match="y: no label is one of the classes '0', '1'; there are False, True"):
            model.score(instances, y)
    else:
        assert model.score(instances, y) > 0.9


def test_labels_of_no_class_are_refused_together_and_wrong_one_by_one(blobs):
    instances, labels, groups = blobs
    model = MeanMap().fit(instances, labels, groups=groups)
    with pytest.raises(ValueError, match="y: no label is one of the classes 0, 1; there are 'no', 'yes'"):
        model.score(instances, np.array(["no", "yes"])[labels])
    assert model.score(instances[:10], [*labels[:9], 7]) <= 0.9


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0], "sample_weight has shape (1,), but there are 80 rows"),
        (np.full(80, np.nan), "sample_weight must be finite and not negative, but row 0 has nan"),
        (np.zeros(80), "sample_weight must not all be zero"),
        (["heavy"] * 80, "sample_weight must be numbers, got text"),
    ],
    ids=["length", "nan", "zero", "text"],
)
def test_weights_that_are_none_are_named(blobs, bags, weights, said):
    model = MeanMap().fit_bags(bags)
    for y in (blobs[1], bags.proportions[bags.bag_index]):
        with pytest.raises(ValueError, match=re.escape(said)):
            model.score(blobs[0], y, groups=blobs[2], sample_weight=weights)


def test_weights_count_in_the_score(blobs, bags):
    model = MeanMap().fit_bags(bags)
    right = model.predict(blobs[0]) == blobs[1]
    weights = np.arange(80.0)
    assert model.score(*blobs[:2], sample_weight=weights) == pytest.approx(np.average(right, weights=weights))


def test_a_model_of_a_category_with_open_ends_predicts_from_numbers_too(people):
    kids = np.random.default_rng(0).choice(["0", "1", "3+"], size=len(people))
    with pytest.warns(
        UserWarning, match="column 'kids' is read as categories, since some of its values are ranges"
    ):
        bags = Bags.from_tables(people.assign(kids=kids), bag="state", label="vote")
    assert {"kids=0", "kids=3+"} <= set(bags.features)
    model = MeanMap().fit_bags(bags)
    np.testing.assert_array_equal(
        model.predict_proba(people.assign(kids=0)), model.predict_proba(people.assign(kids="0"))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bags.from_tables(people.assign(kids=kids), bag="state", label="vote", columns=Columns(categories="kids"))


RANGES = {
    "bytes": lambda images: images,
    "floats up to 255": lambda images: images.astype(np.float32),
    "floats up to 1": lambda images: images / 255,
}


@pytest.mark.parametrize(
    ("trained", "given"),
    [("bytes", "floats up to 1"), ("floats up to 255", "floats up to 1"), ("floats up to 1", "bytes")],
)
def test_images_in_another_range_than_those_of_the_training_are_warned_of(coloured, trained, given, tmp_path):
    images, labels, groups = coloured
    model = BagLogistic(random_state=0).fit(RANGES[trained](images), labels, groups=groups)
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        with pytest.warns(UserWarning, match=r"the values of these images go up to .*, and those that this"):
            each.predict(RANGES[given](images))


def test_images_in_the_range_of_the_training_are_not_warned_of(coloured):
    images, labels, groups = coloured
    model = BagLogistic(random_state=0).fit(images, labels, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (images, images.astype(float), images // 100, 0.0 * images):
            model.predict(same)


def test_images_of_another_shape_are_refused_by_their_shape(coloured):
    images, labels, groups = coloured
    model = BagLogistic(random_state=0).fit(images, labels, groups=groups)
    with pytest.raises(ValueError, match=r"instances of shape \(16, 16, 3\), but this BagLogistic was trained"):
        model.predict(images.transpose(0, 2, 3, 1))
