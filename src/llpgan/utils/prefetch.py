"""Items that a thread makes ready while the one before is in use."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from queue import Empty, Full, Queue
from threading import Event, Thread, main_thread
from typing import Any, Generic, TypeVar

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
