"""Starts a target and watches it: samples it on a steady period, and follows its journal."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import StopPolicy
from tracekit.record.host.sampler import Sampler
from tracekit.record.recorder import Progress


@dataclass(frozen=True)
class Timeouts:
    """Seconds to wait."""

    ready: float = 600.0  # for a worker to come to its steady phase, from its launch
    # for a worker to finish its step and its account, past its time limit and past what it said
    # that its measurement of what recording costs may take
    grace: float = 20.0
    interrupt: float = 10.0  # for a program to end after SIGINT
    terminate: float = 5.0  # after SIGTERM
    kill: float = 5.0  # after SIGKILL

    @property
    def policy(self) -> StopPolicy:
        """How a program is stopped, and all that it started."""
        signals = (
            (signal.SIGINT, self.interrupt),
            (signal.SIGTERM, self.terminate),
            (signal.SIGKILL, self.kill),
        )
        return StopPolicy(signals, group=True)


@dataclass
class Listener:
    """What the worker's marks have said so far, as far as a recorder must know.

    `phase` is the worker's; `paused` says that it wants to run unrecorded for a while; `busy` is
    the moment, in monotonic ns, up to which it means to be at work.
    """

    journal: Path | None
    phase: str = ""
    steady: int | None = None
    paused: bool = False
    busy: int = 0
    _offset: int = 0

    def listen(self) -> bool:
        """Read what is new; return whether the worker entered another phase."""
        before = self.phase
        for line in self._news():
            if b'"mark":"step"' in line:
                continue
            with suppress(msgspec.MsgspecError):
                self._heed(msgspec.json.decode(line, type=dict[str, Any]))
        return self.phase != before

    def _heed(self, values: dict[str, Any]) -> None:
        match values:
            case {"mark": "phase", "name": str(name), "start": int(start)}:
                self.phase = name
                if name == "steady":
                    self.steady = start
            case {"mark": "sampling", "on": bool(on)}:
                self.paused = not on
            case {"mark": "busy", "until": int(until)}:
                self.busy = until
            case {"mark": "end"}:
                self.paused = False
            case _:
                pass

    def _news(self) -> list[bytes]:
        if self.journal is None:
            return []
        try:
            with self.journal.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


SECOND = 1_000_000_000


class End(StrEnum):
    """Why watching ended, in the words that a TOC shows."""

    EXITED = "Target exited"
    LIMIT = "Time limit reached"
    INTERRUPTED = "Interrupted"
    KILLED = "Target did not end when asked and was killed"


@dataclass(frozen=True)
class Pace:
    """How often to sample and how long to watch.

    `limit` is in seconds: of a program that is not ours since the start, of a worker since its
    steady phase began, which it ends by itself. `period` is the time between two samples.
    """

    period: float
    limit: float
    timeouts: Timeouts


def watch(
    sampler: Sampler,
    listener: Listener,
    pace: Pace,
    progress: Progress,
    *,
    running: Callable[[], bool],
) -> End:
    """Sample until the target ends, a limit is reached or Ctrl-C is pressed; return which."""
    try:
        begun = time.monotonic_ns()
        due = time.monotonic()
        while True:
            if listener.listen():
                progress(_phase(listener, pace))
            if not listener.paused:
                sampler.take()
            if not running():
                return End.EXITED
            if time.monotonic_ns() >= last_moment(begun, listener, pace):
                return End.LIMIT
            due = max(due + pace.period, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
    except KeyboardInterrupt:
        return End.INTERRUPTED


def _phase(listener: Listener, pace: Pace) -> str:
    """Return the worker's phase; of a steady one that exceeds the time limit also how long."""
    length = (listener.busy - (listener.steady or 0)) / SECOND
    if listener.phase == "steady" and length > 1.5 * pace.limit:
        return f"steady, {length:.0f} s for steps that are long"
    return listener.phase


def last_moment(begun: int, listener: Listener, pace: Pace) -> int:
    """Return until when a target is watched that was begun then, in monotonic ns.

    A worker says itself how long it means to be at work, as while it measures what recording costs.
    """
    if listener.journal is None:
        return begun + round(pace.limit * SECOND)
    if listener.steady is None:
        return begun + round(pace.timeouts.ready * SECOND)
    until = max(listener.steady + round(pace.limit * SECOND), listener.busy)
    return until + round(pace.timeouts.grace * SECOND)
