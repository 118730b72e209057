"""Each display draws what it is given, on the axes it is given."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from llpgan import DLLP, Bags, MeanMap
from llpgan.evaluation import learning_curve
from llpgan.evaluation.compare import compare
from llpgan.report import (
    ComparisonDisplay,
    ConfusionDisplay,
    EffectDisplay,
    GroupSharesDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    ProportionDisplay,
    ReliabilityDisplay,
)
from llpgan.report.drawing import place_names
from tests.evaluation.test_compare import Failing

HISTORY = [
    {"epoch": 1, "proportion_loss": 0.7, "held_out_loss": 0.8, "held_out_error": 0.0, "seconds": 1.0},
    {"epoch": 2, "proportion_loss": 0.5, "held_out_loss": 0.6, "held_out_error": 0.0, "seconds": 1.0},
    {"epoch": 3, "proportion_loss": 0.4, "held_out_loss": 0.9, "held_out_error": 0.0, "seconds": 1.0},
]
SHARES = {
    "group": ["young", "young", "old", "old"],
    "class": ["no", "yes", "no", "yes"],
    "share": [0.7, 0.3, 0.4, 0.6],
    "low": [0.6, 0.2, 0.3, 0.5],
    "high": [0.8, 0.4, 0.5, 0.7],
}


@pytest.fixture
def ax():
    return Figure(figsize=(6, 5)).add_subplot()


def points(ax, gid):
    (found,) = [part for part in ax.collections if part.get_gid() == gid]
    return np.asarray(found.get_offsets())


def drawn(display, ax):
    """Whether it is on these axes, and can be written as a picture."""
    display.figure_.canvas.draw()
    return display.ax_ is ax and display.figure_ is ax.figure


def test_shares_of_bags_are_drawn_and_the_worst_are_named(ax, bags):
    model = MeanMap().fit_bags(bags)
    display = ProportionDisplay.from_estimator(model, bags, n_named=2, ax=ax)
    predicted = bags.means(model.predict_proba(bags))[:, 1]
    np.testing.assert_allclose(points(ax, "bags"), np.column_stack([bags.proportions[:, 1], predicted]))
    worst = np.abs(bags.proportions[:, 1] - predicted).argsort()[::-1][:2]
    written = {text.get_text().strip() for text in ax.texts}
    assert written == {str(bags.bag_ids[bag]) for bag in worst}
    assert f"predicted {100 * predicted[0]:.1f} %" in display.hover_["bags"][0]
    assert drawn(display, ax)


def test_a_class_is_chosen_by_its_name(ax, bags):
    display = ProportionDisplay.from_estimator(MeanMap().fit_bags(bags), bags, class_name=0, ax=ax)
    np.testing.assert_allclose(points(ax, "bags")[:, 0], bags.proportions[:, 0])
    assert display.class_name == 0
    with pytest.raises(ValueError, match=r"there is no class 'yes' \(class_name\); there are 0, 1"):
        ProportionDisplay.from_estimator(MeanMap().fit_bags(bags), bags, class_name="yes", ax=ax)


def test_names_of_close_points_do_not_cover_each_other_nor_a_line():
    rng = np.random.default_rng(0)
    close = 0.5 + 0.06 * rng.random((5, 2))
    placed = place_names(close, [(0.2, 0.04)] * 5, close)
    for i, one in enumerate(placed):
        for other in placed[:i]:
            assert not one.box.covers(other.box)
        for j, other in enumerate(placed):
            if i != j:
                assert not one.box.holds(np.linspace(*other.line, 50)).any()


def test_a_history_is_drawn_epoch_by_epoch(ax):
    display = LearningCurveDisplay.from_history(HISTORY, ax=ax)
    assert list(display.curves) == ["bags in training", "held-out bags"]
    np.testing.assert_allclose(points(ax, "curve-1"), [(1, 0.8), (2, 0.6), (3, 0.9)])
    assert display.marked == 2
    assert drawn(display, ax)
    legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.y1 <= axes.y0


@pytest.mark.slow
def test_the_history_may_be_a_models(ax, bags):
    model = DLLP(epochs=2, random_state=0, device="cpu").fit_bags(bags)
    display = LearningCurveDisplay.from_history(model, columns=["proportion_loss"], ax=ax)
    assert display.curves["bags in training"] == tuple(
        (row["epoch"], row["proportion_loss"]) for row in model.history_
    )


def test_what_is_no_history_is_refused(ax):
    with pytest.raises(ValueError, match="no epochs to plot"):
        LearningCurveDisplay.from_history([], ax=ax)
    with pytest.raises(
        ValueError, match=r"no column 'proportion_los' \(columns\).*Did you mean 'proportion_loss'"
    ):
        LearningCurveDisplay.from_history(HISTORY, columns=["proportion_los"], ax=ax)


def test_errors_by_the_number_of_bags_are_drawn(ax, rng):
    X = rng.normal(size=(320, 2))
    curve = learning_curve(Bags.from_labels(X, X[:, 0] > 0, np.arange(320) // 16), repeats=2)
    display = LearningCurveDisplay.from_learning_curve(curve, ax=ax)
    np.testing.assert_allclose(points(ax, "curve-0"), [(step.n_bags, step.error) for step in curve.steps])
    assert drawn(display, ax)


def test_reliability_is_the_accuracy_of_each_group(ax, blobs, bags):
    instances, labels, _ = blobs
    model = MeanMap().fit_bags(bags)
    display = ReliabilityDisplay.from_estimator(model, instances, labels, ax=ax)
    assert sum(group.n for group in display.bins) == 80
    np.testing.assert_allclose(
        points(ax, "groups"), [(group.confidence, group.accuracy) for group in display.bins]
    )
    assert drawn(display, ax)


def test_a_comparison_has_a_point_for_each_method_that_was_judged(ax, bags):
    found = compare(bags, [MeanMap(), Failing()], cv=2)
    display = ComparisonDisplay.from_comparison(found, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["overall shares", "MeanMap"]
    by_name = {result.name: result.score for result in found.results}
    np.testing.assert_allclose(points(ax, "methods")[:, 0], [by_name["overall shares"], by_name["MeanMap"]])
    assert drawn(display, ax)


class Result:
    groups, outcomes = ("young", "old"), ("no", "yes")
    shares = np.array([[0.7, 0.3], [0.4, 0.6]])
    intervals = shares - 0.1, shares + 0.1


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "result"])
def test_group_shares_are_taken_from_any_table(ax, kind):
    if kind in ("pandas", "polars"):
        shares = pytest.importorskip(kind).DataFrame(SHARES)
    else:
        shares = SHARES if kind == "dict" else Result()
    display = GroupSharesDisplay.from_shares(shares, ax=ax)
    assert display.groups == ["young", "old"]
    np.testing.assert_allclose(points(ax, "class-0")[:, 0], [0.3, 0.6])
    assert display.hover_["class-0"][0] == "young: yes 30.0 %, 95 % interval 20.0 % to 40.0 %"
    assert drawn(display, ax)


def test_groups_of_several_columns_stay_different(ax):
    result = Result()
    result.groups, result.intervals = (("old", 0), ("old", None)), None
    display = GroupSharesDisplay.from_shares(result, ax=ax)
    assert display.groups == ["old, 0", "old, missing"]
    assert display.hover_["class-0"] == ["old, 0: yes 30.0 %", "old, missing: yes 60.0 %"]


def test_group_shares_without_intervals_and_of_chosen_classes(ax):
    bare = {name: SHARES[name] for name in ("group", "class", "share")}
    display = GroupSharesDisplay.from_shares(bare, classes=["no", "yes"], ax=ax)
    assert display.hover_["class-0"] == ["young: no 70.0 %", "old: no 40.0 %"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    with pytest.raises(ValueError, match=r"no column 'group'.*it has class, share"):
        GroupSharesDisplay.from_shares({"class": ["a"], "share": [1.0]}, ax=ax)
    with pytest.raises(ValueError, match="no class 'maybe': it has no, yes"):
        GroupSharesDisplay.from_shares(SHARES, classes=["maybe"], ax=ax)


def test_without_axes_a_figure_is_made_and_a_dark_style_is_kept(bags):
    matplotlib.use("Agg")
    with plt.style.context("dark_background"):
        display = ProportionDisplay.from_estimator(MeanMap().fit_bags(bags), bags)
        assert {to_hex(text.get_color()) for text in display.ax_.texts} == {"#ffffff"}
        plt.close(display.figure_)


def test_confusion_has_true_classes_in_rows(ax, blobs, bags):
    instances, labels, _ = blobs
    model = MeanMap().fit_bags(bags)
    display = ConfusionDisplay.from_estimator(model, instances, labels, ax=ax)
    predicted = model.predict(instances)
    expected = [[int(np.sum((labels == i) & (predicted == j))) for j in (0, 1)] for i in (0, 1)]
    assert display.confusion.tolist() == expected
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("true class", "predicted class")
    assert drawn(display, ax)
    rare = ConfusionDisplay.from_estimator(model, instances, labels, threshold=0.01, ax=Figure().add_subplot())
    assert rare.confusion[1, 1] >= display.confusion[1, 1]
    assert rare.confusion[:, 1].sum() > display.confusion[:, 1].sum()


def test_importance_and_effect_are_of_the_users_columns(ax):
    rng = np.random.default_rng(0)
    age, colour = rng.normal(size=800), rng.choice(["red", "blue"], 800)
    people = {"bag": np.arange(800) // 10, "age": age, "colour": colour, "vote": np.where(age > 0, "yes", "no")}
    bags = Bags.from_tables(people, bag="bag", label="vote")
    model = MeanMap().fit_bags(bags)
    display = ImportanceDisplay.from_estimator(model, bags, ax=ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["colour", "age"]
    assert display.hover_["bar-1"][0].startswith("age: ")
    assert drawn(display, ax)
    effect = EffectDisplay.from_estimator(model, bags, "age", ax=Figure().add_subplot())
    assert effect.ax_.get_ylabel() == "predicted share of “yes”"
    shares = points(effect.ax_, "values")[:, 1]
    assert shares[0] < 0.3 < 0.7 < shares[-1]
    effect = EffectDisplay.from_estimator(model, bags, "colour", class_name="no", ax=Figure().add_subplot())
    assert [label.get_text() for label in effect.ax_.get_yticklabels()] == ["blue", "red"]
    with pytest.raises(ValueError, match=r"no column 'ag'.*Did you mean 'age'"):
        EffectDisplay.from_estimator(model, bags, "ag", ax=ax)


def test_of_many_classes_it_is_said_how_many_are_shown(ax):
    table = {"group": ["all"] * 9, "class": [f"c{k}" for k in range(9)], "share": [1 / 9] * 9}
    GroupSharesDisplay.from_shares(table, ax=ax)
    assert "(6 of 9 classes are shown)" in ax.get_xlabel()
    GroupSharesDisplay.from_shares(table, classes=["c0"], ax=(other := Figure().add_subplot()))
    assert "classes are shown" not in other.get_xlabel()
