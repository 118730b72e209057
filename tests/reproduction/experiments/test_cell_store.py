"""The folder of rows: who takes a cell clears up after a killed one, and takes nothing from a living one."""

from reproduction.cells import Cell
from reproduction.run import Store

CELL = Cell(dataset="digits", method="DLLP", bag_size=16)
DEAD = 999_999_999  # no process has this number


def halves(folder):
    return sorted(path.name for path in folder.rglob(".*"))


def left_by_a_killed_one(folder, cell):
    half = f".llpgan-{DEAD}-{cell.id}"
    for path in (folder / "rows" / f"{half}.json", folder / "work" / f"{half}.checkpoint"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{")


def test_who_takes_a_cell_clears_up_what_a_killed_one_left_of_it(tmp_path):
    other = Cell(dataset="digits", method="LLPGAN", bag_size=16)
    for cell in (CELL, other):
        left_by_a_killed_one(tmp_path, cell)
    with Store(tmp_path).take(CELL) as mine:
        assert mine
        half = f".llpgan-{DEAD}-{other.id}"
        assert halves(tmp_path) == sorted([f"{half}.json", f"{half}.checkpoint"])


def test_nothing_is_cleared_while_another_has_the_cell(tmp_path):
    store = Store(tmp_path)
    with store.take(CELL):
        left_by_a_killed_one(tmp_path, CELL)  # or by a living one, on another machine
        with Store(tmp_path).take(CELL) as mine:
            assert not mine
        assert len(halves(tmp_path)) == 2


def test_who_merges_clears_up_what_a_killed_one_left(tmp_path):
    (tmp_path / f".llpgan-{DEAD}-rows.jsonl").write_text("{")
    assert Store(tmp_path).merge().read_text() == ""
    assert halves(tmp_path) == []
