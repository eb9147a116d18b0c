"""The processes that a test started, and not those of what tests share."""

from collections.abc import Set as AbstractSet

import psutil


def running() -> frozenset[psutil.Process]:
    """Return all descendants of this process."""
    return frozenset(psutil.Process().children(recursive=True))


def started_since(before: AbstractSet[psutil.Process]) -> list[psutil.Process]:
    """Return the descendants since then, of whom zombies are still to be waited for.

    A browser or a database server that tests share may start a process of its own at any time.
    """
    return [process for process in running() - before if before.isdisjoint(process.parents())]
