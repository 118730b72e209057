"""A weight of three is the same as the row three times, for every method that takes weights; others refuse."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from sklearn.base import clone

from llpgan import DLLP, LLPVAT, AlterSVM, BagLogistic, Bags, InvCal, LaplacianMeanMap, MeanMap
from llpgan.bags.known_shares import KnownShares
from llpgan.cli import main
from llpgan.deep.batches import BagDataset
from llpgan.deep.losses import proportion_loss
from llpgan.deep.networks import mlp_classifier
from llpgan.ecological import shares_by
from llpgan.evaluation import (
    WithinBagKFold,
    bag_scores,
    compare,
    conformalize,
    estimate_accuracy,
    fit_calibrator,
    importance,
    inspect_bags,
    judge_without_labels,
    label_scores,
    learning_curve,
    partial_dependence,
    randomness_test,
    set_scores,
    suggest_labels,
    worst_case,
)
from llpgan.evaluation.monitor import take_snapshot
from llpgan.methods import METHODS, estimator_class
from llpgan.methods.trees import Boosted, TreeGrower
from llpgan.report import ConfusionDisplay, EffectDisplay, ProportionDisplay, ReliabilityDisplay, collect_content
from llpgan.tables.store import store_tables


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=240)
    instances = rng.normal(size=(240, 3)) + 2 * labels[:, None]
    return instances, labels, np.arange(240) % 12, rng.integers(1, 5, size=240)


@pytest.fixture
def weighted_and_repeated(rows):
    instances, labels, groups, times = rows
    weighted = Bags.from_labels(instances, labels, groups, weights=times)
    repeated = Bags.from_labels(*(np.repeat(part, times, axis=0) for part in (instances, labels, groups)))
    return weighted, repeated


def test_weighted_bags_are_repeated_bags(weighted_and_repeated):
    weighted, repeated = weighted_and_repeated
    np.testing.assert_allclose(weighted.proportions, repeated.proportions, rtol=1e-12)
    np.testing.assert_allclose(weighted.prior, repeated.prior, rtol=1e-12)
    np.testing.assert_allclose(weighted.means(weighted.instances), repeated.means(repeated.instances), rtol=1e-12)
    np.testing.assert_array_equal(weighted.totals, repeated.sizes)


CONVEX = [
    BagLogistic(n_resamples=0, tol=1e-12),
    BagLogistic(n_resamples=3, tol=1e-12, random_state=0),
    MeanMap(tol=1e-12),
    LaplacianMeanMap(tol=1e-12),
    InvCal(),
]


@pytest.mark.parametrize("method", CONVEX, ids=repr)
def test_a_weight_is_a_repeated_row(method, weighted_and_repeated):
    weighted, repeated = weighted_and_repeated
    X = weighted.instances
    once, again = (clone(method).fit_bags(bags) for bags in (weighted, repeated))
    close = 1e-5 if isinstance(method, InvCal) else 1e-9  # whose corners are rounded, and solved to 1e-6
    np.testing.assert_allclose(once.predict_proba(X), again.predict_proba(X), atol=close)


def test_the_loss_of_weighted_instances_is_that_of_repeated_ones(weighted_and_repeated):
    logits = torch.randn(240, 2, dtype=torch.float64)
    losses = []
    for bags, times in zip(weighted_and_repeated, (np.ones(240, int), None), strict=True):
        times = np.asarray(weighted_and_repeated[0].weights, int) if times is None else times
        batch = BagDataset(bags).batch(np.arange(bags.n_bags))
        said = logits.repeat_interleave(torch.from_numpy(times), 0)[bags.row_order.copy()]
        weights = getattr(batch.loss, "keywords", {}).get("log_weights")
        weights = None if weights is None else weights.double()
        losses.append(proportion_loss(said, batch.bag_index, batch.proportions.double(), weights))
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-6, atol=0)


@pytest.mark.slow
def test_a_network_in_full_batch_learns_the_same(weighted_and_repeated):
    weighted, repeated = weighted_and_repeated
    network = partial(mlp_classifier, dropout=0.0, input_dropout=0.0)
    settings = dict(classifier=network, epochs=5, bags_per_step=12, random_state=0, calibrate=False)
    once, again = (DLLP(**settings).fit_bags(bags) for bags in (weighted, repeated))
    np.testing.assert_allclose(
        once.predict_proba(weighted.instances), again.predict_proba(weighted.instances), atol=2e-4
    )


QUICK = {"epochs": 1, "n_resamples": 1, "n_models": 2, "calibrate": False}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_weights_or_says_that_it_cannot(name, weighted_and_repeated, quick_parts):
    method = estimator_class(name)()
    method.set_params(**{setting: value for setting, value in QUICK.items() if setting in method.get_params()})
    if method.takes_weights:
        assert np.isfinite(method.fit_bags(weighted_and_repeated[0]).predict_proba(np.zeros((1, 3)))).all()
        return
    with pytest.raises(ValueError, match=f"{name} cannot weigh rows"):
        method.fit_bags(weighted_and_repeated[0])


@pytest.mark.parametrize(
    ("takes", "given"),
    [
        ("takes_weights", dict(weights=1.0 + np.arange(240) % 2)),
        ("takes_bag_weights", dict(bag_weights=1.0 + np.arange(12) % 2)),
        (
            "takes_partial",
            dict(share_constraints=KnownShares(np.zeros((12, 2)), np.ones((12, 2)), None, np.full(12, 20.0))),
        ),
    ],
)
def test_a_method_that_cannot_names_all_that_can(rows, takes, given):
    bags = replace(Bags.from_labels(*rows[:3]), **given)
    with pytest.raises(ValueError, match=r"can|learn from") as error:
        AlterSVM().fit_bags(bags)
    can = {name for name in METHODS if getattr(estimator_class(name), takes)}
    assert set(re.findall(r"\w+", str(error.value).split(";")[1])) & set(METHODS) == can


def test_sample_weight_is_how_much_a_row_counts_in_its_bag(rows):
    instances, labels, groups, times = rows
    model = MeanMap().fit(instances, labels, groups, sample_weight=times)
    again = MeanMap().fit_bags(Bags.from_labels(instances, labels, groups, weights=times))
    np.testing.assert_array_equal(model.predict_proba(instances), again.predict_proba(instances))


@pytest.mark.parametrize(
    "method", [MeanMap(), BagLogistic(n_resamples=0, tol=1e-9), InvCal(), InvCal(kernel="rbf", C=1.0)], ids=repr
)
@pytest.mark.filterwarnings("ignore:labels without groups")
def test_without_groups_a_weight_is_a_number_of_rows(method, rows):
    instances, labels, _, times = rows
    times = np.where(np.arange(len(times)) % 7 == 0, 0, times)
    weighted = clone(method).fit(instances, labels, sample_weight=times)
    repeated = clone(method).fit(np.repeat(instances, times, axis=0), np.repeat(labels, times))
    models = (weighted, repeated)
    np.testing.assert_allclose(*(model.predict_proba(instances) for model in models), atol=1e-4)
    plain = clone(method).fit(instances, labels)
    assert np.abs(plain.predict_proba(instances) - weighted.predict_proba(instances)).max() > 1e-3


def test_scores_of_bags_weigh_rows(weighted_and_repeated):
    weighted, _ = weighted_and_repeated
    model = MeanMap().fit_bags(weighted)
    scores = [bag_scores(bags, model.predict_encoded(bags.instances)).kl for bags in weighted_and_repeated]
    np.testing.assert_allclose(*scores, rtol=1e-9)


def test_a_part_of_the_bags_keeps_the_weights(weighted_and_repeated):
    weighted, _ = weighted_and_repeated
    part = weighted.take_bags([3, 5])
    np.testing.assert_array_equal(part.weights, weighted.weights[np.isin(weighted.bag_index, [3, 5])])


WRONG = {
    "negative": ([1.0, -2.0, 1.0], "weights must be finite and not negative, but row 1 has -2"),
    "NaN": ([1.0, np.nan, 1.0], "weights must be finite and not negative, but row 1 has nan"),
    "zero": ([0.0, 0.0, 0.0], "weights must not all be zero"),
    "a bag of zero": ([0.0, 0.0, 1.0], "bag 'a': its weights sum to 0"),
    "too few": ([1.0, 1.0], "weights has shape"),
}


@pytest.mark.parametrize(("weights", "said"), WRONG.values(), ids=WRONG)
def test_weights_that_are_none_are_named(weights, said):
    shares = {"a": [0.5, 0.5], "b": [0.2, 0.8]}
    with pytest.raises(ValueError, match=said):
        Bags.from_arrays([[1.0], [2.0], [3.0]], ["a", "a", "b"], shares, weights=weights)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_weights_that_are_all_the_same_weigh_nothing(rows, scale):
    plain = Bags.from_labels(*rows[:3])
    weighted = replace(plain, weights=np.full(240, scale), bag_weights=np.full(12, scale))
    settings = dict(epochs=2, random_state=0, calibrate=False, validation_fraction=0.2)
    for method in (DLLP(**settings), DLLP(proportion_loss="counts", **settings), LLPVAT(**settings)):
        models = [clone(method).fit_bags(bags) for bags in (plain, weighted)]
        np.testing.assert_array_equal(*(model.predict_proba(plain.instances) for model in models))
    np.testing.assert_array_equal(weighted.totals, scale * plain.totals)  # how many rows they stand for


def test_weights_of_one_are_no_weights(rows):
    bags = Bags.from_labels(*rows[:3], weights=np.ones(240))
    assert replace(bags, bag_weights=np.ones(12)).bag_weights is bags.weights is None
    assert bags.digest == Bags.from_labels(*rows[:3]).digest
    assert bags.add_labels([0], [1]).bag_weights is None


def test_some_of_the_bags_keep_their_weight(rows):
    weights = np.where(rows[2] < 6, 3.0, 1.0)
    some = Bags.from_labels(*rows[:3], weights=weights).take_bags([0, 1])
    np.testing.assert_array_equal(some.totals, [60, 60])


@pytest.fixture
def people(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    instances, labels, groups, times = rows
    frame = pd.DataFrame(instances, columns=["x", "y", "z"]).assign(
        state=groups, vote=np.array(["no", "yes"])[labels], people=times
    )
    frame.to_csv("people.csv", index=False)
    frame.loc[frame.index.repeat(times)].drop(columns="people").to_csv("repeated.csv", index=False)
    return frame


def test_a_column_of_weights_is_no_feature(people):
    bags = Bags.from_tables("people.csv", bag="state", label="vote", weight="people")
    assert bags.features == ("x", "y", "z")
    again = Bags.from_tables("repeated.csv", bag="state", label="vote")
    np.testing.assert_allclose(bags.proportions, again.proportions, rtol=1e-12)
    np.testing.assert_array_equal(bags.totals, again.sizes)


def test_weights_on_the_command_line(people, capsys):
    command = [
        "fit",
        "people.csv",
        "--bag",
        "state",
        "--label",
        "vote",
        "--method",
        "MeanMap",
        "--report",
        "false",
    ]
    assert main.main([*command, "--weight", "people"]) == 0
    assert main.main([*command, "--weight", "peeple", "--out", "other"]) == 1
    assert "people.csv has no column 'peeple'" in capsys.readouterr().err


def test_a_bad_weight_is_named_by_its_row(people):
    people.loc[7, "people"] = -1
    with pytest.raises(ValueError, match=r"column 'people', row 7: weight -1 is missing or negative"):
        Bags.from_tables(people, bag="state", label="vote", weight="people")


def test_accuracy_without_labels_is_not_estimated_for_weighted_rows(weighted_and_repeated):
    weighted, _ = weighted_and_repeated
    probabilities = MeanMap().fit_bags(weighted).predict_encoded(weighted.instances)
    with pytest.raises(ValueError, match="cannot be estimated for rows with weights"):
        estimate_accuracy(weighted, probabilities)
    verdict = judge_without_labels(weighted, probabilities)
    assert verdict.scores is None
    assert verdict.why.startswith("Accuracy cannot be estimated because the rows have weights")


def test_two_copies_of_a_partition_are_one(rows):
    instances, labels, groups, _ = rows
    once = Bags.from_labels(instances, labels, groups)
    shares = {("copy", i, g): p for i in range(2) for g, p in enumerate(once.proportions)}
    bag_of_entry = [("copy", i, g) for i in range(2) for g in groups]
    twice = Bags.from_memberships(instances, np.tile(np.arange(240), 2), bag_of_entry, shares)
    models = [BagLogistic(n_resamples=0, tol=1e-12).fit_bags(bags) for bags in (once, twice)]
    np.testing.assert_allclose(*(model.predict_proba(instances) for model in models), atol=1e-9)


def test_labelled_rows_in_addition_to_bags_help(rows):
    instances, labels, groups, _ = rows
    bags = Bags.from_labels(instances, labels, groups).take_bags([0, 1, 2])
    few = np.flatnonzero(np.isin(groups, [0, 1, 2]))[:20]
    both = bags.add_labels(np.arange(20), labels[few])
    assert both.n_bags == 23
    alone, with_labels = (BagLogistic(random_state=0).fit_bags(b).score(instances, labels) for b in (bags, both))
    assert with_labels > alone
    model = DLLP(epochs=20, random_state=0).fit_bags(both)
    assert model.score(instances, labels) > 0.8


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(rows=[0], labels=["maybe"]), "labels: 'maybe' is not one of the classes"),
        (dict(rows=[0, 1], labels=[1]), "labels"),
        (dict(rows=[999], labels=[1]), "positions from 0 to 239, got .999"),
        (dict(rows=[0], labels=[1], weight=0), "weight must be a number above 0"),
    ],
)
def test_labels_that_cannot_be_are_named(rows, given, said):
    with pytest.raises((ValueError, IndexError), match=said):
        Bags.from_labels(*rows[:3]).add_labels(given.pop("rows"), given.pop("labels"), **given)


def test_a_method_that_cannot_weigh_bags_says_so(rows):
    bags = Bags.from_labels(*rows[:3]).add_labels([0], [1], weight=2.0)
    with pytest.raises(ValueError, match="MeanMap cannot weigh bags"):
        MeanMap().fit_bags(bags)


def _take_look(bags, model, _):
    return replace(take_snapshot(model, bags), time="", n_rows=0, why="")


def _show_report(bags, model, labels):
    content = collect_content(model, bags, title="", labels=labels)
    shown = (content.sizes, content.scores, content.overall, content.noise_floor, content.effects, content.labels)
    return shown, content.probability_counts


def _show_charts(bags, model, labels):
    found, axes = model.predict_encoded(bags.instances), partial(Figure().add_subplot)
    given = dict(classes=model.classes_, sample_weight=bags.weights)
    return (
        ConfusionDisplay.from_predictions(labels, found, ax=axes(), **given).confusion,
        [group[:2] for group in ReliabilityDisplay.from_predictions(labels, found, ax=axes(), **given).bins],
        ProportionDisplay.from_estimator(model, bags, ax=axes()).sizes,
        EffectDisplay.from_estimator(model, bags, "column 0", ax=axes()).effect,
    )


def _suggest(bags, model, strategy):
    found = suggest_labels(model, bags, 5, strategy=strategy)
    return bags.instances[found.rows], found.variances


def _compare(bags, model, _):
    found = compare(bags, [MeanMap(), BagLogistic(n_resamples=0)], cv=WithinBagKFold(2))
    return [(result.name, result.score) for result in found.results]


def _share(bags, model, _):
    return shares_by(model, bags, bags.instances[:, 1] > 0).shares


def _score(function, **options):
    return lambda bags, model, _: function(bags, model.predict_encoded(bags.instances), **options)


SCORES = {
    "label_scores": lambda bags, model, labels: label_scores(
        labels, model.predict_encoded(bags.instances), bags.classes, bags.weights
    ),
    "bag_scores": _score(bag_scores),
    "worst_case": _score(worst_case),
    "judge_without_labels": _score(judge_without_labels),
    "fit_calibrator": _score(fit_calibrator),
    "conformalize": _score(conformalize, worst_case=True),
    "set_scores": lambda bags, model, _: set_scores(
        bags, found := model.predict_encoded(bags.instances), found > 0.2
    ),
    "randomness_test": lambda bags, *_: randomness_test(bags),
    "monitor": _take_look,
    "suggest by variance": lambda bags, model, _: _suggest(bags, model, "variance"),
    "suggest by uncertainty": lambda bags, model, _: _suggest(bags, model, "uncertainty"),
    "suggest any": lambda bags, model, _: _suggest(bags, model, "random"),
    "inspect_bags": lambda bags, *_: inspect_bags(bags),
    "learning_curve": lambda bags, *_: learning_curve(bags),
    "importance": lambda bags, model, _: importance(model, bags),
    "partial_dependence": lambda bags, model, _: partial_dependence(model, bags),
    "compare": _compare,
    "shares_by": _share,
    "report": _show_report,
    "charts": _show_charts,
}
#: Random draws, tests of chance and intervals depend on how many rows there are, not on what these stand for.
SAME_FOR_REPEATED = (
    "bag_scores", "worst_case", "set_scores", "monitor", "learning_curve", "fit_calibrator", "partial_dependence",
    "shares_by", "charts",
)  # fmt: skip


def collect_figures(found):
    """All figures and words of a result, one after the other."""
    if isinstance(found, np.ndarray):
        return list(found.ravel())
    if isinstance(found, dict):
        return [each for name in sorted(found) for each in collect_figures(found[name])]
    if isinstance(found, list | tuple):
        return [each for part in found for each in collect_figures(part)]
    return collect_figures(vars(found)) if hasattr(found, "__dict__") else [found]


def assert_same(found, wanted):
    pairs = list(zip(collect_figures(found), collect_figures(wanted), strict=True))
    assert [a for a, b in pairs if isinstance(a, str | None) and a != b] == []
    numbers = [(float(a), float(b)) for a, b in pairs if not isinstance(a, str | None)]
    np.testing.assert_allclose(*np.transpose(numbers), rtol=1e-6, atol=1e-9)


@pytest.fixture
def three_forms():
    """Weighted rows, some of weight zero and far away; the same without these; and each row repeated."""
    rng = np.random.default_rng(0)
    labels, groups, times = rng.integers(2, size=720), np.arange(720) % 36, rng.integers(0, 4, 720)
    times[:36] = 1
    instances = rng.normal(size=(720, 3)) + 1.2 * labels[:, None]
    instances[times == 0] *= 1000
    kept, repeated = np.flatnonzero(times), np.repeat(np.arange(720), times)
    parts = [(np.arange(720), times), (kept, times[kept]), (repeated, None)]
    return [
        (Bags.from_labels(instances[rows], labels[rows], groups[rows], weights=weights), labels[rows])
        for rows, weights in parts
    ]


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.filterwarnings("ignore:the bag error of")
def test_a_row_of_weight_zero_is_absent_from_every_score(score, three_forms):
    (weighted, labels), (kept, kept_labels), _ = three_forms
    model = MeanMap().fit_bags(kept)
    assert_same(score(weighted, model, labels), score(kept, model, kept_labels))


@pytest.mark.parametrize("name", SAME_FOR_REPEATED)
def test_a_weight_is_a_repeated_row_in_every_score(name, three_forms):
    (weighted, labels), _, (repeated, repeated_labels) = three_forms
    model = MeanMap().fit_bags(weighted)
    assert_same(SCORES[name](weighted, model, labels), SCORES[name](repeated, model, repeated_labels))


def test_other_scores_have_the_means_of_repeated_rows(three_forms):
    (weighted, labels), _, (repeated, repeated_labels) = three_forms
    model = BagLogistic(n_resamples=0).fit_bags(weighted)
    once, again = (
        SCORES["label_scores"](*each) for each in ((weighted, model, labels), (repeated, model, repeated_labels))
    )
    assert once.accuracy.value == pytest.approx(again.accuracy.value)
    assert once.log_loss.value == pytest.approx(again.log_loss.value)
    facts = [inspect_bags(bags) for bags in (weighted, repeated)]
    for name in ("effective_bags", "purity", "condition"):
        assert getattr(facts[0], name) == pytest.approx(getattr(facts[1], name))
    baselines = [_compare(bags, model, None)[-1] for bags in (weighted, repeated)]
    assert baselines[0][1] == pytest.approx(baselines[1][1], rel=0.01)


def test_weights_of_zero_and_one_leave_a_random_sample(three_forms):
    bags, _ = three_forms[2]
    found, chosen = np.full((len(bags.instances), 2), 0.5), np.arange(len(bags.instances)) % 5 > 0
    scores = estimate_accuracy(replace(bags, weights=chosen.astype(float)), found)
    assert scores.accuracy == estimate_accuracy(bags.take_rows(chosen), found[chosen]).accuracy


@pytest.mark.parametrize("name", [name for name in METHODS if estimator_class(name).takes_weights])
@pytest.mark.filterwarnings("ignore")
def test_a_row_of_weight_zero_is_absent_for_every_method(name, three_forms, quick_parts):
    (weighted, _), (kept, _), _ = three_forms
    method = estimator_class(name)()
    settings = {"random_state": 0, **QUICK}
    method.set_params(**{key: value for key, value in settings.items() if key in method.get_params()})
    models = [clone(method).fit_bags(bags) for bags in (weighted, kept)]
    np.testing.assert_array_equal(*(model.predict_proba(kept.instances) for model in models))


@pytest.fixture
def tables(rows, tmp_path, monkeypatch):
    """A table with weights, and one with each row repeated: numbers, dates and categories, some missing."""
    monkeypatch.chdir(tmp_path)
    instances, labels, groups, times = rows
    frame = pd.DataFrame(instances, columns=["x", "y", "z"])
    frame["income"] = [f"{1000 * x:,.2f}" for x in np.exp(instances[:, 0])]
    frame["seen"] = [
        f"{1 + int(abs(9 * x)) % 28:02d}.{1 + i % 12:02d}.2010" for i, x in enumerate(instances[:, 1])
    ]
    frame["job"] = np.array(["nurse", "clerk", "cook"])[np.digitize(instances[:, 2], [0, 1])]
    frame.loc[::7, ["x", "income", "seen", "job"]] = None
    frame = frame.assign(state=groups, vote=np.array(["no", "yes"])[labels], people=times)
    frame.to_csv("weighted.csv", index=False)
    frame.loc[frame.index.repeat(times)].drop(columns="people").to_csv("repeated.csv", index=False)
    return frame


OF_TABLES = {"bag": "state", "label": "vote"}


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_weight_is_a_repeated_row_in_how_a_table_is_encoded(is_stored, tables):
    def encode(name, **options):
        if is_stored:
            return store_tables(f"{name}.csv", f"{name}_store", **OF_TABLES, **options)
        return Bags.from_tables(f"{name}.csv", **OF_TABLES, **options)

    encoders = [bags.encoder for bags in (encode("weighted", weight="people"), encode("repeated"))]
    assert [column.name for column in encoders[0].columns] == ["x", "y", "z", "income", "seen", "job"]
    for one, again in zip(*(encoder.columns for encoder in encoders), strict=True):
        assert type(one) is type(again)
        if not hasattr(one, "median"):
            assert one == again
            continue
        for name in ("median", "mean", "scale"):
            assert getattr(one, name) == pytest.approx(getattr(again, name), rel=1e-12), (one.name, name)


@pytest.mark.parametrize("method", [MeanMap(tol=1e-12), BagLogistic(n_resamples=0, tol=1e-12), InvCal()], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_a_weight_is_a_repeated_row_for_methods_of_tables(method, tables):
    weighted = Bags.from_tables("weighted.csv", **OF_TABLES, weight="people")
    repeated = Bags.from_tables("repeated.csv", **OF_TABLES)
    once, again = (clone(method).fit_bags(bags) for bags in (weighted, repeated))
    close = 1e-4 if isinstance(method, InvCal) else 1e-6
    np.testing.assert_allclose(once.predict_proba(tables), again.predict_proba(tables), atol=close)


def test_trees_split_weighted_rows_where_they_split_repeated_ones(rng):
    rows, slope, times = rng.normal(size=(200, 4)), rng.normal(size=200), rng.integers(2, 5, 200)
    weighted = Boosted(TreeGrower(rows, 4, 1, weights=times.astype(float)))
    repeated = Boosted(TreeGrower(np.repeat(rows, times, axis=0), 4, 1))
    for _ in range(3):
        tree, again = weighted.grow(slope * times), repeated.grow(np.repeat(slope, times))
        assert tree.features == again.features
        np.testing.assert_allclose(tree.thresholds, again.thresholds, rtol=1e-9)
        leaves = tree.leaves(rows)
        slope = slope - 0.3 * np.array([slope[leaves == leaf].mean() for leaf in range(4)])[leaves]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BagBoosting", "AutoLLP"])
@pytest.mark.filterwarnings("ignore")
def test_trees_of_weighted_rows_are_nearer_to_those_of_repeated_rows_than_without_weights(name):
    """How much a bag counts, and the fewest rows of a leaf, are numbers of rows: they are not the same."""
    away, without = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels, groups = rng.integers(2, size=400), np.arange(400) % 20
        instances, times = rng.normal(size=(400, 3)) + 1.5 * labels[:, None], rng.integers(1, 9, 400)
        given = [(part, np.repeat(part, times, axis=0)) for part in (instances, labels, groups)]
        plain, repeated = (Bags.from_labels(*(pair[place] for pair in given)) for place in (0, 1))
        weighted = Bags.from_labels(instances, labels, groups, weights=times)
        method = estimator_class(name)(random_state=0)
        if name == "BagBoosting":
            method.set_params(bag_shift="covariate", max_features=1.0)
        found = [clone(method).fit_bags(bags).predict_proba(instances) for bags in (weighted, repeated, plain)]
        away.append(np.abs(found[0] - found[1]).mean())
        without.append(np.abs(found[2] - found[1]).mean())
    assert np.mean(away) < np.mean(without)
