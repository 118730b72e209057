"""Processes that train one model together: each has some of the bags, and they exchange sums over all of them."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import cache, wraps
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from llpgan.utils.arrays import Array

ROWS_A_BLOCK = 4096  # about as many as fit into the caches of a processor, for some hundred scores each
Item = TypeVar("Item")
Result = TypeVar("Result")
Fit = TypeVar("Fit", bound=Callable[..., Any])
_LONGEST_WAIT = timedelta(minutes=10)  # for a worker that neither answers nor closes its connection
_TIME_TO_REPORT = 1.0  # seconds in which the workers that are left say so


def processes() -> tuple[int, int]:
    """How many processes were started together, and how many of them on this machine."""
    return int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def is_first_process() -> bool:
    """Whether this process is the one of them that writes files and prints messages."""
    return int(os.environ.get("RANK", 0)) == 0


class Workers:
    """The processes that train a model together, seen from one of them. This class is for a single process.

    All workers must call the same methods in the same order, each of which then returns the same on all.

    Attributes
    ----------
    count : int
        How many there are.
    rank : int
        The number of this one, from 0.
    """

    count = 1
    rank = 0

    def share(self, sizes: Array) -> slice:
        """The bags of this worker: some that follow each other, with about the same number of rows for each.

        >>> Workers().share(np.array([3, 1, 2]))
        slice(0, 3, None)
        """
        return slice(0, len(sizes))

    def sum(self, *values: Any) -> tuple[Any, ...]:
        """Numbers and arrays, each replaced by its sum over all workers."""
        return values

    def largest(self, values: Array) -> Array:
        """The largest of each number over all workers."""
        return values

    def gather(self, rows: Array, to: int | None = None) -> Array:
        """The rows of all workers, those of the first worker first; with ``to``, only that worker has them."""
        return rows

    def from_first(self, make: Callable[[], Result]) -> Result:
        """What the first worker makes."""
        return make()

    def is_late(self, ready: float, deadline: float) -> bool:
        """Whether what will be ready at a time misses a deadline, by the clock of the first worker."""
        return bool(np.isfinite(deadline)) and self.from_first(lambda: ready > deadline)

    def divide(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What becomes of each item; the worker ``i % count`` does the work of item i."""
        return [work(item) for item in items]


