"""Count the functions of llpgan that run from two small CSV files to the first gradient, and to a report.

``python tools/count_path.py [list]`` prints how many distinct functions in how many files run, and lists them.
"""

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

SOURCE = str(Path(__file__).resolve().parents[1] / "src" / "llpgan")


class FirstGradientError(Exception):
    """The first gradient was computed."""


def write_tables() -> None:
    """Write eighty people of eight states, and the results of the states."""
    people = [f"{20 + i % 50},{'Rome' if i % 3 else 'Oslo'},s{i % 8}" for i in range(80)]
    Path("people.csv").write_text("\n".join(["age,city,state", *people]) + "\n")
    Path("results.csv").write_text(
        "\n".join(["state,no,yes", *(f"s{i},0.{i + 1},0.{9 - i}" for i in range(8))]) + "\n"
    )


def count_functions(run: Callable[[], Any]) -> dict[str, set[str]]:
    """Return the functions of llpgan that run, by file; comprehensions and lambdas are part of their function."""
    found: dict[str, set[str]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
            found.setdefault(code.co_filename[len(SOURCE) + 1 :], set()).add(code.co_qualname)

    sys.setprofile(note)
    try:
        with contextlib.suppress(FirstGradientError):
            run()
    finally:
        sys.setprofile(None)
    return found


def fit_to_first_gradient() -> None:
    """Make bags of two tables, and stop after the first gradient of BagLogistic."""
    from llpgan import BagLogistic, Bags
    from llpgan.methods import bag_logistic

    def stop(loss: Any, points: Any, **_: Any) -> None:
        loss(points, range(len(points)))
        raise FirstGradientError

    with patch.object(bag_logistic, "minimize_side_by_side", stop):
        BagLogistic(n_resamples=0).fit_bags(Bags.from_tables("people.csv", "results.csv", bag="state"))


def fit_to_report() -> None:
    """Run ``llpgan fit`` up to its report."""
    from llpgan.cli import main

    words = ["fit", "people.csv", "--bag", "state", "--proportions", "results.csv", "--method", "BagLogistic"]
    with contextlib.redirect_stderr(io.StringIO()):
        assert main.main(words) == 0


def main() -> None:
    """Print both counts; each is of a process that has imported everything before."""
    import llpgan.cli.fit  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tables()
        for name, run in (
            ("llpgan fit to its report", fit_to_report),
            ("from_tables to the first gradient", fit_to_first_gradient),
        ):
            found = count_functions(run)
            print(f"{name}: {sum(map(len, found.values()))} functions in {len(found)} files")
            if "list" in sys.argv:
                for file, functions in sorted(found.items()):
                    print(f"  {file} ({len(functions)}): {', '.join(sorted(functions))}")
        os.chdir("/")


if __name__ == "__main__":
    main()
