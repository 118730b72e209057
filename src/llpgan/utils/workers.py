"""Processes that train one model together, on a cluster too, and a thread that reads ahead.

Each process has some of the bags, and they exchange sums over all of them.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread, main_thread
from typing import Any, Generic, Protocol, TypeVar, cast

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


def check_n_jobs(n_jobs: int) -> None:
    """Refuse a number of processes that joblib has no meaning for."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give at least 1, or -1 for one process per core")


def run_in_jobs(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_jobs: int
) -> Iterator[Result]:
    """Run a function on many arguments in processes of joblib; the results come in order, as soon as they can.

    Backends that cannot return single results, such as that of Ray, return all of them in the end.
    """
    import joblib

    backend, _ = joblib.parallel.get_active_backend()
    as_they_come = "generator" if backend.supports_return_generator else "list"
    tasks = (joblib.delayed(function)(*each) for each in arguments)
    return iter(joblib.Parallel(n_jobs=n_jobs, return_as=as_they_come, batch_size=1)(tasks))


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


T = TypeVar("T")
_END = object()  # after the last item
_LOOKS_AFTER = 0.05  # seconds, in which a reader whose results nobody wants any more sees that


def prefetch(items: Iterable[T], depth: int = 1) -> Generator[T, None, None]:
    """The items in their order; a thread makes up to ``depth`` of them ready ahead of the one that is asked for.

    An error of the items is raised where the item would have come. The thread ends when they are through, or when
    nobody asks for more: at the end of a ``for`` loop that is left, when the generator is closed, or when the main
    thread ends, which waits for it.

    >>> list(prefetch(range(4), depth=2))
    [0, 1, 2, 3]
    """
    if depth < 1:
        raise ValueError(f"depth is the number of items made ready ahead: at least 1, got {depth}")
    return _take(_Reader(items, depth))


def _take(reader: _Reader[T]) -> Generator[T, None, None]:
    reader.start()
    try:
        while (ready := reader.take()) is not _END:
            if isinstance(ready, _Raised):
                raise ready.error
            yield ready
            del ready  # so that the item before is gone while the next one is made
    finally:
        reader.stop()


class _Raised:
    """In place of an item that could not be made."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Reader(Thread, Generic[T]):
    """Goes through the items until they end or nobody wants them."""

    def __init__(self, items: Iterable[T], depth: int) -> None:
        super().__init__(name="prefetched", daemon=False)  # a daemon could be cut off in compiled code: an abort
        self.items = items
        self.ready: Queue[Any] = Queue(depth)
        self.unwanted = Event()

    def run(self) -> None:
        """What the thread does."""
        try:
            for item in self.items:
                if not self._put(item):
                    return
        except BaseException as error:
            self._put(_Raised(error))
        else:
            self._put(_END)

    def take(self) -> Any:
        """Wait for the next item; a thread that has ended because the main thread did has none."""
        while True:
            has_ended = not self.is_alive()  # before the look: it may put its last item meanwhile
            try:
                return self.ready.get(timeout=_LOOKS_AFTER)
            except Empty:
                if has_ended:
                    raise RuntimeError("the thread that reads ahead has ended with the main thread") from None

    def stop(self) -> None:
        """End the thread, and wait for it: what it reads may be closed next."""
        self.unwanted.set()
        try:
            while True:
                self.ready.get_nowait()
        except Empty:
            self.join()

    def _put(self, item: object) -> bool:
        """Hand over an item; return False if the consumer has stopped."""
        while not self.unwanted.is_set() and main_thread().is_alive():
            try:
                self.ready.put(item, timeout=_LOOKS_AFTER)
            except Full:
                continue
            return True
        return False


_TIME_FOR_REASONS = 10.0  # seconds after the first failure, in which others may say more about it
_TIME_TO_ANSWER = 20.0  # seconds


def run_on_cluster(
    command: Callable[..., Any], arguments: dict[str, Any], address: str, workers: int | None
) -> None:
    """Run a command in several tasks of a Ray cluster, which train one model together.

    Parameters
    ----------
    command : callable
        The command, which finds out from the environment which of the workers it is.
    arguments : dict
        Its arguments; paths are those of the working folder, which all machines must have.
    address : str
        The address of the cluster. "auto" means the one that this machine belongs to, or a new one on it.
    workers : int, default=None
        How many tasks. None means one for each CPU of the cluster.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.
    RuntimeError
        If a worker was lost.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be a number from 1 on, got {workers}")
    refuse_silent_cluster(address)
    try:
        ray: Any = import_module("ray")  # whose types differ between versions
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--cluster needs Ray: pip install 'llpgan[ray]'") from error
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    connected = ray.is_initialized()
    if not connected:
        ray.init(address=None if address == "auto" else address, log_to_driver=True, logging_level="warning")
    try:
        free = int(ray.cluster_resources().get("CPU", 1))
        count = workers or free
        if not 0 < count <= free:
            raise ValueError(f"the cluster has {free} CPUs: give from 1 to {free} workers, not {count} (workers)")
        host = ray.util.get_node_ip_address()
        store = TCPStore(
            host, 0, is_master=True, wait_for_workers=False
        )  # a port that is free, and outlives workers
        task = ray.remote(num_cpus=1, max_calls=1, max_retries=0)(_run_worker)
        tasks = [
            task.remote(command, arguments, str(Path.cwd()), _make_environment(rank, count, host, store.port))
            for rank in range(count)
        ]
        _wait(ray, tasks)
    finally:
        if not connected:
            ray.shutdown()


