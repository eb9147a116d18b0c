"""Work done ahead, on another core."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_MOST_WAITING = 2


def ahead(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Yield the results of `work` in order, those of the next items begun already.

    numpy and Arrow let other threads run while they work on long arrays. On a machine with one
    core nothing is done ahead. An exception of `work` is raised where its result would come.
    """
    if _cores() == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(1, "tracekit-ahead") as pool:
        waiting: deque[Future[_Result]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > _MOST_WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _cores() -> int:
    """Count the cores that this process may use; macOS does not say which those are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
