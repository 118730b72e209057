"""Build the wheel, install it into an empty environment elsewhere, and use it as a new user would.

No constraints are used: pip takes the newest versions that it finds. What stands after ``--`` is installed first,
as ``docs/installation.md`` says::

    python tools/check_release.py -- torch --index-url https://download.pytorch.org/whl/cpu
"""

import csv
import os
import random
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
IN_THE_WHEEL = (
    "llpgan/py.typed",
    "llpgan/report/templates/page.js",
    "llpgan/data/election2016/respondents.csv.gz",
    "llpgan/data/election2016/codebook.md",
)
FIT = ("fit", "people.csv", "--bag", "town", "--proportions", "results.csv", "--out", "model")
WRITTEN = (
    "model/model.json",
    "model/model_card.md",
    "model/report.html",
    "predictions.csv",
    "demo/model/report.html",
)


def main(first: list[str]) -> None:
    """Go through all steps, and say how long each took; the first that fails ends it."""
    with TemporaryDirectory(prefix="llpgan-release-") as folder:
        place = Path(folder)
        with time_call("wheel"):
            wheel = build_wheel(place / "dist")
        with time_call("empty environment"):
            venv.create(place / "environment", with_pip=True)
        programs = place / "environment" / ("Scripts" if os.name == "nt" else "bin")
        install: list[str | Path] = [
            programs / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        with time_call("all of the first page, from pip install to a report"):
            if first:
                with time_call(f"pip install {' '.join(first)}"):
                    run([*install, *first], place)
            with time_call(f"pip install {wheel.name}"):
                run([*install, wheel], place)
            write_tables(place)
            with time_call("llpgan fit of two CSV files"):
                run([programs / "llpgan", *FIT], place)
        run([programs / "llpgan", "predict", "model", "people.csv", "--out", "predictions.csv"], place)
        with time_call("llpgan demo"):
            run([programs / "llpgan", "demo", "--epochs", "2"], place)
        if missing := [name for name in WRITTEN if not (place / name).is_file()]:
            sys.exit(f"not written: {', '.join(missing)}")


@contextmanager
def time_call(what: str) -> Iterator[None]:
    """Print how long a step took."""
    started = time.perf_counter()
    yield
    print(f"{time.perf_counter() - started:7.1f} s  {what}", flush=True)


def build_wheel(folder: Path) -> Path:
    """The wheel, complete."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT], ROOT)
    (wheel,) = folder.glob("llpgan-*.whl")
    with ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    if missing := [name for name in IN_THE_WHEEL if name not in inside]:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    if foreign := [name for name in inside if not name.startswith(("llpgan/", "llpgan-"))]:
        sys.exit(f"{wheel.name} holds what is not its own: {', '.join(sorted(foreign)[:3])}")
    return wheel


def run(command: Sequence[str | Path], place: Path) -> None:
    """Run a command outside of the repository, with nothing of this environment."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    print("$", " ".join(str(word).replace(str(place), ".") for word in command), flush=True)
    subprocess.run([str(word) for word in command], cwd=place, env=clean, check=True)


def write_tables(place: Path) -> None:
    """Two tables of a user's: 3,000 people in 60 towns, and the result of each town."""
    draw = random.Random(0)
    people, results = [("town", "age", "owner", "income")], [("town", "no", "yes")]
    for town in range(60):
        older, yes = draw.uniform(0.1, 0.9), 0
        for _ in range(50):
            is_older = draw.random() < older
            yes += draw.random() < (0.8 if is_older else 0.2)
            age = draw.randint(50, 90) if is_older else draw.randint(18, 60)
            people.append((f"town {town}", str(age), draw.choice(["yes", "no"]), f"{draw.gauss(40, 10):.1f}"))
        results.append((f"town {town}", f"{1 - yes / 50:.2f}", f"{yes / 50:.2f}"))
    for name, rows in (("people.csv", people), ("results.csv", results)):
        with (place / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--"])
