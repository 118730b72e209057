"""What a notebook shows of results, and results as frames."""

import builtins

import numpy as np
import pytest
from matplotlib.figure import Figure

import llpgan
from llpgan import DLLP, Bags, MeanMap
from llpgan.ecological import GroupShares
from llpgan.evaluation import (
    bag_scores,
    inspect_bags,
    judge_without_labels,
    label_scores,
    learning_curve,
    partial_dependence,
    randomness_test,
)
from llpgan.evaluation.compare import compare
from llpgan.report import GroupSharesDisplay, write_report


@pytest.fixture
def model(bags):
    return MeanMap().fit_bags(bags)


@pytest.fixture
def named_bags(blobs):
    instances, labels, groups = blobs
    return Bags.from_labels(instances, np.array(["<no>", "yes"])[labels], np.char.add("bag ", groups.astype(str)))


def test_bags_are_shown_with_their_shares_and_names_as_text(named_bags):
    shown = named_bags._repr_html_()
    assert "10 bags of 80 instances of shape 3" in shown
    assert "share of &lt;no&gt;" in shown
    assert f'<td style="text-align:right;padding:2px 10px">{named_bags.proportions[0, 1]:.1%}</td>' in shown
    assert shown.count("<tr>") == 11


def test_of_many_bags_and_classes_some_are_shown(rng):
    labels = np.arange(60) % 12
    shown = Bags.from_labels(rng.normal(size=(60, 1)), labels, np.arange(60) // 2)._repr_html_()
    assert shown.count("<tr>") == 11
    assert "and 20 more bags, 2 more classes" in shown


def test_bag_scores_are_a_table(model, bags):
    scores = bag_scores(bags, model.predict_proba(bags))
    frame = scores.to_frame()
    assert frame["bag"].tolist() == list(bags.bag_ids)
    np.testing.assert_array_equal(frame["total_variation"], scores.total_variation)
    np.testing.assert_array_equal(frame["given 1"], bags.proportions[:, 1])
    np.testing.assert_array_equal(frame["predicted 1"], scores.predicted[:, 1])
    worst = bags.bag_ids[int(scores.total_variation.argmax())]
    assert (
        scores._repr_html_()
        .partition("<tbody>")[2]
        .startswith(f'<tr><td style="text-align:left;padding:2px 10px">{worst}</td>')
    )
    assert repr(scores).startswith("BagScores(10 bags, mean bag error 0.0")


def test_a_comparison_is_a_table_with_the_best_first(bags):
    found = compare(bags, ["MeanMap"], cv=2)
    frame = found.to_frame()
    assert frame["name"].tolist() == ["MeanMap", "overall shares"]
    assert frame["chosen"].tolist() == [True, False]
    assert frame["score"].is_monotonic_increasing
    assert repr(found) == "Comparison(MeanMap; chosen: MeanMap)"
    assert ">chosen</td>" in found._repr_html_()


def test_a_verdict_is_shown_with_its_reason(model, bags):
    verdict = judge_without_labels(bags, model.predict_proba(bags))
    shown = verdict._repr_html_()
    assert f"{verdict.bags.mean_total_variation.value:.3f}" in shown
    assert verdict.why.partition("(")[0] in shown


def test_calibration_inspection_curve_and_effects_are_tables(model, blobs, bags):
    instances, labels, _ = blobs
    calibration = label_scores(labels, model.predict_proba(instances), [0, 1]).calibration
    assert calibration.to_frame()["n"].sum() == 80
    scores = label_scores(labels, model.predict_proba(instances), [0, 1])
    assert repr(scores) == f"LabelScores(80 instances, accuracy {scores.accuracy})"
    assert f">{scores.accuracy.value:.3f}</td>" in scores._repr_html_()
    found = inspect_bags(bags)
    assert repr(found).startswith("Inspection(10 bags, worth about ")
    assert f">{found.rows[1]:,.0f}</td>" in found._repr_html_()
    randomness = randomness_test(bags)
    assert repr(randomness).startswith(f"RandomnessTest(p = {randomness.p_value:.2g}, ")
    assert randomness.describe().partition("(")[0] in randomness._repr_html_()
    assert found.to_frame().to_dict("list") == {
        "class": ["0", "1"],
        "rows": found.rows.tolist(),
        "worth": found.worth.tolist(),
    }
    more = Bags.from_labels(np.tile(instances, (2, 1)), np.tile(labels, 2), np.arange(160) // 8)
    curve = learning_curve(more, repeats=2)
    assert curve.to_frame()["n_bags"].tolist() == [step.n_bags for step in curve.steps]
    assert f"{curve.steps[0].error:.3f} with {curve.steps[0].n_bags}" in repr(curve)
    assert curve._repr_html_().count("<tr>") == 1 + len(curve.steps)
    effect = partial_dependence(model, bags, {"first": [0]})["first"]
    assert effect.to_frame()["predicted 1"].is_monotonic_increasing


@pytest.mark.slow
def test_a_history_is_a_table_also_of_a_loaded_model(bags, tmp_path):
    model = DLLP(epochs=2, random_state=0, device="cpu").fit_bags(bags)
    llpgan.save(model, tmp_path / "model")
    for one in (model, llpgan.load(tmp_path / "model")):
        assert one.history_._repr_html_().startswith("<div><strong>2 epochs, the last one first")
        frame = one.history_.to_frame()
        assert frame["epoch"].tolist() == [1, 2]
        assert frame["proportion_loss"].tolist() == [row["proportion_loss"] for row in model.history_]


def test_group_shares_are_a_table_and_can_be_drawn():
    half = np.full((2, 2), 0.5)
    covariance = np.einsum("rs,cd->rcsd", np.eye(2), np.eye(2)) * 0.01**2
    groups, share = (("white", 0), ("white", None)), np.array([[0.7, 0.3], [0.4, 0.6]])
    shares = GroupShares(groups, ("no", "yes"), np.array([5.0, 9.0]), share, covariance, 0 * half, 2 * half, share)
    assert shares.to_frame()["group"].tolist() == ["white, 0"] * 2 + ["white, missing"] * 2
    assert shares.to_frame(by=["race", "college"])["race"].tolist() == ["white"] * 4
    assert "30.0% (28.0% to 32.0%)" in shares._repr_html_()
    display = GroupSharesDisplay.from_shares(shares, ax=Figure().add_subplot())
    assert display.hover_["class-0"][0] == "white, 0: yes 30.0 %, 95 % interval 28.0 % to 32.0 %"


def test_without_pandas_it_is_said_what_to_do(model, bags, monkeypatch):
    scores, imported = bag_scores(bags, model.predict_proba(bags)), builtins.__import__

    def without_pandas(name, *others):
        if name == "pandas":
            raise ImportError(name)
        return imported(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match="pip install pandas"):
        scores.to_frame()


def test_a_model_writes_its_report(model, bags, tmp_path):
    path = model.report(tmp_path / "x.html", bags)
    page = path.read_text(encoding="utf-8")
    assert "<title>MeanMap</title>" in page
    with pytest.raises(FileExistsError, match="overwrite"):
        model.report(path, bags)
    write_report(model, bags, path, title="Again", origin="official results", overwrite=True)
    assert "Official results." in path.read_text(encoding="utf-8")


def test_a_report_on_something_else_than_bags_is_refused(model, blobs, tmp_path):
    with pytest.raises(TypeError, match="bags must be Bags"):
        model.report(tmp_path / "x.html", blobs[0])
    assert not (tmp_path / "x.html").exists()
