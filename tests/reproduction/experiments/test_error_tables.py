"""Tables of errors from rows made by hand, whose means are known."""

import io

import pytest
from reproduction.outputs import error_table
from reproduction.run import make_results
from rich.console import Console

from reproduction.experiments import average_error, convergence


def _row(error, **cell):
    return {"cell": {"dataset": "mnist", "method": "LLPGAN", "bag_size": 16, **cell}, "error": error}


def _lines(rows, paper="table1"):
    return [list(line) for line in error_table(make_results(rows), "Errors", paper).rows]


def test_draws_are_averaged_and_the_papers_figure_is_below():
    rows = [_row(1.0), _row(2.0, draw=1), _row(3.0, bag_size=128), _row(0.5, method="Supervised", bag_size=1)]
    assert _lines(rows) == [
        ["MNIST", "supervised", "1", "0.50", "", ""],
        ["", "in the paper", "", "0.36", "", ""],
        ["MNIST", "LLP-GAN", "1 to 2", "", "1.50 (0.71)", "3.00"],
        ["", "in the paper", "", "", "1.10 (0.026)", "3.49 (0.27)"],
    ]


def test_pairs_of_classes_are_shown_alone_and_together():
    rows = [_row(1.0, classes=[0, 1]), _row(4.0, classes=[4, 9])]
    assert _lines(rows, "table2") == [
        ["MNIST, 0 and 1", "LLP-GAN", "1", "1.00"],
        ["MNIST, 4 and 9", "LLP-GAN", "1", "4.00"],
        ["MNIST, 2 pairs", "LLP-GAN", "2", "2.50 (2.12)"],
        ["", "in the paper", "", "0.047"],
    ]


def test_variants_of_a_method_have_their_own_lines():
    decay = {"weight_decay": 0.2}
    rows = [_row(2.0, method="DLLP"), _row(1.0, method="DLLP", settings=decay)]
    assert [line[:4] for line in _lines(rows)[::2]] == [
        ["MNIST", "DLLP", "1", "2.00"],
        ["MNIST", "DLLP, weight decay", "1", "1.00"],
    ]
    curves = [{**row, "history": [{"error": row["error"]}] * 4} for row in rows]
    told = convergence.table(make_results(curves)).rows
    assert [(line[2], line[-2]) for line in told] == [("DLLP", "2.00"), ("DLLP, weight decay", "1.00")]


def test_what_is_smaller_than_in_the_paper_is_named():
    small = {"classifier": "mnist_classifier"}
    rows = [
        _row(1.0, train_rows=4000),
        _row(2.0, dataset="cifar10", method="DLLP"),
        _row(3.0, dataset="cifar10", method="DLLP", settings=small),
    ]
    expected = [("MNIST, 4,000 rows", "LLP-GAN"), ("CIFAR-10", "DLLP"), ("CIFAR-10", "DLLP, small network")]
    assert [tuple(line[:2]) for line in _lines(rows)[::2]] == expected
    curves = [{**row, "history": [{"error": row["error"]}] * 4} for row in rows]
    told = convergence.table(make_results(curves)).rows
    assert [(line[0], line[2]) for line in told] == expected


def test_an_average_waits_for_the_sizes_that_a_method_has_no_rows_of_yet():
    both = [_row(1.0, classes=[0, 1]), _row(3.0, classes=[0, 1], bag_size=64)]
    begun = [_row(2.0, classes=[0, 1], bag_size=64, method="DLLP"), _row(9.0, classes=[4, 9])]
    rows = average_error.table(make_results([*both, *begun])).rows
    assert [list(row) for row in rows] == [
        ["DLLP", "", "0.05", "2.00", "0.05"],
        ["LLP-GAN", "1.00", "0.05", "3.00", "0.05"],
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_off_in_a_narrow_terminal(width):
    rows = [_row(error, bag_size=size) for error, size in ((1.11, 16), (2.22, 32), (3.33, 64), (4.44, 128))]
    screen = io.StringIO()
    Console(file=screen, width=width).print(error_table(make_results(rows), "Errors", "table1").to_terminal())
    said = screen.getvalue()
    assert "…" not in said
    assert all(word in said for word in ("method", "LLP-GAN", "1.11", "4.44", "(0.27)"))


def test_a_problem_is_named_once_in_the_terminal_and_on_every_line_of_the_files():
    table = error_table(make_results([_row(1.0), _row(2.0, method="DLLP")]), "Errors", "table1")
    screen = io.StringIO()
    Console(file=screen, width=80).print(table.to_terminal())
    assert screen.getvalue().count("MNIST") == 1
    assert table.as_csv().count("MNIST") == table.as_markdown().count("MNIST") == 2
