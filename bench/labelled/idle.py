"""Why the GPU had nothing of the target to do: what the model itself knows of every gap."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from labelled.world import Busy, Interval, World

SHORTEST = 10_000
"""Shorter gaps, in ns, are launches and not idle time."""

_OF_HOST = {
    "build": "host-late",
    "encode": "host-late",
    "wire": "driver",
    "compile": "compile",
    "wait": "readback",
    "read": "host-late",  # what the host does with a result once it has it
}


class Idle(NamedTuple):
    """A piece of a gap that has one cause."""

    start: int
    end: int
    cause: str


def idle_pieces(world: World, shortest: int = SHORTEST) -> list[Idle]:
    """Cut the gaps of the steady phase, lead-in and tail included, into pieces of one cause."""
    begin, end = world.steady
    host = _Host(world.host, tells=world.setup.tells)
    others = [one for one in world.others if one.channel == "Compute"]
    found: list[Idle] = []
    free, buffer = begin, 0
    for one in world.intervals:
        if one.start - free >= shortest and one.start > begin and free < end:
            # A command buffer that does not begin is late; one that pauses, nothing explains.
            why = "unattributed" if one.buffer == buffer else "start-latency"
            found += _cut(free, min(one.start, end), one, host, others, why)
        free, buffer = max(free, one.end), one.buffer
    if end - free >= shortest:
        found += host.during(free, end)
    return [one for one in found if one.end > one.start]


def _cut(  # noqa: PLR0917  a gap, and all that may explain it
    start: int, end: int, nexts: Interval, host: "_Host", others: list[Interval], held_by: str
) -> Iterator[Idle]:
    """Follow the next interval's way to the GPU: the host, the driver, the start."""
    committed = _between(nexts.committed, start, end)
    processed = _between(nexts.processed, committed, end)
    ready = _between(nexts.ready, processed, end)
    yield from host.during(start, committed)
    yield Idle(committed, processed, "driver")
    yield Idle(processed, ready, "start-latency")
    at = ready
    for other in others[_first(others, ready) :]:
        if other.start >= end:
            break
        if other.end > at:
            yield Idle(at, _between(other.start, at, end), "start-latency")
            yield Idle(_between(other.start, at, end), min(other.end, end), "other-process")
            at = min(other.end, end)
    held = min(nexts.held, end - at)
    yield Idle(at, end - held, "start-latency")
    yield Idle(end - held, end, held_by)


class _Host:
    """What the host's thread did, by time."""

    def __init__(self, busy: list[Busy], *, tells: bool) -> None:
        self._busy = busy
        self._causes = _OF_HOST | ({"read": "readback"} if tells else {})
        self._starts = [one.start for one in busy]

    def during(self, start: int, end: int) -> Iterator[Idle]:
        """Yield what kept the host from submitting, piece by piece."""
        at = max(0, bisect_right(self._starts, start) - 1)
        while start < end:
            one = self._busy[at] if at < len(self._busy) else Busy(start, end, "build")
            after = self._starts[at + 1] if at + 1 < len(self._busy) else end
            stop = min(end, max(after, one.end))
            yield Idle(start, stop, self._causes[one.kind])
            start, at = stop, at + 1


def _between(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def _first(others: list[Interval], time: int) -> int:
    """Return the place of the first that may still run at that time."""
    return max(0, bisect_right(others, time, key=lambda one: one.start) - 1)
