"""What is true of a trace of the model, in numbers: shares of its steady phase."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from labelled.idle import Idle, idle_pieces
from labelled.world import Interval, World

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Facts:
    """A trace of the model, and what follows from its events alone."""

    world: World

    @property
    def length(self) -> int:
        """How long the steady phase lasted."""
        begin, end = self.world.steady
        return end - begin

    @cached_property
    def own(self) -> list[Interval]:
        """The target's work that starts in the steady phase."""
        begin, end = self.world.steady
        return [one for one in self.world.intervals if begin <= one.start < end]

    @cached_property
    def busy(self) -> int:
        """For how long the target's work ran; none of it overlaps."""
        return sum(one.end - one.start for one in self.own)

    @cached_property
    def idle(self) -> list[Idle]:
        """The idle time, piece by piece."""
        return idle_pieces(self.world)

    def idle_share(self, *causes: str) -> float:
        """Return the share of idle time of these causes; of all without any."""
        return self.idle_time(*causes) / self.length

    def idle_time(self, *causes: str) -> int:
        """Return the idle time of these causes; all of it without any."""
        return sum(one.end - one.start for one in self.idle if not causes or one.cause in causes)

    @cached_property
    def beside(self) -> float:
        """The share of the steady phase in which others drew while the target's work ran."""
        begin, end = self.world.steady
        edges = [(max(one.start, begin), min(one.end, end)) for one in self.world.others]
        inside = sorted((start, stop) for start, stop in edges if stop > start)
        starts = np.array([one.start for one in self.own], np.int64)
        ends = np.array([one.end for one in self.own], np.int64)
        free, total = begin, 0
        for start, stop in inside:
            at = max(start, free)
            free = max(free, stop)
            if stop > at:
                first, last = np.searchsorted(ends, at), np.searchsorted(starts, stop)
                part = np.minimum(ends[first:last], stop) - np.maximum(starts[first:last], at)
                total += int(part.clip(0).sum())
        return total / self.length

    @cached_property
    def periods(self) -> NDArray[np.float64]:
        """From the start of each steady step to that of the next; of variants, in units of one."""
        starts = [one.start for one in self.world.steps if one.phase == "steady"]
        return self._in_units_of_one(np.diff(np.array(starts, np.float64)))

    def _in_units_of_one(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a time of each steady step but the last, in units of the step's variant."""
        parts = self.world.setup.variants or (1.0,)
        # A step that is handed over ahead of the wait for the one before takes that one's time.
        return times / np.resize(np.roll(parts, self.world.setup.ahead), times.size)

    def gaps_before(self, *, first: bool) -> list[tuple[Interval, int]]:
        """Return work and the idle time before it: the first of each buffer, or all others."""
        found: list[tuple[Interval, int]] = []
        for before, one in zip(self.own, self.own[1:], strict=False):
            if (before.buffer != one.buffer) == first:
                found.append((one, one.start - before.end))
        return found

    @cached_property
    def depth_at_most_one(self) -> float:
        """The share of the steady phase with at most one command buffer in flight."""
        begin, end = self.world.steady
        events = sorted(
            event
            for one in self.world.buffers
            for event in ((one.committed, 1), (one.completed, -1))
        )
        depth, at, alone = 0, begin, 0
        for time, change in events:
            now = min(max(time, begin), end)
            alone += (now - at) * (depth <= 1)
            at, depth = now, depth + change
        return (alone + (end - at) * (depth <= 1)) / self.length

    @cached_property
    def compiled(self) -> NDArray[np.float64]:
        """For how long the target's host compiled in each of the periods; in the same units."""
        starts = np.array([one.start for one in self.world.steps if one.phase == "steady"])
        spent = np.zeros(starts.size)
        for one in self.world.host:
            if one.kind == "compile" and starts[0] <= one.start:
                spent[np.searchsorted(starts, one.start, side="right") - 1] += one.end - one.start
        return self._in_units_of_one(spent[:-1])

    def spikes(self, factor: float, explained: float = 0.5) -> tuple[float, float]:
        """Return what share of steps takes so many times the median, and their excess' share.

        Steps in which compiles take the share `explained` of the excess do not count.
        """
        usual = float(np.median(self.periods))
        excess = self.periods - usual
        high = (self.periods > factor * usual) & (self.compiled < explained * excess)
        return float(high.mean()), float(excess[high].sum() / self.periods.sum())


Size = Callable[[Facts], float | None]
"""How large a fault is in a trace, in units of the limit from which it matters."""
