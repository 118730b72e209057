"""A comparison to look at."""

import pytest

from llpgan import MeanMap
from llpgan.evaluation.compare import as_markdown, as_table, compare
from tests.evaluation.test_compare import Failing


@pytest.fixture
def found(bags):
    return compare(bags, [MeanMap(), Failing()], cv=2)


def test_the_table_shows_what_was_chosen_and_what_failed(found):
    text = as_markdown(found)
    assert "| MeanMap |" in text
    assert "| chosen |" in text
    assert "| MemoryError: a kernel of 9 GB |" in text
    assert "| baseline |" in text
    assert as_table(found).row_count == 3
