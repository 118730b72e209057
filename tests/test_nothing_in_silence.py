"""Data that would lead to a wrong result are noticed: they count for nothing, or an error or note says so."""

import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from llpgan import (
    AutoLLP,
    BagBoosting,
    BagLogistic,
    Bags,
    Columns,
    InvCal,
    LaplacianMeanMap,
    MeanMap,
)
from llpgan.bags.fit_warnings import describe_little_learned
from llpgan.bags.known_shares import KnownShares
from llpgan.cli import main
from llpgan.ecological import GroupCounts
from llpgan.evaluation import label_scores
from llpgan.persistence import load, save
from llpgan.tables import MarginalTables, TableEncoder, open_rows
from llpgan.tables.store import store_bags, store_tables


@pytest.fixture
def people(rng):
    """Three numbers of each of 240 people in 12 bags, and their labels."""
    labels = rng.integers(2, size=240)
    return rng.normal(size=(240, 3)) + labels[:, None], labels, np.arange(240) % 12


# ---- runs know their data ------------------------------------------------------------------------------------


def test_the_digest_changes_with_every_row(rng, tmp_path):
    instances, groups = rng.normal(size=(5000, 2)), np.arange(5000) % 7
    bags = Bags.from_labels(instances, groups % 2, groups)
    changed = instances.copy()
    changed[np.arange(5000) % 5 > 0, 1] = 0
    for part in (changed, np.where(np.arange(5000)[:, None] == 4321, 0, instances)):
        assert Bags.from_labels(part, groups % 2, groups).digest != bags.digest
    stored = [
        store_bags(Bags.from_labels(x, groups % 2, groups), tmp_path / f"{i}")
        for i, x in enumerate((instances, changed))
    ]
    assert stored[0].digest != stored[1].digest


# ---- rows of weight zero -------------------------------------------------------------------------------------

WEIGHED = [
    BagLogistic(n_resamples=3, random_state=0),
    MeanMap(),
    LaplacianMeanMap(),
    InvCal(),
    BagBoosting(max_rounds=5, random_state=0),
    AutoLLP(random_state=0),
]


@pytest.mark.parametrize("method", WEIGHED, ids=lambda m: type(m).__name__)
def test_rows_of_weight_zero_do_not_exist_for_any_method(method, people):
    instances, labels, groups = people
    weights = np.where(np.arange(240) % 17 == 3, 0.0, 1.0 + np.arange(240) % 3)
    far = np.where(weights[:, None] == 0, 1e6, instances)
    kept = weights > 0
    with_zeros = Bags.from_labels(far, labels, groups, weights=weights)
    without = Bags.from_labels(instances[kept], labels[kept], groups[kept], weights=weights[kept])
    one, other = (clone(method).fit_bags(bags).predict_proba(instances) for bags in (with_zeros, without))
    np.testing.assert_array_equal(one, other)


def test_rows_of_weight_zero_decide_nothing_of_how_a_table_is_encoded(tmp_path):
    rows = {
        "age": [20.0, 30, 40, 50, 1e6, 1e6],
        "job": ["nurse", "clerk", "nurse", "clerk", "pilot", None],
        "state": ["a", "a", "b", "b", "a", "b"],
        "times": [1, 2, 1, 1, 0, 0],
    }
    shares = {"state": ["a", "b"], "no": [0.2, 0.6], "yes": [0.8, 0.4]}
    options = {"bag": "state", "weight": "times", "columns": Columns(min_count=1)}
    with_zeros = Bags.from_tables(rows, shares, **options)
    without = Bags.from_tables({name: values[:4] for name, values in rows.items()}, shares, **options)
    assert with_zeros.encoder == without.encoder
    stored = store_tables(rows, tmp_path / "store", shares, **options)
    np.testing.assert_array_equal(stored.drop_weightless().instances[:], without.instances)


def test_scores_by_labels_take_weights(rng):
    truth, sure = rng.integers(2, size=60), rng.random((60, 1)).round(1)
    probabilities, times = np.hstack([1 - sure, sure]), rng.integers(0, 4, size=60)
    weighted = label_scores(truth, probabilities, [0, 1], sample_weight=times)
    repeated = label_scores(np.repeat(truth, times), np.repeat(probabilities, times, axis=0), [0, 1])
    for name in ("accuracy", "log_loss", "auc", "calibration_error"):
        assert getattr(weighted, name).value == pytest.approx(getattr(repeated, name).value, abs=1e-12), name
    np.testing.assert_allclose(weighted.confusion, repeated.confusion)


