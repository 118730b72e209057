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
    return _status("VmHWM")


def bytes_now() -> int:
    """What the process has in memory."""
    return _status("VmRSS")


def forget_peak() -> None:
    """From now on the peak is that of what comes: a job's, without that of making its data."""
    Path("/proc/self/clear_refs").write_text("5")


def in_a_new_process(measure: Callable[..., Result], *given: Any) -> Result:
    """What a function gives in a process that has done nothing before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(measure, *given).result()


def _status(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError("this benchmark measures memory as Linux tells it")
    return int(found[1]) * 1024
