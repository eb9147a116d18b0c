"""Percentiles of many groups at once, without a loop over the groups."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_BITS = 63


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of values, ascending by `codes`: how many there are, their sum, their percentiles.

    `percentiles` has a row for each group and a column for each percentile asked for.
    """

    codes: Integers
    counts: Integers
    totals: Integers
    percentiles: NDArray[np.float64]


def grouped(codes: Integers, values: Integers, percents: Sequence[float]) -> Groups:
    """Group `values` by `codes`, and return what numpy.percentile would for each group.

    Args:
        codes: The group of each value, 0 or more; numbers may be missing.
        values: As many integers.
        percents: 0 … 100 each. Between two ranks a percentile is linear.
    """
    codes, values = _ordered(codes, values)
    starts = np.flatnonzero(np.concatenate((codes[:1] >= 0, codes[1:] != codes[:-1])))
    counts = np.diff(np.append(starts, codes.size))
    totals = np.add.reduceat(values, starts) if starts.size else values
    shares = np.asarray(percents, np.float64) / 100
    ranks = (counts - 1)[:, np.newaxis] * shares
    below = np.floor(ranks).astype(np.int64)
    lower = values[starts[:, np.newaxis] + below]
    upper = values[starts[:, np.newaxis] + np.ceil(ranks).astype(np.int64)]
    return Groups(codes[starts], counts, totals, _between(lower, upper, ranks - below))


def _ordered(codes: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Order by code and then by value: one sort of both in one number, where they fit."""
    if codes.size == 0:
        return codes, values
    least = int(values.min())
    bits = (int(values.max()) - least).bit_length()
    if bits + int(codes.max()).bit_length() > _BITS:
        order = np.lexsort((values, codes))
        return codes[order], values[order]
    both = np.sort((codes << bits) | (values - least))
    return both >> bits, (both & ((1 << bits) - 1)) + least


def _between(lower: Integers, upper: Integers, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate as numpy does, from the nearer of both sides."""
    apart = upper - lower
    near_lower, near_upper = lower + apart * share, upper - apart * (1 - share)
    return np.where(share < 0.5, near_lower, near_upper)  # noqa: PLR2004  # the middle