def test_evaluate_judges_by_the_weights_of_the_training(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    age, town = rng.normal(size=200), np.arange(200) % 10
    votes = np.where(age + (town - 4.5) / 3 > 0, "yes", "no")
    frame = pd.DataFrame(
        {"age": age + (town - 4.5) / 3, "town": town, "w": np.where(votes == "yes", 5, 1), "vote": votes}
    )
    frame.loc[:20, "vote"] = "yes"
    frame.to_csv("people.csv", index=False)
    fit = ["fit", "people.csv", "--bag", "town", "--label", "vote", "--weight", "w", "--method", "MeanMap"]
    assert main.main([*fit, "--report", "false"]) == 0
    figures = []
    for more in ([], ["--weight", "w"]):
        assert (
            main.main(
                ["evaluate", "model", "people.csv", "--label", "vote", "--out", "e.json", "--overwrite", *more]
            )
            == 0
        )
        figures.append(json.loads((tmp_path / "e.json").read_text())["accuracy"]["value"])
    assert figures[0] == figures[1]
    assert "rows count as column 'w' says, as in training" in capsys.readouterr().err
    frame.drop(columns="w").to_csv("unweighted.csv", index=False)
    main.main(["evaluate", "model", "unweighted.csv", "--label", "vote", "--out", "e.json", "--overwrite"])
    assert json.loads((tmp_path / "e.json").read_text())["accuracy"]["value"] != figures[0]
    assert (
        "the model learned with weights from column 'w', which unweighted.csv does not have"
        in capsys.readouterr().err
    )


# ---- sums of proportions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [0.6, 1.9])
def test_a_full_row_sums_to_one_also_among_partial_ones(total):
    given = {"a": [total / 2, total / 2], "b": [0.4, np.nan]}
    with pytest.raises(ValueError, match=f"bag 'a': proportions sum to {total}"):
        Bags.from_arrays([[1.0], [2.0]], ["a", "b"], given, partial=True)


@pytest.mark.parametrize("sd", [0, 0.001])
def test_noise_must_explain_how_far_a_sum_is_from_one(sd):
    with pytest.raises(ValueError, match=r"bag 'a': proportions sum to 0\.5, further from 1 than noise"):
        Bags.from_arrays([[1.0], [2.0]], ["a", "b"], {"a": [0.2, 0.3], "b": [0.4, 0.6]}, proportions_sd=sd)
    Bags.from_arrays([[1.0], [2.0]], ["a", "b"], {"a": [0.45, 0.52], "b": [0.4, 0.6]}, proportions_sd=0.02)


def test_noise_is_weighed_against_the_rows_that_are_there(people):
    instances, _, groups = people
    shares = np.tile([0.4, 0.6], (12, 1))
    bags = Bags.from_arrays(instances, groups, shares, proportions_sd=0.1)
    some = np.arange(240) < 120
    weighted = Bags.from_arrays(instances, groups, shares, proportions_sd=0.1, weights=np.where(some, 1.0, 0.0))
    assert isinstance(bags.share_constraints, KnownShares)
    np.testing.assert_array_equal(bags.take_rows(some).share_constraints.sizes, weighted.share_constraints.sizes)
    np.testing.assert_array_equal(bags.take_rows(some).share_constraints.sizes, np.full(12, 10))


# ---- arrays, folders, tables that contradict each other --------------------------------------------------------


def test_masked_values_are_refused_everywhere(people):
    instances, labels, groups = people
    masked = np.ma.masked_array(instances, mask=instances > 2)
    hidden = np.ma.masked_array(labels, mask=labels == 1)
    with pytest.raises(ValueError, match=r"X: the value at .* is masked"):
        MeanMap().fit(masked, labels, groups)
    with pytest.raises(ValueError, match=r"y: the value at .* is masked"):
        MeanMap().fit(instances, hidden, groups)
    model = MeanMap().fit(instances, labels, groups)
    for call in (model.predict_proba, model.predict, model.predict_encoded):
        with pytest.raises(ValueError, match=r"X: the value at .* is masked"):
            call(masked)
    with pytest.raises(ValueError, match=r"y: the value at .* is masked"):
        model.score(instances, hidden)
    rows = np.ma.masked_array([0, 1], mask=[False, True])
    with pytest.raises(ValueError, match=r"rows: the value at .* is masked"):
        Bags.from_memberships(instances, rows, ["a", "a"], {"a": [0.5, 0.5]})


def test_an_image_that_cannot_be_read_is_not_left_out(tmp_path):
    from PIL import Image

    for bag in ("a", "b"):
        (tmp_path / bag).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / bag / "0.png")
    (tmp_path / "b" / "1.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(ValueError, match=r"1\.png is a link to .*gone\.png, which does not exist"):
        open_rows(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_not_left_out(tmp_path):
    from PIL import Image

    (tmp_path / "a").mkdir()
    Image.new("L", (4, 4)).save(tmp_path / "a" / "0.png")
    (tmp_path / "b").mkdir(mode=0)
    with pytest.raises(ValueError, match="b cannot be read"):
        open_rows(tmp_path)


def test_tables_of_pairs_that_contradict_each_other_are_refused(rng):
    rows = {name: rng.integers(3, size=300).astype(str) for name in "abc"}
    labels = rng.integers(2, size=300)
    exact = MarginalTables.from_rows(rows, labels)
    MarginalTables(exact.values, exact.counts, exact.classes)
    for change in (10, -1):
        counts = dict(exact.counts)
        counts["a", "b"] = counts["a", "b"] * change if change > 0 else counts["a", "b"] + np.eye(3)[:, :, None]
        with pytest.raises(ValueError, match=r"the tables contradict each other.*give sd, if counts are noisy"):
            MarginalTables(exact.values, counts, exact.classes)
    for options in ({"sd": 3.0}, {"threshold": 30}, {"sd": 2.0, "threshold": 30}):
        MarginalTables.from_rows(rows, labels, random_state=0, **options)


@pytest.mark.parametrize("scale", [1, 100])
def test_shares_are_not_taken_for_counts_of_people(scale, rng):
    groups, outcomes = (scale * rng.dirichlet([2, 2], size=30) for _ in range(2))
    with pytest.raises(ValueError, match=r"these are (fractions|percentages), not counts: multiply them"):
        GroupCounts(groups, outcomes)
    assert GroupCounts(500 / scale * groups, 500 / scale * outcomes).n_units == 30


# ---- what columns are taken for --------------------------------------------------------------------------------


def test_what_a_column_is_read_as_is_said_where_it_is_not_obvious():
    days = [f"{1 + i % 28:02}.12.20{10 + i % 9}" for i in range(30)]
    rows = {
        "seen": days,
        "income": [f"{4 + i},015.91" for i in range(30)],
        "share": [f"{i} %" for i in range(30)],
        "paid": [day.replace(".", "/") for day in days],
    }
    encoder = TableEncoder.learn(open_rows(rows).table)
    notes = "\n".join(encoder.notes)
    assert "column 'seen' is read as dates with the day first, such as 01.12.2010" in notes
    assert "column 'income' is read as numbers, 4,015.91 as 4015.91" in notes
    assert "column 'share' is read as numbers, 0 % as 0" in notes
    assert "column 'paid' is left out: its values look like dates, of which the order" in notes
    iso = [f"20{day[8:]}-12-{day[:2]}" for day in days]
    plain = {"seen": iso, "income": [4015.91 + 1000 * i for i in range(30)], "share": np.arange(30) / 100}
    np.testing.assert_allclose(
        encoder.encode(open_rows(rows)),
        TableEncoder.learn(open_rows(plain | {"seen": pd.to_datetime(iso)}).table).encode(open_rows(plain)),
        atol=1e-5,
    )


# ---- bags of few rows and copies -------------------------------------------------------------------------------


def test_small_bags_of_noisy_labels_are_no_false_alarm(rng):
    X = rng.normal(size=(3000, 1))
    chance = 1 / (1 + np.exp(-0.5 * X[:, 0]))
    labels = (rng.random(3000) < chance).astype(int)
    bags = Bags.from_labels(X, labels, np.arange(3000))
    best = np.column_stack([1 - chance, chance])
    assert describe_little_learned("DLLP", bags, best, bags.prior) is None
    nothing = np.clip(bags.prior + 0.01 * rng.normal(size=(3000, 1)) * [-1, 1], 0, 1)
    assert "next to nothing" in describe_little_learned("DLLP", bags, nothing, bags.prior)


def test_copies_of_a_row_are_held_out_together(people):
    instances, labels, groups = people
    once = BagBoosting(bag_shift="label", random_state=0).fit(instances, labels, groups)
    twice = BagBoosting(bag_shift="label", random_state=0).fit(*(np.repeat(part, 2, axis=0) for part in people))
    assert twice.n_rounds_ <= 2 * once.n_rounds_ + 10


MISUSES = {
    "rows in a table": (lambda bags, model: bags.take_rows([[1, 2]]), "rows are chosen by a list of positions"),
    "a slice": (lambda bags, model: bags.take_rows(slice(0, 5)), "rows are chosen by a list of positions"),
    "no features": (lambda bags, model: replace(bags, instances=bags.instances[:, :0]), "have no features"),
    "numbers as labels": (
        lambda bags, model: Bags.from_labels(bags.instances, bags.instances[:, 0], bags.bag_index),
        "labels are 240 different fractional numbers",
    ),
    "no labels": (lambda bags, model: model.score(bags.instances, None), "y must hold the labels"),
    "no model": (lambda bags, model: save(None, "model"), "model must be a fitted estimator of llpgan, got None"),
    "no path": (lambda bags, model: save(model, None), "path must be the path of a folder, got None"),
    "an empty path": (lambda bags, model: save(model, ""), "path is an empty text"),
    "the root": (lambda bags, model: save(model, "/"), "is the root of all folders"),
    "a number as path": (lambda bags, model: load(3), "path must be the path of a folder, got 3"),
}


@pytest.mark.parametrize(("misuse", "message"), MISUSES.values(), ids=MISUSES)
def test_misuse_in_python_is_named(misuse, message, rng):
    instances, labels = rng.normal(size=(240, 3)), rng.integers(2, size=240)
    bags = Bags.from_labels(instances, labels, np.arange(240) % 12)
    with pytest.raises((TypeError, ValueError), match=message):
        misuse(bags, MeanMap().fit_bags(bags))
