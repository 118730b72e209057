import pytest

from llpgan.data.experiments.grids import read_grid
from llpgan.data.experiments.registry import EXPERIMENTS


@pytest.fixture
def cells():
    return read_grid(EXPERIMENTS["table1"].grid, "smoke")
