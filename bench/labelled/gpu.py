"""The GPU of the model: one queue for all who compute, a clock, and a compositor beside it."""

import numpy as np

from labelled.draws import Draws
from labelled.setup import MICROSECOND, SECOND, Setup
from labelled.world import BROWSER, COMPOSITOR, RIVAL, Interval, Owner, World

_NUMBERS = {COMPOSITOR: 1 << 30, BROWSER: 1 << 31, RIVAL: 1 << 32}
# Nothing else is drawn while either of them draws: their beats never meet.
_PHASES = {COMPOSITOR: SECOND // 180, BROWSER: SECOND // 60 + SECOND // 72}


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
        self._world.others.extend(_drawn(COMPOSITOR, setup.compositor, 60, end, random))
        self._world.others.extend(_drawn(BROWSER, setup.browser, 30, end, random))
        self._world.others.sort()

    def _run_rival(self) -> None:
        arrival, length = self._rivals[self._next]
        start = max(arrival, self.free)
        number = _NUMBERS[RIVAL] + 2 * self._next
        self.free = start + length
        self._next += 1
        facts = (number, number + 1, arrival, arrival, arrival)
        label = "Command Buffer 0:Compute Command 0"
        self._world.others.append(Interval(start, self.free, "Compute", label, RIVAL, *facts))


def _arrivals(setup: Setup, draws: Draws) -> list[tuple[int, int]]:
    """Return when the rival's work arrives, and how long it takes, for a minute."""
    if setup.rival is None:
        return []
    random = draws.random("rival")
    count = 60 * SECOND // setup.rival.every
    gaps = random.normal(1, 0.1, count).clip(0.2) * setup.rival.every
    times = random.lognormal(0, 0.15, count) * setup.rival.time
    return list(zip(np.cumsum(gaps).astype(int).tolist(), times.astype(int).tolist(), strict=True))


def _drawn(
    owner: Owner, time: int, rate: int, end: int, random: np.random.Generator
) -> list[Interval]:
    """Return what a program draws so often a second, on channels beside all computing."""
    found: list[Interval] = []
    frame = SECOND // rate
    for number, at in enumerate(range(_PHASES[owner], end if time else 0, frame)):
        start = at + int(random.integers(0, 300 * MICROSECOND))
        first = int(time * 0.2 * random.lognormal(0, 0.2))
        second = int(time * 0.8 * random.lognormal(0, 0.2))
        identity = _NUMBERS[owner] + 4 * number
        for channel, begin, stop in (
            ("Vertex", start, start + first),
            ("Fragment", start + first + 2_000, start + first + 2_000 + second),
        ):
            label = f"Command Buffer 0:Render Command {number % 4}"
            facts = (identity, identity + 1, at, at, at)
            found.append(Interval(begin, stop, channel, label, owner, *facts))
    return found