class GlooWorkers(Workers):
    """Workers that torchrun, or anything else that sets its environment variables, has started."""

    def __init__(self) -> None:
        import torch.distributed as dist

        if not dist.is_initialized():  # with a backend for each device, which a network may need later
            dist.init_process_group()
        leave_at_exit()
        self._dist, self._group = dist, dist.new_group(backend="gloo", timeout=_LONGEST_WAIT)
        self.count, self.rank = dist.get_world_size(), dist.get_rank()

    def share(self, sizes: Array) -> slice:
        """The bags of this worker."""
        bounds = divide_bags(sizes, self.count)
        return slice(bounds[self.rank], bounds[self.rank + 1])

    def sum(self, *values: Any) -> tuple[Any, ...]:
        """In one message."""
        arrays = [np.asarray(value, np.float64) for value in values]
        flat = self._reduce(np.concatenate([array.ravel() for array in arrays]), self._dist.ReduceOp.SUM)
        parts = np.split(flat, np.cumsum([array.size for array in arrays])[:-1])
        totals = [part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)]
        return tuple(total if total.ndim else float(total) for total in totals)

    def largest(self, values: Array) -> Array:
        """The largest of each number over all workers."""
        return self._reduce(np.array(values, np.float64), self._dist.ReduceOp.MAX)

    def gather(self, rows: Array, to: int | None = None) -> Array:
        """The rows of all workers, padded to one length on their way."""
        import torch

        lengths = self.largest(np.where(np.arange(self.count) == self.rank, len(rows), 0)).astype(int)
        row_bytes = rows.dtype.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
        padded = np.zeros((int(lengths.max()), row_bytes), np.uint8)
        padded[: len(rows)] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), row_bytes)
        mine = torch.from_numpy(padded)
        parts = [torch.empty_like(mine) for _ in range(self.count)] if to in (None, self.rank) else None
        if to is None:
            self._dist.all_gather(parts, mine, group=self._group)
        else:
            self._dist.gather(mine, parts, dst=to, group=self._group)
        if parts is None:
            return rows[:0]
        bytes_of_rows = np.concatenate([part.numpy()[:n] for part, n in zip(parts, lengths, strict=True)])
        return bytes_of_rows.reshape(-1).view(rows.dtype).reshape(-1, *rows.shape[1:])

    def from_first(self, make: Callable[[], Result]) -> Result:
        """What the first worker makes, sent to all."""
        content = [make() if self.rank == 0 else None]
        self._dist.broadcast_object_list(content, src=0, group=self._group)
        return content[0]  # type: ignore[return-value]

    def divide(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Each worker has the results of all."""
        parts: list[Any] = [None] * self.count
        self._dist.all_gather_object(
            parts, [work(item) for item in items[self.rank :: self.count]], group=self._group
        )
        return [parts[place % self.count][place // self.count] for place in range(len(items))]

    def _reduce(self, values: Array, operation: Any) -> Array:
        import torch

        self._dist.all_reduce(torch.from_numpy(values), operation, group=self._group)
        return values


def divide_bags(sizes: Array, count: int) -> list[int]:
    """Where the bags of each of several workers start, and where the last ones end; each has at least one bag.

    Blocks are not divided if there are enough of them, since some sums end when all bags of a block are done.

    >>> divide_bags(np.array([1, 1, 9, 1]), 3)
    [0, 2, 3, 4]
    >>> divide_bags(np.array([4000, 96, 1000, 1000]), 2)
    [0, 2, 4]
    """
    n_bags = len(sizes)
    if n_bags < count:
        raise ValueError(f"{n_bags} bags cannot be divided among {count} processes: start at most {n_bags}")
    ends = np.cumsum(sizes)
    blocks = np.flatnonzero(np.diff((ends - 1) // ROWS_A_BLOCK, prepend=-1))
    if count <= len(blocks) < n_bags:
        bounds = divide_bags(np.add.reduceat(sizes, blocks), count)
        return [int(np.append(blocks, n_bags)[bound]) for bound in bounds]
    wanted = np.searchsorted(ends - sizes / 2, ends[-1] * np.arange(1, count) / count)
    order = np.arange(count - 1)
    starts = np.maximum(np.maximum.accumulate(wanted - order), 1) + order
    return [0, *np.minimum(starts, n_bags - count + 1 + order).tolist(), n_bags]


_ALONE = Workers()
_together: ContextVar[Workers] = ContextVar("workers", default=_ALONE)
_connect = cache(GlooWorkers)


@cache
def leave_at_exit() -> None:
    """End connections to other processes before Python ends: a thread of theirs would abort the process."""
    import torch.distributed as dist

    atexit.register(lambda: dist.is_initialized() and dist.destroy_process_group())


def find_workers() -> Workers:
    """The workers that train the present model; a single one outside of a training that was started in several."""
    return _together.get()


def train_together(fit: Fit) -> Fit:
    """Decorate a ``fit_bags`` that divides its bags among all processes that were started together."""

    @wraps(fit)
    def fit_together(*arguments: Any, **options: Any) -> Any:
        if processes()[0] == 1 or find_workers() is not _ALONE:
            return fit(*arguments, **options)
        workers = _connect()
        token = _together.set(workers)
        try:
            with explain_lost_workers(workers, ADVICE):
                return fit(*arguments, **options)
        finally:
            _together.reset(token)

    return cast(Fit, fit_together)


def refuse_processes(method: str) -> None:
    """Refuse several processes for a method that would train the whole model in each of them.

    The first process raises an error; the others end without a message, since theirs would be the same.
    """
    count = processes()[0]
    if count == 1 or find_workers() is not _ALONE:
        return
    if not is_first_process():
        sys.exit(1)
    raise ValueError(
        f"{method} trains in one process, but {count} were started, which would all train the same model: start "
        "it without torchrun; AutoLLP, BagBoosting, BagLogistic, MeanMap and the methods with a network divide "
        "the work"
    )


def refuse_torchrun(command: str, advice: str) -> None:
    """Refuse several processes for a command that would do all of its work in each, and write the same files."""
    count = processes()[0]
    if count == 1:
        return
    if not is_first_process():
        sys.exit(1)
    raise ValueError(
        f"llpgan {command} runs in one process, but {count} were started, each of which would do all of the work: "
        f"start it without torchrun{advice}"
    )


ADVICE = "start the same command again; with the same random_state it gives the same model"


class Member(Protocol):
    """One of several processes: its number, and how many there are."""

    count: int
    rank: int


@contextmanager
def explain_lost_workers(worker: Member, advice: str) -> Iterator[None]:
    """A broken connection means that another worker is gone: name it, and say what to do."""
    try:
        yield
    except RuntimeError as error:
        if worker.count == 1 or not is_lost_connection(error):
            raise
        lost = find_lost(worker)
        raise ConnectionError(
            f"process {worker.rank} of {worker.count} lost {lost}, which was killed or failed: {advice}"
        ) from error


def is_lost_connection(error: RuntimeError) -> bool:
    """Whether an error of torch's is about a connection that broke."""
    from torch.distributed import DistError

    words = ("gloo", "nccl", "connection", "peer", "socket", "timed out")
    return isinstance(error, DistError) or any(word in str(error).lower() for word in words)


def find_lost(worker: Member) -> str:
    """Name the processes that do not report within a second that they have lost others."""
    import torch.distributed as dist

    try:
        store = dist.distributed_c10d._get_default_store()
        store.set(f"llpgan {worker.rank}", "here")
        time.sleep(_TIME_TO_REPORT)
        lost = [str(rank) for rank in range(worker.count) if not store.check([f"llpgan {rank}"])]
    except (RuntimeError, ValueError):  # the store was in the process that is lost, or there is none
        return "another process"
    return f"process {', '.join(lost)}" if lost else "another process"