def refuse_silent_cluster(address: str) -> None:
    """Refuse an address where nobody answers, which Ray tries again and again for many minutes.

    >>> refuse_silent_cluster("auto")
    >>> refuse_silent_cluster("head")
    Traceback (most recent call last):
        ...
    ValueError: 'head' is no address of a Ray cluster (cluster): auto, or host:port, would be right
    """
    if address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(
            f"{address!r} is no address of a Ray cluster (cluster): auto, or host:port, would be right"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_TIME_TO_ANSWER).close()
    except OSError as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address} (cluster), {error.strerror or error}: start one (ray start)"
        ) from error


def _make_environment(rank: int, count: int, host: str, port: int) -> dict[str, str]:
    """What torchrun would set for the only worker of a machine."""
    return {
        "RANK": str(rank),
        "GROUP_RANK": str(rank),
        "WORLD_SIZE": str(count),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "TORCHELASTIC_RUN_ID": "llpgan",
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # that of the process which started the tasks
    }


def _run_worker(
    command: Callable[..., Any], arguments: dict[str, Any], folder: str, environment: dict[str, str]
) -> None:
    """One worker, in a process that ends with it."""
    os.environ.update(environment)
    os.chdir(folder)
    command(**arguments)


def _wait(ray: Any, tasks: list[Any]) -> None:
    """Wait for all tasks; if one fails, end the others, and raise what is known about the reason."""
    failed: dict[int, Exception] = {}
    running, deadline = list(tasks), float("inf")
    while running and time.monotonic() < deadline:
        done, running = ray.wait(running, timeout=None if not failed else 1.0)
        for task in done:
            try:
                ray.get(task)
            except Exception as error:
                failed[tasks.index(task)] = error
                deadline = min(deadline, time.monotonic() + _TIME_FOR_REASONS)
    for task in running:
        ray.cancel(task, force=True)
    if not failed:
        return
    causes = {rank: getattr(error, "cause", None) or error for rank, error in failed.items()}
    for cause in causes.values():
        if isinstance(cause, ValueError | TypeError | OSError) and not isinstance(cause, ConnectionError):
            raise cause
    lost = [rank for rank, cause in causes.items() if isinstance(cause, ray.exceptions.WorkerCrashedError)]
    rank = (lost or list(causes))[0]
    reason = str(causes[rank]).strip().splitlines()[0]
    raise RuntimeError(f"worker {rank} of {len(tasks)} was lost ({reason}): {ADVICE}")
