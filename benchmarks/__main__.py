"""``python -m benchmarks [name ...]``: run benchmarks, else those of speed and memory, and show their rows.

A benchmark is the function ``run`` of the module of its name, in any of the folders, or a function in ``OTHERS``.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.rows import RESULTS, Row, as_table, describe_versions, write_whole

WHOLE_RUNS = [  # their rows are those of the last run; other benchmarks keep their own, cell by cell
    "step_time",
    "plain_loop",
    "peak",
    "time_to_accuracy",
    "chunked",
    "instance_memory",
    "several_processes",
    "alter_svm_speed",
    "classical_scale",
    "table_speed",
    "table_encoding",
    "start_up",
]
SPEED_AND_MEMORY = [*WHOLE_RUNS, "growth", "billion", "speed"]
OTHERS = {  # those that share a module with others
    "billion": ("speed.growth", "run_billion"),
    "combined_settings": ("settings.mnist_settings", "run_combined"),
    "dllp_settings": ("settings.mnist_settings", "run_dllp"),
    "first_weights_svhn": ("settings.first_weights", "run_svhn"),
    "tables_growing": ("speed.tables_larger_than_memory", "run_growing"),
    "tables_in_processes": ("speed.tables_larger_than_memory", "run_in_processes"),
    "llp_gan_settings": ("settings.mnist_settings", "run_llp_gan"),
}


def main(names: list[str]) -> None:
    runs = {name: find_run(name) for name in names or SPEED_AND_MEMORY}
    for name, run in runs.items():
        rows = run()
        Console().print(as_table(name, rows))
        if name in WHOLE_RUNS:
            lines = [json.dumps(row | describe_versions()) + "\n" for row in rows]
            write_whole(RESULTS / f"{name}.jsonl", "".join(lines))


def find_run(name: str) -> Callable[[], list[Row]]:
    """The function that runs a benchmark."""
    module, function = OTHERS.get(name) or (list_modules().get(name), "run")
    run = None if module is None else getattr(import_module(f"benchmarks.{module}"), function, None)
    if run is None:
        sys.exit(f"there is no benchmark {name!r}: give one of {', '.join(sorted({*list_modules(), *OTHERS}))}")
    return run


def list_modules() -> dict[str, str]:
    """The modules of all rooms, by the name of the file."""
    here = Path(__file__).parent
    files = [*here.glob("[a-z]*.py"), *here.glob("*/[a-z]*.py")]
    return {file.stem: ".".join(file.relative_to(here).with_suffix("").parts) for file in files}


if __name__ == "__main__":
    main(sys.argv[1:])
