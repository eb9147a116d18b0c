"""The roofline: the least time for bytes and operations, and the share of it that was reached.

A kernel that moves B bytes and takes F operations needs at least max(B / bandwidth, F / rate)
seconds (Williams, Waterman and Patterson 2009). Bytes are those that memory must deliver, each
counted once; seconds, bytes, operations and their rates are in base units throughout.
"""

from dataclasses import dataclass
from enum import StrEnum

from tracekit.machine.chips import Chip, Figure


class Limit(StrEnum):
    """The bound of a kernel from below."""

    MEMORY = "memory"
    ARITHMETIC = "arithmetic"


@dataclass(frozen=True)
class Bound:
    """The least time that a chip needs, in seconds, and the resource that sets it.

    It is `partial` if only one of the two roofs is known, so that the true bound may be higher.
    """

    seconds: float
    limit: Limit
    partial: bool = False


@dataclass(frozen=True)
class Reached:
    """The bandwidth that was reached, in bytes per second, and its share of the chip's.

    `share` is None if the chip's is not known, and if memory cannot have delivered the
    bytes: then they were `cached`.
    """

    bandwidth: float
    share: float | None
    cached: bool = False


def intensity(flops: float, moved: float) -> float:
    """Return operations for each byte that memory must move."""
    return flops / moved


def ridge_of(chip: Chip) -> Figure:
    """Return the intensity, in float32 operations a byte, above which arithmetic is the limit.

    Its confidence is that of its weaker source.
    """
    bandwidth = chip.bandwidth
    rate = chip.fp32
    if bandwidth.value is None:
        return bandwidth
    if rate.value is None:
        return rate
    return Figure(
        rate.value / bandwidth.value,
        "float32 rate / bandwidth; below it memory is the limit",
        rate.confidence,
    )


def bound(
    flops: float, moved: float, *, bandwidth: float | None, rate: float | None = None
) -> Bound:
    """Return the least time for these operations and bytes moved.

    `bandwidth` is bytes, `rate` operations per second; None if it is not known, but not both.
    """
    costs: list[tuple[float, Limit]] = []
    if bandwidth is not None:
        costs.append((moved / bandwidth, Limit.MEMORY))
    if rate is not None:
        costs.append((flops / rate, Limit.ARITHMETIC))
    seconds, limit = max(costs, key=lambda cost: cost[0])
    return Bound(seconds, limit, partial=len(costs) == 1)


def compute_reached(moved: float, seconds: float, *, bandwidth: float | None) -> Reached:
    """Return the bandwidth reached by moving `moved` bytes in `seconds`.

    `bandwidth` is that of the chip's memory in bytes per second; None if it is not known.
    """
    rate = moved / seconds
    if bandwidth is None:
        return Reached(rate, None)
    if rate > bandwidth:
        return Reached(rate, None, cached=True)
    return Reached(rate, rate / bandwidth)
