"""Why the GPU had nothing of the target to do: what the model itself knows of every gap."""

from bisect import bisect_right
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from labelled.setup import MICROSECOND
from labelled.world import Buffer, Busy, Interval, World

_LATE = 100 * MICROSECOND
_STANDS_OUT = 3
_OF_HOST = {"wire": "wiring", "compile": "compile", "encode": "encoding"}
_WAITS = "wait"


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
            else:
                committed = min(max(one.committed, gap[0]), gap[1])
                found += life.before_commit(gap[0], committed, life.reported_before(one))
                found += _queued(committed, gap[1], one, life, free)
        free, buffer = max(free, one.end), one.buffer
    if end - free >= shortest:
        found += life.before_commit(free, end, life.last_report)
    return [one for one in found if one.end > one.start]


def _queued(start: int, end: int, nexts: Interval, life: "_Life", free: int) -> Iterator[Idle]:
    """Follow the next interval from its commit on: the driver, other processes, the start."""
    dry = free - nexts.committed <= life.usual_start
    rest = "start-latency" if dry else "between-buffers"
    usual = life.usual_start if dry else life.usual_boundary
    processed = min(max(nexts.processed, start), end)
    taken_up = min(max(life.taken_up[nexts.buffer], start), processed)
    pieces = list(_running(start, taken_up, life.others, rest))
    pieces += _running(processed, end, life.others, rest)
    unexplained = sum(one.end - one.start for one in pieces if one.cause == rest)
    if unexplained > max(_LATE, _STANDS_OUT * usual):
        pieces = [one._replace(cause="late-start") if one.cause == rest else one for one in pieces]
    yield from sorted([*pieces, Idle(taken_up, processed, "driver")])


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
        self.taken_up = {one.number: one.driver_start for one in world.buffers}
        self._order = sorted(world.buffers, key=lambda one: one.gpu_start)
        self._starts = [one.gpu_start for one in self._order]
        self._busy = world.host
        self._begins = [one.start for one in world.host]

        self.last_report = max((one.completed for one in world.buffers), default=0)
        self.usual_start = _usual_start(self._order)
        self.usual_boundary = world.setup.switch

    def reported_before(self, nexts: Interval) -> int:
        """Return when all command buffers before this interval's had been reported complete."""
        place = bisect_right(self._starts, nexts.start) - 2
        return self._order[place].completed if place >= 0 else 0

    def before_commit(self, start: int, end: int, reported: int) -> Iterator[Idle]:
        """Yield the way back, as far as the host waits, and what the host does otherwise."""
        at = max(0, bisect_right(self._begins, start) - 1)
        while start < end:
            one = self._busy[at] if at < len(self._busy) else Busy(start, end, "build")
            after = self._begins[at + 1] if at + 1 < len(self._busy) else end
            stop = min(end, max(after, one.end))
            cause = _OF_HOST.get(one.kind, "host")
            if one.kind == _WAITS:
                back = min(max(reported, start), stop)
                yield Idle(start, back, "way-back")
                yield Idle(back, stop, "host")
            else:
                yield Idle(start, stop, cause)
            start, at = stop, at + 1


def _usual_start(buffers: list[Buffer]) -> float:
    """Return the median from commit to start of those committed when all before had ended."""
    taken: list[int] = []
    ended = 0
    for one in buffers:
        if one.committed >= ended:
            taken.append(one.gpu_start - one.committed)
        ended = max(ended, one.gpu_end)
    return median(taken) if taken else 0.0
