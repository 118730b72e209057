"""Data folders are named through the environment alone, so that a test reads nothing that a user has not named."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_test_or_benchmark_names_a_folder_of_data():
    for file in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]:
        if file != Path(__file__):
            assert not re.search(r"shared.{1,6}data|/work/", file.read_text()), file
