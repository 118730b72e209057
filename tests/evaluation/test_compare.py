"""A comparison: paired by bags, whole after a kill, the same in any number of processes."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import llpgan
from llpgan import DLLP, Bags, MeanMap
from llpgan.evaluation import bag_scores
from llpgan.evaluation.compare import OVERALL, SIMPLEST_FIRST, Comparison, OverallShares, compare, read_rows
from llpgan.evaluation.splitters import BagKFold, WithinBagKFold, bag_folds
from llpgan.methods import METHODS

TWO = [MeanMap(), DLLP(epochs=2)]


class Failing(MeanMap):
    tried: ClassVar[list[int]] = []

    def fit_bags(self, bags):
        self.tried.append(bags.n_bags)
        raise MemoryError("a kernel of 9 GB")


class Slow(MeanMap):
    def fit_bags(self, bags):
        for _ in range(1000):
            time.sleep(0.01)


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_every_bag_is_judged_once_by_a_model_that_has_not_seen_it(bags):
    found = compare(bags, [MeanMap()], cv=5)
    rows = [row for row in found.rows if row["method"] == "MeanMap"]
    assert sorted(bag for row in rows for bag in row["bags"]) == list(range(10))
    for row, fold in zip(rows, bag_folds(bags, cv=5), strict=True):
        model = MeanMap().fit_bags(fold.train)
        expected = bag_scores(fold.test, model.predict_proba(fold.test.instances))
        np.testing.assert_allclose(row["cross_entropy"], expected.cross_entropy, atol=1e-9)
        np.testing.assert_allclose(row["hard_total_variation"], expected.hard_total_variation, atol=1e-9)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_in_any_number_of_processes(bags):
    one, two = compare(bags, TWO, cv=2), compare(bags, TWO, cv=2, n_jobs=2)
    assert without_seconds(one.rows) == without_seconds(two.rows)
    assert without_seconds(compare(bags, TWO, cv=2, random_state=1).rows) != without_seconds(one.rows)


def test_what_a_kill_leaves_is_gone_on_with(bags, tmp_path):
    path = tmp_path / "rows.jsonl"
    whole = compare(bags, TWO, cv=3, rows=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][:30])  # killed while it wrote
    heard = []
    again = compare(bags, TWO, cv=3, rows=path, listener=heard.append)
    assert len(heard) == len(lines) - 4
    assert without_seconds(again.rows) == without_seconds(whole.rows)
    assert without_seconds(read_rows(path)) == without_seconds(map(json.loads, lines))
    compare(bags, TWO, cv=3, rows=path, listener=lambda row: pytest.fail("nothing was left to do"))


KILLED = """
import os, signal, sys
import numpy as np
from llpgan import Bags
from llpgan.evaluation import compare

rows = []
def kill(row):
    rows.append(row)
    if len(rows) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

