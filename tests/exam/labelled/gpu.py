"""The GPU of the model: one queue for all who compute, a clock, and a compositor beside it."""

import numpy as np

from labelled.draws import Draws
from labelled.setup import MICROSECOND, SECOND, Hold, Setup
from labelled.world import BROWSER, COMPOSITOR, RIVAL, Interval, Owner, World

_NUMBERS = {COMPOSITOR: 1 << 30, BROWSER: 1 << 31, RIVAL: 1 << 32}


class Gpu:
    """Runs what it is given in order; another process's work comes in between."""

    def __init__(self, world: World, draws: Draws) -> None:
        self._world, self._draws = world, draws
        self.free = 0
        self._rivals = _arrivals(world.setup, draws)
        self._next = 0

    def run(self, work: int, ready: int, held: int) -> tuple[int, int]:
        """Run work that takes so long; return its start and its end."""
        begin = max(ready, self.free)
        while self._next < len(self._rivals) and self._rivals[self._next][0] <= begin:
            self._run_rival()
            begin = max(ready, self.free)
        start = begin + held
        self.free = start + max(1, work)
        return start, self.free

    def finish(self, end: int) -> None:
        """Let the others have what time is left until the end of the trace."""
        while self._next < len(self._rivals) and self._rivals[self._next][0] < end:
            self._run_rival()
        setup, random = self._world.setup, self._draws.random("drawn")
        drawn = _drawn(COMPOSITOR, setup.compositor, 60, end, random)
        drawn += _drawn(BROWSER, setup.browser, 30, end, random)
        self._world.others.extend(_in_turn(drawn))
        self._world.others.sort()

    def _run_rival(self) -> None:
        arrival, length, owner = self._rivals[self._next]
        start = max(arrival, self.free)
        number = _NUMBERS[RIVAL] + 2 * self._next
        self.free = start + length
        self._next += 1
        facts = (number, number + 1, arrival, arrival, arrival)
        label = "Command Buffer 0:Compute Command 0"
        self._world.others.append(Interval(start, self.free, "Compute", label, owner, *facts))


def _arrivals(setup: Setup, draws: Draws) -> list[tuple[int, int, Owner]]:
    """Return when others' work arrives, how long it takes and whose it is, for a minute."""
    found: list[tuple[int, int, Owner]] = []
    for owner, one in ((RIVAL, setup.rival), (BROWSER, _visits(setup))):
        if one is not None:
            random = draws.random(f"computing of {owner.name}")
            count = 60 * SECOND // one.every
            at = np.cumsum(random.normal(1, 0.1, count).clip(0.2) * one.every).astype(int)
            times = (random.lognormal(0, 0.15, count) * one.time).astype(int)
            found += [(*each, owner) for each in zip(at.tolist(), times.tolist(), strict=True)]
    return sorted(found)


def _visits(setup: Setup) -> Hold | None:
    return Hold(SECOND // 15, setup.visitor) if setup.visitor else None


def _in_turn(drawn: list[Interval]) -> list[Interval]:
    """Let each pass begin only when the one before on its channel has ended."""
    free: dict[str, int] = {}
    found: list[Interval] = []
    for one in sorted(drawn):
        start = max(one.start, free.get(one.channel, 0))
        free[one.channel] = start + one.end - one.start
        found.append(one._replace(start=start, end=free[one.channel]))
    return found


def _drawn(
    owner: Owner, time: int, rate: int, end: int, random: np.random.Generator
) -> list[Interval]:
    """Return what a program draws so often a second, in bursts, on channels beside all computing.

    A frame is one to four passes; some frames are not drawn at all, for nothing has changed.
    """
    found: list[Interval] = []
    frame = SECOND // rate
    for number, at in enumerate(range(frame // 3, end if time else 0, frame)):
        free = at + int(random.integers(0, 300 * MICROSECOND))
        passes = int(random.integers(0, 5))
        for one in range(passes):
            identity = _NUMBERS[owner] + 2 * (4 * number + one)
            first, second = (random.lognormal(-0.3, 0.8, 2) * time / 2 * (0.2, 0.8)).astype(int)
            middle = free + int(first)
            for channel, begin, stop in (
                ("Vertex", free, middle),
                ("Fragment", middle + 2_000, middle + 2_000 + int(second)),
            ):
                label = f"Command Buffer 0:Render Command {one}"
                facts = (identity, identity + 1, at, at, at)
                found.append(Interval(begin, stop, channel, label, owner, *facts))
            free = middle + int(random.exponential(60 * MICROSECOND))
    return found
