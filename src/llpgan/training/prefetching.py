"""What comes next is made ready in the background, while the present is worked on."""

from collections.abc import Generator, Iterable
from queue import Empty, Full, Queue
from threading import Event, Thread, main_thread
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")
_LOOKS_AFTER = 0.05  # seconds, in which a reader whose results nobody wants any more sees that


def prefetched(items: Iterable[T], depth: int = 1) -> Generator[T, None, None]:
    """The items in their order; a thread makes up to ``depth`` of them ready ahead of the one that is asked for.

    An error of the items is raised where the item would have come. The thread ends when they are through, or when
    nobody asks for more: at the end of a ``for`` loop that is left, when the generator is closed, or when the main
    thread ends, which waits for it.

    >>> list(prefetched(range(4), depth=2))
    [0, 1, 2, 3]
    """
    if depth < 1:
        raise ValueError(f"depth is the number of items made ready ahead: at least 1, got {depth}")
    return _taken(_Reader(items, depth))


def read_ahead(items: Iterable[T], source: object) -> Iterable[T]:
    """The items prefetched, if they are read from a file; what is in memory is there at once."""
    in_memory = isinstance(source, np.ndarray) and not isinstance(source, np.memmap)
    return items if in_memory else prefetched(items)


def _taken(reader: "_Reader[T]") -> Generator[T, None, None]:
    reader.start()
    try:
        while (ready := reader.ready.get()) is not _END:
            if isinstance(ready, _Raised):
                raise ready.error
            yield ready  # type: ignore[misc]
            del ready  # so that the item before is gone while the next one is made
    finally:
        reader.stop()


class _End:
    """After the last item."""


class _Raised:
    """In place of an item that could not be made."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


_END = _End()


class _Reader(Thread, Generic[T]):
    """Goes through the items until they end or nobody wants them."""

    def __init__(self, items: Iterable[T], depth: int) -> None:
        super().__init__(name="prefetched", daemon=False)  # a daemon could be cut off in compiled code: an abort
        self.items = items
        self.ready: Queue[T | _End | _Raised] = Queue(depth)
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

    def stop(self) -> None:
        """End the thread, and wait for it: what it reads may be closed next."""
        self.unwanted.set()
        try:
            while True:
                self.ready.get_nowait()
        except Empty:
            self.join()

    def _put(self, item: T | _End | _Raised) -> bool:
        """Whether it was wanted."""
        while not self.unwanted.is_set() and main_thread().is_alive():
            try:
                self.ready.put(item, timeout=_LOOKS_AFTER)
            except Full:
                continue
            return True
        return False
