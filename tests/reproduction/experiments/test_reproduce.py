"""Each experiment from its smallest grid to table and figure, by the command that users give."""

import json
import re

import pytest
from reproduction.commands import main
from reproduction.grids import read_grid
from reproduction.registry import EXPERIMENTS
from reproduction.run import Store
from reproduction.write import write_outputs


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One folder for all, as experiments share rows."""
    return tmp_path_factory.mktemp("out")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_the_smoke_preset_makes_a_table_and_a_figure(name, out, capsys, tmp_path):
    assert main([name, "--preset", "smoke", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{name}.md" in said
    cells = read_grid(EXPERIMENTS[name].grid, "smoke")
    store = Store(out / "smoke")
    rows = store.rows(cells)
    assert [row["id"] for row in rows] == [cell.id for cell in cells]
    for row in rows:
        assert 0 <= row["error"] <= 100
        assert not row["history"] or row["history"][-1]["error"] == row["error"]
    for ending in ("md", "csv", "svg", "png"):
        assert (out / "smoke" / f"{name}.{ending}").stat().st_size > 0
    write_outputs(name, EXPERIMENTS[name], reversed(rows), tmp_path)  # from rows alone, in any order
    for ending in ("md", "csv", "svg"):
        again = (tmp_path / f"{name}.{ending}").read_bytes()
        assert again == (out / "smoke" / f"{name}.{ending}").read_bytes()


@pytest.mark.slow
def test_rows_that_are_there_are_not_run_again_even_if_only_the_merged_file_is_left(out, tmp_path, capsys):
    assert main(["table1", "--preset", "smoke", "--out", str(out)]) == 0
    merged = (out / "smoke" / "rows.jsonl").read_text()
    (tmp_path / "smoke").mkdir()
    (tmp_path / "smoke" / "rows.jsonl").write_text(merged)
    capsys.readouterr()
    assert main(["table1", "--preset", "smoke", "--out", str(tmp_path)]) == 0
    assert ": error" not in capsys.readouterr().err
    assert (tmp_path / "smoke" / "rows.jsonl").read_text() == merged
    table, again = ((folder / "smoke" / "table1.md").read_text() for folder in (out, tmp_path))
    assert table == again


@pytest.mark.slow
def test_a_cell_that_fails_does_not_keep_the_others_from_going_on(tmp_path, capsys, monkeypatch, cells):
    from reproduction import run as cell_running

    measure = cell_running.measure

    def fails_once(cell, *others):
        if cell == cells[1]:
            raise MemoryError("too large")
        return measure(cell, *others)

    monkeypatch.setattr(cell_running, "measure", fails_once)
    command = ["table1", "--preset", "smoke", "--out", str(tmp_path)]
    assert main(command) == 1
    said = capsys.readouterr()
    assert f"1 of 9 cells failed, the others are in the table. {cells[1].id}" in said.err
    assert "Table 1" in said.out
    monkeypatch.undo()
    assert main(command) == 0
    assert capsys.readouterr().err.count(": error") == 1


def test_a_dry_run_lists_the_cells_and_does_nothing(tmp_path, capsys, cells):
    assert main(["table1", "--preset", "smoke", "--out", str(tmp_path), "--dry_run"]) == 0
    said = capsys.readouterr().out
    assert all(cell.id in said for cell in cells)
    assert "9 of 9 cells are left" in said
    assert not list(tmp_path.iterdir())


def test_filters_choose_cells(tmp_path, capsys):
    options = ["--preset", "cpu", "--out", str(tmp_path), "--dry_run"]
    command = ["table1", "--datasets", "mnist", "--methods", "DLLP,LLPGAN", "--bag_sizes", "[16,32]"]
    assert main([*command, *options]) == 0
    assert "16 of 16 cells are left" in capsys.readouterr().out
    assert main(["table1", "--bag_sizes", "17", *options]) == 1
    assert "no cell with bag_size 17; there are 1, 16, 32" in capsys.readouterr().err


def test_every_cell_of_the_paper_can_be_tried_for_an_epoch(tmp_path, capsys):
    options = ["--preset", "paper", "--out", str(tmp_path), "--dry_run", "--bag_sizes", "16", "--draws", "0"]
    assert main(["table1", *options, "--epochs", "1"]) == 0
    said = capsys.readouterr().out
    assert "8 of 8 cells are left" in said
    tried = set(re.findall(r"\b[0-9a-f]{12}\b", said))
    assert main(["table1", *options]) == 0
    published = set(re.findall(r"\b[0-9a-f]{12}\b", capsys.readouterr().out))
    assert len(tried) == len(published) == 8
    assert tried.isdisjoint(published)
    assert main(["table1", *options, "--epochs", "0"]) == 1
    assert "epochs should be a whole number above 0, not 0" in capsys.readouterr().err


@pytest.mark.slow
def test_rows_of_a_trial_have_their_own_folder(tmp_path):
    options = ["--preset", "smoke", "--out", str(tmp_path), "--methods", "DLLP", "--bag_sizes", "64"]
    assert main(["table1", *options, "--draws", "0", "--epochs", "1"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["smoke-epochs-1"]
    (row,) = map(json.loads, (tmp_path / "smoke-epochs-1" / "rows.jsonl").read_text().splitlines())
    assert len(row["history"]) == 1


def test_the_list_of_experiments(capsys):
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in EXPERIMENTS)
    assert main(["table9"]) == 1
    assert "no experiment 'table9'; there are table1" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["get"]])
def test_help_says_how_the_command_is_called(words, capsys):
    assert main([*words, "--help"]) == 0
    command = " ".join(["python -m reproduction", *words])
    assert capsys.readouterr().out.startswith(f"usage: {command} NAME [options]\n")


def test_missing_data_are_named_with_the_way_to_get_them(tmp_path, capsys):
    command = ["table1", "--data", str(tmp_path / "none"), "--out", str(tmp_path)]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert f"To fetch it: python -m reproduction get mnist --to {tmp_path / 'none'}" in said


def test_a_damaged_data_file_is_named_once_and_ends_the_run(tmp_path, capsys):
    (tmp_path / "mnist").mkdir()
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / "mnist" / f"{name}-ubyte.gz").write_bytes(b"no gzip")
    command = [
        "table1",
        "--datasets",
        "mnist",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.count("-ubyte.gz") == 1
    assert "error: " in said


def test_if_every_cell_fails_the_reason_is_given(tmp_path, capsys, monkeypatch):
    from reproduction import run as cell_running

    def fails(*_):
        raise MemoryError("too large")

    monkeypatch.setattr(cell_running, "measure", fails)
    command = ["table1", "--preset", "smoke", "--out", str(tmp_path), "--methods", "Supervised"]
    assert main(command) == 1
    assert "1 of 1 cells failed, there is no other." in capsys.readouterr().err


def test_a_table_without_rows_is_refused(tmp_path, capsys):
    assert main(["table1", "--preset", "smoke", "--out", str(tmp_path), "--train", "false"]) == 1
    assert "there are no rows of table1 yet" in capsys.readouterr().err


def test_a_row_says_nothing_of_names_and_paths(tmp_path, cells):
    from reproduction.inputs import load_data
    from reproduction.run import measure

    row = measure(cells[0], load_data(cells[0], "data"), tmp_path / "checkpoint", lambda: None)
    text = json.dumps(row)
    assert str(tmp_path) not in text
    assert set(row["machine"]) == {"system", "architecture", "python", "cores", "threads", "accelerator"}
    assert row["cell"]["dataset"] == "digits"
    assert len(row["history"]) == cells[0].epochs
