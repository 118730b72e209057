import pytest

from llpgan.experiments.grids import read_grid
from llpgan.experiments.registry import EXPERIMENTS


@pytest.fixture
def cells():
    return read_grid(EXPERIMENTS["table1"].grid, "smoke")
