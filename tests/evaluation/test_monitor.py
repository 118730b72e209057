"""Monitoring: quiet data stay quiet, a fall of accuracy raises an alarm, drift is named, history is kept."""

import re

import numpy as np
import pytest

from llpgan import Bags, MeanMap
from llpgan.evaluation.monitor import Figure, Snapshot, compare_looks, monitor, read_history, take_snapshot


def draw(rng, n=3200, noise=1.0, shift=0.0):
    X = rng.normal(size=(n, 2)) + np.array([0, shift])
    y = (X[:, 0] + noise * rng.normal(size=n) > 0).astype(int)
    return Bags.from_labels(X, y, np.arange(n) // 16)


@pytest.fixture(scope="module")
def model():
    return MeanMap().fit_bags(draw(np.random.default_rng(0)))


def test_a_fall_of_accuracy_raises_an_alarm(model):
    rng = np.random.default_rng(1)
    found = monitor(model, draw(rng, noise=4.0), reference=draw(rng))
    assert found.status == "alarm"
    assert found.sentences[0].startswith("The accuracy fell from 7")


def test_a_shifted_column_is_drift_and_is_named(model):
    rng = np.random.default_rng(2)
    found = monitor(model, draw(rng, shift=0.5), reference=draw(rng))
    assert found.status == "drift"
    assert [c.name for c in found.changes if c.is_significant and c.kind == "column"] == ["column 1"]
    assert any("Columns that changed: column 1" in sentence for sentence in found.sentences)


def test_the_first_look_is_the_reference_and_history_is_kept(model, tmp_path):
    rng = np.random.default_rng(3)
    history = tmp_path / "history.jsonl"
    first = monitor(model, draw(rng), history=history)
    assert first.status == "quiet"
    assert first.changes == []
    for n_looks in (2, 3):
        found = monitor(model, draw(rng), history=history)
        assert found.status == "quiet"
        assert len(history.read_text().splitlines()) == len(found.snapshots) == n_looks
    again = compare_looks(read_history(history))
    assert [c.p_value for c in again.changes] == [c.p_value for c in found.changes]


def test_many_looks_at_quiet_data_keep_the_level():
    """Figures are drawn from their own law, so that 100 courses of 100 looks take no time."""
    rng, n_alarms = np.random.default_rng(4), 0
    for _ in range(100):
        looks = []
        for _ in range(101):
            figures = {"accuracy": Figure(0.8 + 0.02 * rng.normal(), 0.02, 195.0)}
            looks.append(Snapshot("", 200, 3200, "", None, figures, {}, {}, {}))
            if len(looks) > 1 and compare_looks(looks).status != "quiet":
                n_alarms += 1
                break
    assert n_alarms <= 8


def test_a_slow_decline_is_noticed_by_all_looks_together():
    def look(accuracy):
        return Snapshot("", 200, 3200, "", None, {"accuracy": Figure(accuracy, 0.01, 195.0)}, {}, {}, {})

    reference = Snapshot("", 2000, 32000, "", None, {"accuracy": Figure(0.8, 0.003, 1995.0)}, {}, {}, {})
    looks = [reference, *[look(0.775)] * 12]
    assert compare_looks(looks).status == "alarm"
    assert compare_looks([reference, *[look(0.8)] * 11, look(0.775)]).status == "quiet"


def test_bags_that_are_not_random_are_compared_by_their_bag_error(model):
    rng = np.random.default_rng(5)

    def by_age(noise):
        bags = draw(rng, noise=noise)
        order = np.argsort(bags.instances[:, 0] + rng.normal(size=3200))
        labels = (bags.instances[:, 0] + noise * rng.normal(size=3200) > 0).astype(int)
        return Bags.from_labels(bags.instances[order], labels[order], np.arange(3200) // 16)

    found = monitor(model, by_age(5.0), reference=by_age(1.0))
    assert found.status == "alarm"
    assert found.sentences[0].startswith("The bag error rose")
    assert "drawn at random" in found.snapshots[1].why


def test_damaged_and_foreign_histories_are_refused(model, tmp_path):
    bags = draw(np.random.default_rng(6))
    history = tmp_path / "history.jsonl"
    line = take_snapshot(model, bags).to_json()
    wrong = {
        "value": ("x", "NaN", "null"),
        "error": ("-1", "Infinity"),
        "degrees": ("0", "[]"),
        "n_bags": ("1.5",),
    }
    changed = [
        re.sub(rf'"{name}": [^,}}]+', f'"{name}": {value}', line) for name in wrong for value in wrong[name]
    ]
    for damaged in ("{}", "[1]", "class,prediction", line[:200], *changed):
        history.write_text(line + "\n" + damaged + "\n")
        with pytest.raises(
            ValueError, match=r"history.jsonl, line 2: it is no line of a history that llpgan monitor"
        ):
            monitor(model, bags, history=history)
    history.write_text(re.sub('("spreads": {"column )0', "\\1x", line) + "\n")
    with pytest.raises(ValueError, match="is of another model: of its spreads, 'column 0' is missing"):
        monitor(model, draw(np.random.default_rng(7)), history=history)
    history.unlink()
    history.symlink_to(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"history\.jsonl"):
        monitor(model, bags, history=history)
    history.unlink()
    history.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"history.jsonl is no history that llpgan monitor wrote"):
        monitor(model, bags, history=history)
    history.write_text(line.replace('"version": 1', '"version": 2') + "\n")
    with pytest.raises(ValueError, match=r"line 1: it has version 2 of histories"):
        monitor(model, bags, history=history)
    for name, what in {"column 1": "columns", "1": "classes"}.items():
        history.write_text(line.replace(f'"{name}": {{', '"z": {') + "\n")
        with pytest.raises(
            ValueError, match=rf"history.jsonl is of another model: of its {what}, '{name}' is missing"
        ):
            monitor(model, draw(np.random.default_rng(7)), history=history)


def test_bags_that_show_nothing_new_are_refused(model, tmp_path):
    rng, history = np.random.default_rng(6), tmp_path / "history.jsonl"
    then, now = draw(rng), draw(rng)
    with pytest.raises(ValueError, match="nothing to compare with: give reference or history"):
        monitor(model, now)
    with pytest.raises(ValueError, match="200 of these 200 bags are among those that the model was trained on"):
        monitor(model, now, reference=draw(np.random.default_rng(0)))
    monitor(model, then, history=history)
    with pytest.raises(ValueError, match="these bags are those of the reference, of 20"):
        monitor(model, then, history=history)
    monitor(model, now, history=history)
    with pytest.raises(ValueError, match="these bags are those of look 1, of 20"):
        monitor(model, now, history=history)
    with pytest.raises(ValueError, match="has a reference already"):
        monitor(model, now, reference=then, history=history)
    assert len(history.read_text().splitlines()) == 2
    with pytest.raises(ValueError, match="monitoring needs 20 bags or more, got 19"):
        monitor(model, now.take_bags(range(19)), history=history)


@pytest.mark.parametrize("bad", [0, 1, 90, float("nan")])
def test_levels_lie_between_0_and_1(model, bad):
    bags = draw(np.random.default_rng(6))
    for name in ("coverage", "level"):
        with pytest.raises(ValueError, match=f"{name} must be a number between 0 and 1"):
            monitor(model, bags, reference=bags, **{name: bad})
