"""Why the GPU had nothing of the target to do: what the model itself knows of every gap."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from labelled.setup import MICROSECOND
from labelled.world import Busy, Interval, World

_LATE = 100 * MICROSECOND
_LONG = 200 * MICROSECOND
_OF_HOST = {"wire": "wiring", "compile": "compile"}


class Idle(NamedTuple):
    """A piece of a gap that has one cause."""

    start: int
    end: int
    cause: str


def idle_pieces(world: World, shortest: int = 1) -> list[Idle]:
    """Cut the gaps of the steady phase, lead-in and tail included, into pieces of one cause."""
    begin, end = world.steady
    life = _Life(world)
    found: list[Idle] = []
    free, buffer = begin, 0
    for one in world.intervals:
        if one.start - free >= shortest and one.start > begin and free < end:
            gap = free, min(one.start, end)
            if one.buffer == buffer:
                found += _running(*gap, life.others, "between-encoders")
            elif one.committed <= free:
                found += _queued(*gap, one, life, "between-buffers")
            else:
                found += _empty(*gap, one, life)
        free, buffer = max(free, one.end), one.buffer
    if end - free >= shortest:
        found += life.host(free, end, "host-late")
    return [one for one in found if one.end > one.start]


def _empty(start: int, end: int, nexts: Interval, life: "_Life") -> Iterator[Idle]:
    """Follow the next interval's way to the GPU, on which the host was what it waited for."""
    rest = "after-wait" if life.begun[nexts.buffer] >= life.reported_before(nexts) else "encoding"
    committed = min(max(nexts.committed, start), end)
    yield from life.host(start, committed, rest)
    way = end - committed
    if way > _LONG and 2 * way > end - start:
        yield from _queued(committed, end, nexts, life, "late-start")
    else:
        yield from _running(committed, end, life.others, rest)


def _queued(start: int, end: int, nexts: Interval, life: "_Life", rest: str) -> Iterator[Idle]:
    """Follow the next interval from its commit on: the driver, other processes, the start."""
    processed = min(max(nexts.processed, start), end)
    pieces = list(_running(processed, end, life.others, rest))
    if sum(one.end - one.start for one in pieces if one.cause == rest) > _LATE:
        pieces = [one._replace(cause="late-start") if one.cause == rest else one for one in pieces]
    yield Idle(start, processed, "driver")
    yield from pieces


def _running(start: int, end: int, others: list[Interval], rest: str) -> Iterator[Idle]:
    """Give time of other processes to them, and all else to the rest."""
    at = start
    for other in others[max(0, bisect_right(others, start, key=lambda one: one.start) - 1) :]:
        if other.start >= end:
            break
        if other.end > at:
            since, until = max(other.start, at), min(other.end, end)
            yield Idle(at, since, rest)
            yield Idle(since, until, "other-process")
            at = until
    yield Idle(at, end, rest)


class _Life:
    """When the host did what, and what ran beside the target."""

    def __init__(self, world: World) -> None:
        self.others = [one for one in world.others if one.channel == "Compute"]
        self.begun: dict[int, int] = {}
        for one in world.encoders:
            self.begun.setdefault(one.buffer, one.start)
        self._order = sorted(world.buffers, key=lambda one: one.gpu_start)
        self._starts = [one.gpu_start for one in self._order]
        self._busy = world.host
        self._begins = [one.start for one in world.host]

    def reported_before(self, nexts: Interval) -> int:
        """Return when all command buffers before this interval's had been reported complete."""
        place = bisect_right(self._starts, nexts.start) - 2
        return self._order[place].completed if place >= 0 else 0

    def host(self, start: int, end: int, rest: str) -> Iterator[Idle]:
        """Yield what kept the host from committing, piece by piece."""
        at = max(0, bisect_right(self._begins, start) - 1)
        while start < end:
            one = self._busy[at] if at < len(self._busy) else Busy(start, end, "build")
            after = self._begins[at + 1] if at + 1 < len(self._busy) else end
            stop = min(end, max(after, one.end))
            yield Idle(start, stop, _OF_HOST.get(one.kind, rest))
            start, at = stop, at + 1
