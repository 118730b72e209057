"""What is seen of a column part after part is what is seen of it at once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llpgan.tables import Columns
from llpgan.tables import columns as column_statistics
from llpgan.tables.columns import ColumnSummary
from llpgan.tables.encode import LeftOut, choose_encoder
from tests.tables.test_column_kinds import SAID, SEEN


def as_column(values):
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def learned(column, columns):
    return choose_encoder(ColumnSummary.from_column("x", column, columns.kinds().get("x")), columns).encoder


def streamed(column, columns, n_rows):
    facts, rng = ColumnSummary("x", columns.kinds().get("x")), np.random.default_rng(0)
    for start in range(0, len(column), n_rows):
        part = column.slice(start, n_rows)
        facts.add(part, start.__add__, rng.random(len(part)))
    return choose_encoder(facts, columns).encoder


def merged(column, columns, n_rows):
    """Each part by itself, as if another process had read it, and written and read again."""
    kind, rng, all_parts = columns.kinds().get("x"), np.random.default_rng(0), None
    for start in range(0, len(column), n_rows):
        part, facts = column.slice(start, n_rows), ColumnSummary("x", kind)
        facts.add(part, start.__add__, rng.random(len(part)))
        if all_parts is not None:
            all_parts.merge(facts)
            facts = all_parts
        all_parts = ColumnSummary("x", kind)
        all_parts.restore(facts.to_arrays())
    return choose_encoder(all_parts, columns).encoder


def said(encoder, *arguments):
    """What was learned; or the words of why not."""
    try:
        learned_of_it = vars(encoder(*arguments))
    except (ValueError, LeftOut) as error:
        return str(error)
    return {k: round(v, 9) if isinstance(v, float) else v for k, v in learned_of_it.items()}


CASES = {name: (values, Columns()) for name, (values, _) in SEEN.items()}
CASES |= {name: (values, columns) for name, (values, columns, _) in SAID.items()}
CASES |= {
    "ids": (list(range(50)), Columns()),
    "large ids": ([2**60 + i for i in range(50)], Columns()),
    "many of few": ([1, 2, 3] * 20, Columns()),
    "names": ([f"name {i}" for i in range(50)], Columns()),
    "a constant": ([4] * 30, Columns()),
    "a constant text": (["a"] * 30, Columns()),
    "nearly numbers": (["1", "2", "3", "4", "five", "6"], Columns()),
    "nothing": ([None, None, None], Columns()),
    "nothing but NaN": ([np.nan, np.nan], Columns()),
    "infinite": ([1.0, 2.0, 3.0, np.inf], Columns()),
    "no dates": (["2016-11-08", "2016-11-09", "soon"], Columns(dates="x")),
    "no numbers": (["1", "2", "three"], Columns(numbers="x")),
    "lists": ([[1], [2]], Columns()),
    "bytes": ([b"a", b"b"], Columns()),
    "rare": (list("aaabbc") * 3, Columns(min_count=4)),
}


@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000])
@pytest.mark.parametrize(("values", "columns"), CASES.values(), ids=CASES)
def test_parts_are_encoded_as_the_whole(values, columns, n_rows):
    column = as_column(values)
    assert said(streamed, column, columns, n_rows) == said(learned, column, columns)
    assert said(merged, column, columns, n_rows) == said(learned, column, columns)


def test_merged_samples_and_counts_of_texts_are_those_of_one_reader(monkeypatch):
    monkeypatch.setattr(column_statistics, "SAMPLE", 50)
    monkeypatch.setattr(column_statistics, "MOST_TEXTS", 60)
    rng, one, parts = np.random.default_rng(0), {}, {}
    numbers, chance = rng.normal(size=1000), rng.random(1000)
    texts = [f"own {i}" if i % 2 else "ab"[i % 4 // 2] for i in range(1000)]
    for name, values in (("numbers", numbers), ("texts", texts)):
        one[name], parts[name] = ColumnSummary(name), ColumnSummary(name)
        for start in range(0, 1000, 100):
            rows, part = slice(start, start + 100), ColumnSummary(name)
            for summary in (one[name], part):
                summary.add(pa.chunked_array([values[rows]]), chance=chance[rows])
            parts[name].merge(part)
    assert (
        sorted(parts["numbers"].sample)
        == sorted(one["numbers"].sample)
        == sorted(numbers[np.argsort(chance)[:50]])
    )
    assert parts["numbers"].moments == pytest.approx(one["numbers"].moments)
    found = parts["texts"]
    assert (found.texts["a"], found.texts["b"]) == (250, 250)
    assert len(found.texts) <= 60
    assert len(found.texts) + found.n_forgotten == 502


NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@given(NUMBERS, st.integers(1, 10))
def test_moments_are_those_of_all(numbers, n_rows):
    summary, numbers = ColumnSummary("x"), np.array(numbers)
    for start in range(0, len(numbers), n_rows):
        summary.add(pa.chunked_array([numbers[start : start + n_rows]]))
    moments = summary.moments
    assert moments.n == len(numbers)
    assert (summary.low, summary.high) == (numbers.min(), numbers.max())
    assert moments.mean == pytest.approx(numbers.mean(), abs=1e-9 * (1 + np.abs(numbers).max()))
    assert moments.squares / moments.n == pytest.approx(numbers.var(), rel=1e-6, abs=1e-4)


def test_each_row_has_the_same_chance_to_be_in_a_sample(monkeypatch):
    monkeypatch.setattr(column_statistics, "SAMPLE", 6)
    rng, times = np.random.default_rng(0), np.zeros(60)
    for _ in range(2000):
        summary = ColumnSummary("x")
        for start in range(0, 60, 17):
            rows = np.arange(start, min(60, start + 17))
            summary.add(pa.chunked_array([rows]), chance=rng.random(len(rows)))
        assert len(set(summary.sample.tolist())) == 6
        times[summary.sample] += 1
    assert np.abs(times / 2000 - 0.1).max() < 5 * np.sqrt(0.1 * 0.9 / 2000)
