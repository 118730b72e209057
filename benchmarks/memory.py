"""The most memory that this process has had, and work in processes of its own."""

import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")


def peak_bytes() -> int:
    """Linux's high-water mark; getrusage's peak would include the parent's, from before a new process began."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError("no high-water mark of memory: this benchmark needs Linux")
    return int(found[1]) * 1024


def in_a_new_process(measure: Callable[..., Result], *given: Any) -> Result:
    """What a function gives in a process that has done nothing before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(measure, *given).result()
