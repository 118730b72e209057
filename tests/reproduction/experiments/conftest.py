import pytest
from reproduction.grids import read_grid
from reproduction.registry import EXPERIMENTS


@pytest.fixture
def cells():
    return read_grid(EXPERIMENTS["table1"].grid, "smoke")