X = np.random.default_rng(0).normal(size=(40, 2))
bags = Bags.from_labels(X, X[:, 0] > 0, groups=np.arange(40) // 5)
compare(bags, ["MeanMap"], cv=3, rows=sys.argv[1], listener=kill if sys.argv[2] == "kill" else None)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_has_its_rows_on_disk(tmp_path):
    path = tmp_path / "rows.jsonl"
    command = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run([*command, "kill"], check=False).returncode == -signal.SIGKILL
    before = read_rows(path)
    assert len(before) == 3
    subprocess.run([*command, "live"], check=True)
    after = read_rows(path)
    assert after[:3] == before
    assert len(after) == 6


def test_rows_of_other_data_and_other_folds_are_left_alone(bags, tmp_path):
    path = tmp_path / "rows.jsonl"
    compare(bags, [MeanMap()], cv=2, rows=path)
    compare(bags, [MeanMap()], cv=3, rows=path)
    assert len(read_rows(path)) == 2 * 2 + 2 * 3


def test_a_method_that_fails_has_its_reason_and_ends_nothing(bags):
    Failing.tried.clear()
    found = compare(bags, [Failing(), MeanMap()], cv=3)
    assert found.chosen == "MeanMap"
    failed = found.results[-1]
    assert (failed.name, failed.score, failed.failed) == ("Failing", None, "MemoryError: a kernel of 9 GB")
    assert len(Failing.tried) == 1


def test_where_all_fail_the_error_says_why(bags):
    with pytest.raises(ValueError, match="no method could be judged: Failing: MemoryError: a kernel of 9 GB"):
        _ = compare(bags, [Failing()], cv=2).chosen


def test_a_time_limit_ends_a_fit_and_a_longer_one_tries_again(bags, tmp_path):
    path = tmp_path / "rows.jsonl"
    found = compare(bags, [Slow(), MeanMap()], cv=2, time_limit=0.2, rows=path)
    assert found.results[-1].failed == "TimeoutError: it took longer than the time limit"
    heard = []
    compare(bags, [Slow(), MeanMap()], cv=2, time_limit=0.1, rows=path, listener=heard.append)
    assert [row["method"] for row in heard] == ["Slow"]


def made(scores):
    """A comparison of methods whose scores of each bag are given."""
    methods = {name: Failing() if name == "Own" else getattr(llpgan, name)() for name in scores if name != OVERALL}
    rows = [
        {"method": name, "fold": 0, "bags": list(range(len(s))), "cross_entropy": s, "seconds": 1.0}
        for name, s in {OVERALL: [9.0] * 4, **scores}.items()
    ]
    return Comparison(methods, rows, "cross_entropy")


def test_the_simplest_within_one_paired_standard_error_is_named():
    """A difference that all bags share counts, however much bags differ."""
    near = made({"DLLP": [1.0, 2.0, 3.0, 4.0], "MeanMap": [1.5, 1.7, 3.4, 3.9]})
    assert (near.chosen, near.simplest) == ("DLLP", "MeanMap")
    assert replace(near, prefer_simple=True).chosen == "MeanMap"
    assert near.results[1].worse_by == pytest.approx(0.125)
    assert near.results[1].error == pytest.approx(np.std([0.5, -0.3, 0.4, -0.1], ddof=1) / 2)
    far = made({"DLLP": [1.0, 2.0, 3.0, 4.0], "MeanMap": [1.1, 2.1, 3.12, 4.1]})
    assert (far.chosen, far.simplest) == ("DLLP", "DLLP")


def test_the_default_is_chosen_within_two_standard_errors_of_the_best():
    """The simplest has to be within one."""
    best = [1.0, 2.0, 3.0, 4.0]
    near = made({"DLLP": best, "AutoLLP": [1.5, 1.9, 3.4, 4.0], "MeanMap": [1.5, 1.7, 3.4, 3.9]})
    worse_by, error = next((row.worse_by, row.error) for row in near.results if row.name == "AutoLLP")
    assert error < worse_by < 2 * error
    assert (near.best, near.chosen) == ("DLLP", "AutoLLP")
    assert replace(near, prefer_simple=True).chosen == "MeanMap"
    far = made({"DLLP": best, "AutoLLP": [1.5, 2.1, 3.4, 4.2]})
    assert far.chosen == "DLLP"


def test_of_equally_simple_ones_the_first_named_is_chosen_and_ones_own_last():
    same = [1.0, 2.0, 1.0, 2.0]
    assert made({"LLPGAN": same, "DLLP": same}).simplest == "DLLP"
    assert made({"Own": same, "LLPGAN": same}).simplest == "LLPGAN"


def test_every_method_has_its_place_in_simplicity():
    assert set(SIMPLEST_FIRST) == set(METHODS)


def test_methods_that_do_not_beat_the_overall_shares_are_named():
    assert made({"MeanMap": [1.0, 2.0, 1.0, 2.0]}).beats_overall_shares
    assert not made({OVERALL: [1.0, 2.0, 1.0, 2.1], "MeanMap": [1.0, 2.0, 1.1, 1.9]}).beats_overall_shares


def test_a_bag_that_several_folds_hold_out_counts_once(bags):
    found = compare(bags, [MeanMap()], cv=WithinBagKFold(2))
    assert len(found._by_bag["MeanMap"]) == 10


def test_the_chosen_method_is_trained_on_all_bags(bags, blobs):
    instances, labels, _ = blobs
    found = compare(bags, ["MeanMap", DLLP(epochs=3)], cv=BagKFold(2), random_state=7)
    assert found.methods["DLLP(epochs=3)"].random_state == 7
    assert found.refit(bags).score(instances, labels) > 0.9


def test_overall_shares_know_no_instance(bags):
    model = OverallShares().fit_bags(bags)
    np.testing.assert_allclose(model.predict_proba(bags.instances[:2]), [bags.prior, bags.prior])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["SVM"]}, "there is no method 'SVM': name some of DLLP"),
        ({"methods": []}, "no method to compare"),
        ({"methods": ["MeanMap", MeanMap()]}, "the same method is given twice"),
        ({"score": "accuracy"}, "score must be one of cross_entropy"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"cv": 11}, "11 folds of 10 bags"),
    ],
)
def test_what_cannot_be_compared_is_said(bags: Bags, options, message):
    with pytest.raises(ValueError, match=message):
        compare(bags, **options)


def test_several_jobs_are_refused_where_torchrun_divides_each_training(bags, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="n_jobs=2, but torchrun divides each training already"):
        compare(bags, ["MeanMap"], n_jobs=2)
