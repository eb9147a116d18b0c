"""The processes that a test started, and not those of what tests share."""

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress

import psutil


def running() -> frozenset[psutil.Process]:
    return frozenset(psutil.Process().children(recursive=True))


def started_since(earlier_processes: AbstractSet[psutil.Process]) -> list[psutil.Process]:
    """Return the descendants since then, of whom zombies are still to be waited for.

    A browser or a database server that tests share may start a process of its own at any time.
    """
    return [
        process
        for process in running() - earlier_processes
        if _descends_from_none_of(process, earlier_processes)
    ]


def _descends_from_none_of(
    process: psutil.Process, earlier_processes: AbstractSet[psutil.Process]
) -> bool:
    """Tell whether a process that still exists has none of these as an ancestor."""
    try:
        return earlier_processes.isdisjoint(process.parents())
    except psutil.NoSuchProcess:
        return False  # it ended, and was waited for, since the list was made


def until_gone(pid: int) -> None:
    """Wait for the end of a process that need not be ours; a zombie has ended."""
    with suppress(psutil.NoSuchProcess):
        process, deadline = psutil.Process(pid), time.monotonic() + 60
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, f"{process} lives"
            time.sleep(0.01)


def until(come: Callable[[], object], description: str = "") -> None:
    """Wait until something is so; fail after a minute."""
    deadline = time.monotonic() + 60
    while not come():
        assert time.monotonic() < deadline, f"it did not come to this: {description}"
        time.sleep(0.02)
