"""Numbers as bytes that deflate well: ticks for times, distances for what grows, three digits.

A column holds unsigned integers of 1 … 8 bytes: first the lowest byte of every value, then the
next byte of every value, and so on; equal bytes stand together and deflate well.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

STEPS = (1 << 16) - 1
_DIGITS, _LEAST = 900, 100


@dataclass(frozen=True)
class Tick:
    """The step of a clock, in ns, as a fraction: the k-th tick is at floor(k · over / under)."""

    over: int = 1
    under: int = 1

    def count(self, times: Times) -> Times:
        """Return the first tick that is not before each time."""
        return -(-times * self.under // self.over)

    def time(self, ticks: Times) -> Times:
        """Return when each tick is."""
        return ticks * self.over // self.under

    def nearest(self, durations: Times) -> Times:
        """Return how many ticks each duration takes, to the nearest."""
        return (durations * self.under + self.over // 2) // self.over

    def tells(self, times: Times) -> bool:
        """Tell whether all times can be told in ticks, to the nanosecond."""
        return bool((self.time(self.count(times)) == times).all())


NANOSECOND = Tick()
# The clock of Apple silicon runs at 24 MHz; a trace tells its ticks in ns, rounded down.
_CLOCKS = (Tick(125, 3), NANOSECOND)


def clock(*times: Times) -> Tick:
    """Return the coarsest known clock that tells all times without loss."""
    return next(tick for tick in _CLOCKS if all(tick.tells(some) for some in times))


def planes(values: Times) -> tuple[int, bytes]:
    """Return how many bytes wide a column is, and its bytes, plane by plane.

    Raises:
        ValueError: A value is negative.
    """
    if values.size and int(values.min()) < 0:
        raise ValueError(f"a packed column holds no negative values, but {values.min()}")
    highest = int(values.max()) if values.size else 0
    width = max(1, (highest.bit_length() + 7) // 8)
    octets = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    return width, octets[:, :width].T.tobytes()


def pauses(starts: Times, ends: Times, lanes: tuple[int, ...], begin: int) -> Times:
    """Return how long after the end before it in its lane each interval starts."""
    before = np.empty_like(starts)
    before[1:] = ends[:-1]
    firsts = [0, *accumulate(lanes)][: len(lanes)]
    before[firsts] = begin
    return starts - before


def unlike(values: Times, codes: Times) -> Times:
    """Return how each value differs from the one before it of the same code, folded."""
    order = np.argsort(codes, kind="stable")
    ordered, groups = values[order], codes[order]
    before = np.zeros_like(values)
    before[1:] = np.where(groups[1:] == groups[:-1], ordered[:-1], 0)
    found = np.empty_like(values)
    found[order] = ordered - before
    return folded(found)


def folded(values: Times) -> Times:
    """Return values without a sign: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4."""
    return np.where(values < 0, -2 * values - 1, 2 * values)


def three_digits(values: Times) -> Times:
    """Return codes of numbers from 0 on, of which three digits are kept, as the page shows them.

    Below 1000 a code is the number; from there each power of ten has 900 codes.
    """
    power = np.zeros(values.size, np.int64)
    left = values // 1000
    while (left > 0).any():
        power += left > 0
        left //= 10
    rounded = (values + 10**power // 2) // 10**power
    return np.where(power > 0, 1000 + (power - 1) * _DIGITS + rounded - _LEAST, values)


def steps(values: NDArray[np.float64], low: float, high: float) -> Times:
    """Return the values as steps of 0 … STEPS between the lowest and the highest."""
    span = high - low
    return np.round((values - low) / (span or 1) * STEPS).astype(np.int64)
