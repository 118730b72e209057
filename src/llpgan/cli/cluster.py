"""The workers of a training as tasks of a Ray cluster, instead of processes that torchrun starts."""

import os
import socket
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from llpgan.utils.workers import ADVICE

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
