import gc
import subprocess
import sys
import threading
import time
import weakref

import pytest

from llpgan.utils.workers import prefetch


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "prefetched"]


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_items_come_in_their_order(depth):
    assert list(prefetch(range(50), depth)) == list(range(50))
    assert list(prefetch([], depth)) == []
    assert readers() == []


def test_none_and_errors_are_items_too():
    items = [None, ValueError("an item"), None]
    assert list(prefetch(items)) == items


def test_the_next_item_is_made_while_the_present_one_is_worked_on():
    made, asked = [], threading.Event()

    def items():
        for item in range(10):
            made.append(item)
            if item == 2:
                asked.set()
            yield item

    taken = prefetch(items(), depth=1)
    assert next(taken) == 0
    assert asked.wait(5)  # 0 is taken, 1 is ready, 2 waits for a place
    time.sleep(0.05)
    assert made == [0, 1, 2]
    taken.close()
    assert readers() == []


def test_an_error_is_raised_where_the_item_would_have_come():
    def items():
        yield 1
        raise OSError("the disk is gone")

    taken = prefetch(items())
    assert next(taken) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(taken)
    assert readers() == []


def test_the_thread_ends_when_the_consumer_stops():
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    for item in prefetch(items(), depth=3):
        assert item == 0
        break
    gc.collect()
    assert readers() == []
    assert closed.wait(5)


LEFT = """
import atexit, itertools, sys, threading
from llpgan.utils.workers import prefetch

atexit.register(lambda: print([thread.name for thread in threading.enumerate()]))
sys.kept = prefetch(itertools.count())  # until the very end, as the traceback of an error keeps it
next(sys.kept)
"""


def test_a_reader_that_is_left_behind_ends_before_the_process_does():
    done = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['MainThread']\n", "")


def test_nothing_starts_before_the_first_item_is_asked_for():
    taken = prefetch(iter(lambda: pytest.fail("asked too early"), None))
    assert readers() == []
    taken.close()


def test_an_item_is_not_kept():
    class Item:
        pass

    taken = prefetch((Item() for _ in range(3)), depth=1)
    first = next(taken)
    gone = weakref.ref(first)
    del first
    next(taken)
    gc.collect()
    assert gone() is None
    taken.close()


def test_a_depth_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        prefetch([], 0)


NESTED = """
import time
from llpgan.utils.workers import prefetch

def read():
    for i in range(99):
        yield i
        time.sleep(0.5)  # in which the main thread ends

items = prefetch(iter(prefetch(read())))
next(items)
"""


def test_a_process_ends_while_one_reader_waits_for_another():
    assert subprocess.run([sys.executable, "-c", NESTED], timeout=300, check=False).returncode == 0
