"""The bandwidth of this machine's memory as its CPU reaches it: the triad of STREAM.

`a = b + s c` over three arrays that no cache holds moves 3 x 8 bytes an element, as McCalpin
counts it (STREAM, 1995). numpy makes it in two passes over blocks that stay in the cache between
them, so memory sees each array once. The reads of a write (write-allocate) are not counted.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

Values = NDArray[np.float64]

_BLOCK = 8192  # elements: three blocks of 64 KiB fit into a second-level cache
_SCALE = 3.0
_COUNTED = 3  # arrays that the triad reads or writes
_LEAST = 384 << 20
_TIMES_CACHE = 4  # STREAM's own rule
_UNITS = {"K": 10, "M": 20, "G": 30}
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Bandwidth:
    """The result of a measurement."""

    best: float  # the highest bandwidth of any pass, in bytes per second: the ceiling
    median: float  # the median of all passes
    size: int  # bytes of the three arrays together
    threads: int  # threads that shared the work
    passes: int  # how often it was done
    cache: int | None = None  # bytes of the last cache; None if it is not known

    @property
    def of_memory(self) -> bool | None:
        """Whether the arrays were too large for caches; None if it is not known."""
        if self.cache is None:
            return None
        return self.size >= _TIMES_CACHE * self.cache


def measure_bandwidth(
    size: int | None = None, *, passes: int = 7, threads: int | None = None
) -> Bandwidth:
    """Measure the memory bandwidth that all cores together reach; takes a second or a few.

    The three arrays together take `size` bytes; by default four times the last cache, at least
    384 MiB, but at most a quarter of the memory that is free. One more of the `passes` goes first,
    touches the pages and does not count. All cores of this process share the work by default.
    """
    threads = threads or usable_cores()
    cache = last_cache()
    free_bytes = psutil.virtual_memory().available
    wanted_size = max(_LEAST, _TIMES_CACHE * (cache or 0))
    size = size or min(wanted_size, free_bytes // 4)
    elements = max(threads, size // (_COUNTED * 8))
    result = np.full(elements, 0.0)
    added = np.full(elements, 1.0)
    scaled = np.full(elements, 2.0)
    exact_bounds = np.linspace(0, elements, threads + 1)
    bounds = exact_bounds.astype(int)
    parts = [slice(part_start, part_end) for part_start, part_end in pairwise(bounds)]

    def work(part: slice) -> None:
        triad(result[part], added[part], scaled[part])

    times: list[float] = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(passes + 1):
            start_time = time.perf_counter()
            list(pool.map(work, parts))
            times.append(time.perf_counter() - start_time)
    moved = _COUNTED * elements * 8
    rates = moved / np.array(times[1:])
    best_rate = float(rates.max())
    median_rate = float(np.median(rates))
    return Bandwidth(best_rate, median_rate, moved, threads, passes, cache)


def triad(result: Values, added: Values, scaled: Values, scale: float = _SCALE) -> None:
    """Put `added + scale * scaled` into `result`, block by block."""
    for start in range(0, result.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        np.multiply(scaled[block], scale, out=result[block])
        np.add(result[block], added[block], out=result[block])


def last_cache(caches: Path = _CACHES) -> int | None:
    """Return the bytes of the CPU's largest cache, by Linux; None if it is not known."""
    sizes: list[int] = []
    with suppress(OSError, ValueError, KeyError):
        for file in caches.glob("index*/size"):
            text = file.read_text().strip()
            number = int(text[:-1])
            unit_power = _UNITS[text[-1]]
            sizes.append(number << unit_power)
    return max(sizes, default=None)


def usable_cores() -> int:
    """Count the processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
