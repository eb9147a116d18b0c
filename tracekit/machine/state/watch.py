"""Looks at the machine before and after something is measured, and at the time in between."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from tracekit.machine.state.gpu_clients import Clients, others
from tracekit.machine.state.known import Known, joined
from tracekit.machine.state.monitored import Samples, summary
from tracekit.machine.state.processors import Spent, load
from tracekit.machine.state.sources import Sources
from tracekit.machine.state.state import State
from tracekit.machine.telemetry.sampler import Beside, following

LOOK = 0.15  # seconds: what other processes take is told over such a time, not at a moment

_FIRST = 2.0  # seconds for a monitor to say its first word
_STALE = 2.0  # seconds in which what a monitor said still holds
_LONGEST = 86_400.0


@dataclass(frozen=True)
class _Moment:
    spent: Spent
    clients: Clients


class Watch:
    """Watches the machine through a sitting; a context manager.

    One monitor is read all the while, so that its clock is known within a pair and not only at
    its ends. What other processes take is the difference of counts that the system keeps, so
    nothing else runs while something is measured.
    """

    def __init__(
        self,
        monitor: str = "auto",
        *,
        time_limit: float = _LONGEST,
        sources: Sources | None = None,
    ) -> None:
        """Make a watch.

        Args:
            monitor: One of `tracekit.machine.telemetry.MONITORS`.
            time_limit: Seconds that it may last.
            sources: Who is asked; this machine by default.
        """
        self._monitor, self._time_limit = monitor, time_limit
        self._sources = sources or Sources()
        self._stack = ExitStack()
        self._samples = Samples()
        self._beside: Beside | None = None
        self._ours: frozenset[int] = frozenset()
        self._last: _Moment | None = None

    def __enter__(self) -> Self:
        """Start the monitor."""
        reading = following(
            self._monitor, self._samples.add, self._time_limit, self._sources.telemetry
        )
        self._beside = self._stack.enter_context(reading)
        return self

    def __exit__(self, *_: object) -> None:
        """End the monitor."""
        self._stack.close()

    @property
    def monitor(self) -> str:
        """The name of the monitor that is read; empty where there is none."""
        running = self._beside.monitor if self._beside else None
        return running.name if running else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user must know of the monitor."""
        return self._beside.remarks if self._beside else ()

    def before(self, ours: Iterable[int] = (), canary: float | None = None) -> State:
        """Look for `LOOK` seconds, in which our processes should wait.

        Args:
            ours: The pids of the processes that are measured; all others are others.
            canary: Nanoseconds that fixed work took just now; None where none was done.
        """
        self._ours = frozenset(ours)
        if self.monitor and self._last is None:
            self._samples.ever.wait(_FIRST)
        self._last = self._moment()
        time.sleep(LOOK)
        return self._state(canary)

    def after(self, canary: float | None = None) -> State:
        """Tell what the machine was like since the last look; at least `LOOK` seconds.

        Where no processes were named as ours, as those of a traced capture cannot be, what others
        took in between is not known; then it is told of `LOOK` seconds from now.
        """
        if self._last is None or not self._ours:
            self._last = self._moment()
        time.sleep(max(0.0, self._last.spent.at + LOOK - time.monotonic()))
        return self._state(canary)

    def _state(self, canary: float | None) -> State:
        assert self._last is not None
        then, now = self._last, self._moment()
        self._last = now
        no_work = "no fixed work was done."
        parts = joined(
            self._sources.now(),
            summary(self._samples.since_asked(_STALE), self.monitor),
            load(then.spent, now.spent),
            others(then.clients, now.clients, self._ours),
            Known(absences={"canary": no_work}) if canary is None else Known({"canary": canary}),
        )
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        return State(at, parts.readings, parts.absences)

    def _moment(self) -> _Moment:
        return _Moment(self._sources.spent(self._ours), self._sources.clients())


def look(
    ours: Iterable[int] = (),
    *,
    canary: float | None = None,
    monitor: str = "auto",
    sources: Sources | None = None,
) -> State:
    """Look at the machine once; a sitting uses a `Watch`, which starts its monitor but once.

    Args:
        ours: The pids of the processes that are measured; all others are others.
        canary: Nanoseconds that fixed work took just now; None where none was done.
        monitor: One of `tracekit.machine.telemetry.MONITORS`.
        sources: Who is asked; this machine by default.
    """
    with Watch(monitor, time_limit=LOOK + _FIRST, sources=sources) as watch:
        return watch.before(ours, canary)
