import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from llpgan import MeanMap
from llpgan.evaluation import bag_scorer


def test_labels_or_proportions_of_each_row_make_no_difference(blobs, bags):
    instances, labels, groups = blobs
    shares = bags.proportions[bags.bag_index]
    model = MeanMap().fit(instances, labels, groups=groups)
    predicted = model.predict_proba(instances)
    errors = [np.abs(predicted[groups == b].mean(0) - bags.proportions[b]).sum() / 2 for b in range(10)]
    for y in (labels, shares):
        assert bag_scorer()(model, instances, y, groups=groups) == pytest.approx(-np.mean(errors))


@pytest.mark.parametrize("kind", ["labels", "proportions"])
def test_cross_validation_and_grid_search_route_the_bags(blobs, bags, kind):
    instances, labels, groups = blobs
    y = labels if kind == "labels" else bags.proportions[bags.bag_index]
    with sklearn.config_context(enable_metadata_routing=True):
        options = dict(cv=GroupKFold(5), scoring=bag_scorer("cross_entropy"))
        scores = cross_val_score(
            MeanMap(), instances, y, params={"groups": groups}, error_score="raise", **options
        )
        search = GridSearchCV(MeanMap(), {"C": [1e-9, 1.0]}, error_score="raise", **options)
        search.fit(instances, y, groups=groups)
    assert (scores < 0).all()
    assert search.best_params_ == {"C": 1.0}


def test_sizes_count_where_they_are_asked_to(blobs):
    instances, labels, _ = blobs
    groups = np.minimum(np.arange(80) // 2, 3)
    model = MeanMap().fit(instances, labels, groups=np.arange(80) // 8)
    predicted = model.predict_proba(instances)[:, 1]
    errors = [abs(predicted[groups == b].mean() - labels[groups == b].mean()) for b in range(4)]
    found = bag_scorer(by_size=True)(model, instances, labels, groups=groups)
    assert found == pytest.approx(-np.average(errors, weights=np.bincount(groups)))


@pytest.mark.parametrize("scoring", [bag_scorer(), {"bags": bag_scorer()}], ids=["one", "several"])
def test_without_routing_the_first_score_is_an_error_that_says_how_to_route(blobs, scoring):
    """Scikit-learn turns exceptions of scorers into nan, and chooses a best setting all the same."""
    instances, labels, groups = blobs
    search = GridSearchCV(MeanMap(), {"C": [0.1, 1.0]}, cv=GroupKFold(5), scoring=scoring, refit=False)
    with pytest.raises(ValueError, match=r"needs the bag of each row: call sklearn\.set_config\(enable_metadata"):
        search.fit(instances, labels, groups=groups)
    if not isinstance(scoring, dict):
        with pytest.raises(ValueError, match=r"a bag scorer needs the bag of each row"):
            cross_val_score(MeanMap(), instances, labels, groups=groups, cv=GroupKFold(5), scoring=scoring)


def test_columns_of_a_frame_are_taken_by_their_names(blobs, bags):
    instances, labels, groups = blobs
    model = MeanMap().fit(instances, labels, groups=groups)
    shares = pd.DataFrame(bags.proportions[bags.bag_index])
    expected = bag_scorer()(model, instances, shares.to_numpy(), groups=groups)
    assert bag_scorer()(model, instances, shares[[1, 0]], groups=groups) == expected
    with pytest.raises(ValueError, match="no column for the class 1; there are 0, 'other'"):
        bag_scorer()(model, instances, shares.rename(columns={1: "other"}), groups=groups)


def test_what_is_missing_or_wrong_is_said(blobs):
    instances, labels, groups = blobs
    model = MeanMap().fit(instances, labels, groups=groups)
    with pytest.raises(ValueError, match="a bag scorer needs the bag of each row"):
        bag_scorer()(model, instances, labels)
    with pytest.raises(ValueError, match="score must be one of 'total_variation'"):
        bag_scorer("accuracy")
