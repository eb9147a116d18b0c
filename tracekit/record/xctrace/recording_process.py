"""The deadlines of an `xctrace record`, and how it is stopped so that it can save."""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Self

from tracekit.base import processes, system
from tracekit.record.beliefs import choose_seconds
from tracekit.record.recorder import patience
from tracekit.record.xctrace.displays import DisplayChange
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript

_ASKING = (signal.SIGINT, signal.SIGTERM, *system.HANG_UPS)


@contextmanager
def stop_requests(merge_seconds: float = 1.0) -> Generator[Callable[[], bool]]:
    """Count requests to stop instead of letting them end tracekit in the middle of its work.

    The block gets a function that returns whether a request waits, and takes it. Signals that are
    ignored stay ignored, as a job in the background wants it. Away from the main thread, where
    Python delivers no signals, nothing is counted. Signals within `merge_seconds` seconds are one
    request: a terminal and a parent such as `uv run` both pass a Ctrl-C on.
    """
    last_time = float("-inf")
    waiting = 0

    def count(_number: int, _frame: FrameType | None) -> None:
        nonlocal last_time, waiting
        current_time = time.monotonic()
        if current_time - last_time >= merge_seconds:
            last_time = current_time
            waiting += 1

    def take() -> bool:
        nonlocal waiting
        if not waiting:
            return False
        waiting -= 1
        return True

    previous_handlers = _find_handlers()
    for number in previous_handlers:
        signal.signal(number, count)
    try:
        yield take
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def _find_handlers() -> dict[signal.Signals, Any]:
    """Return the handlers of the signals that ask to stop, but for ignored signals."""
    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        return handlers
    for number in _ASKING:
        handler = signal.getsignal(number)
        if handler is not signal.SIG_IGN:
            handlers[number] = handler
    return handlers


# SIGINT stops and saves. SIGTERM is ignored while recording, yet ends some hung recorders.
STOP_SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, system.SIGKILL)


@dataclass(frozen=True)
class Deadlines:
    """Seconds to wait; each of these deadlines has been needed, and most are beliefs."""

    # from the launch until it records; Metal's source alone may take 40
    start: float = field(default_factory=partial(choose_seconds, "start-seconds"))
    # after it was stopped while it started, until it is started again
    rest: float = field(default_factory=partial(choose_seconds, "rest-seconds"))
    # from the start of the recording until a launched worker reports itself
    idle: float = field(default_factory=partial(choose_seconds, "idle-seconds"))
    # beyond the time limit, which xctrace may ignore
    slack: float = field(default_factory=partial(choose_seconds, "limit-slack-seconds"))
    # from its stop line until it saves
    stopping: float = field(default_factory=partial(choose_seconds, "stopping-seconds"))
    # until it is saved, counted again whenever the bundle or its staging files grow
    saving: float = field(default_factory=partial(choose_seconds, "saving-seconds"))
    # from the end of the target until it stops by itself
    finished: float = field(default_factory=partial(choose_seconds, "target-end-seconds"))
    # from "saved" to the end of the process
    exit: float = field(default_factory=partial(choose_seconds, "exit-seconds"))
    # after each of the stop signals, until the next one
    signals: tuple[float, float, float, float] = (120, 60, 10, 5)
    poll: float = 0.1  # between two checks of the process
    survey: float = 1  # between two checks of sizes and of child processes

    @classmethod
    def usual(cls) -> Self:
        """Return the deadlines, longer or shorter by TRACEKIT_PATIENCE."""
        return cls().multiply(patience())

    def multiply(self, factor: float) -> Self:
        """Return deadlines that are longer by a factor; checks stay as frequent."""
        first, second, third, last = self.signals
        return replace(
            self,
            start=self.start * factor,
            rest=self.rest * factor,
            idle=self.idle * factor,
            slack=self.slack * factor,
            stopping=self.stopping * factor,
            saving=self.saving * factor,
            finished=self.finished * factor,
            exit=self.exit * factor,
            signals=(first * factor, second * factor, third * factor, last * factor),
        )

    def policy(self, bundle: Path) -> processes.StopPolicy:
        """Return how a guardian stops it, which does not hear it: saving has its full time."""
        waits = (max(self.signals[0], self.saving), *self.signals[1:])
        signals = tuple(zip(map(int, STOP_SIGNALS), waits, strict=True))
        return processes.StopPolicy(signals, grows=(str(bundle.absolute()),))

    def allowance(self, account: RecordingTranscript, time_limit: float) -> float:
        """Return the seconds that the state of `account` may last."""
        match account.state:
            case RecordingState.LAUNCHED | RecordingState.ANNOUNCED:
                return self.start
            case RecordingState.STARTED if not account.is_understood:  # nor may later states be
                return time_limit + self.slack + self.stopping + self.saving
            case RecordingState.STARTED:
                return time_limit + self.slack
            case RecordingState.STOPPING:
                return self.stopping
            case RecordingState.SAVING:
                return self.saving
            case RecordingState.SAVED:
                return self.exit


class Asker(StrEnum):
    """The one who asked xctrace to stop; a signal has one."""

    PERSON = "person"  # a person, or the system
    DEADLINE = "deadline"  # a state of the recording lasted too long
    TARGET = "target"  # its target had nothing left to record
    DISK = "disk"  # the disk was short of room


class Escalation:
    """Decides when to send which signal; the times are passed in, so nothing here waits."""

    def __init__(self, deadlines: Deadlines, time_limit: float, current_time: float) -> None:
        self._deadlines = deadlines
        self._time_limit = time_limit
        self._state = RecordingState.LAUNCHED
        self._until = current_time + deadlines.start
        self.sent: tuple[signal.Signals, ...] = ()
        self.askers: tuple[Asker, ...] = ()
        self.finished = False
        self.is_unstarted = False

    def hear(self, account: RecordingTranscript, current_time: float) -> None:
        """Give a newly reached state its own time; those before the recording share one."""
        if account.state is self._state:
            return
        was_starting = self._state <= RecordingState.ANNOUNCED
        is_starting = account.state <= RecordingState.ANNOUNCED
        self._state = account.state
        if not (was_starting and is_starting):
            self._until = current_time + self._deadlines.allowance(account, self._time_limit)

    def grow(self, current_time: float) -> None:
        """Give more time to a recording that is being saved and still grows."""
        if self._state is RecordingState.SAVING:
            self._until = max(self._until, current_time + self._deadlines.saving)

    def finish(self, current_time: float) -> None:
        """Ask a recording to stop soon, because its target has nothing left to record."""
        if not self.finished and not self.sent:
            self._until = min(self._until, current_time + self._deadlines.finished)
        self.finished = True

    def find_due_signal(self, current_time: float) -> signal.Signals | None:
        """Return the signal to send now, or None while there is time."""
        if current_time < self._until:
            return None
        if self.finished and not self.sent:
            return self.next_signal(current_time, Asker.TARGET)
        if not self.sent and self._state <= RecordingState.ANNOUNCED:
            self.is_unstarted = True
        return self.next_signal(current_time, Asker.DEADLINE)

    def next_signal(self, current_time: float, asker: Asker) -> signal.Signals | None:
        """Return the next signal, or None if all were sent."""
        if self.sent == STOP_SIGNALS:
            return None
        number = len(self.sent)
        self.sent = STOP_SIGNALS[: number + 1]
        self.askers = (*self.askers, asker)
        self._until = current_time + self._deadlines.signals[number]
        return STOP_SIGNALS[number]

    def is_hopeless(self, current_time: float) -> bool:
        """Return whether even the last signal, which nothing can ignore, did not help in time."""
        return self.sent == STOP_SIGNALS and current_time >= self._until


@dataclass(frozen=True)
class Ended:
    """A recording whose process is gone."""

    account: RecordingTranscript  # its output; its state is the last one before the end
    returncode: int | None  # its exit code; negative for a signal; None if nothing could end it
    signals: tuple[signal.Signals, ...] = ()  # the signals that we sent, in order
    interrupted: bool = False  # a person or the system asked to stop
    finished: bool = False  # its target had nothing left to record while it went on
    halted: str = ""  # why we stopped it before its time; empty if we did not
    askers: tuple[Asker, ...] = ()  # who asked for each of the signals
    is_unstarted: bool = False  # its start took too long, and so it was stopped
    slept: float = 0.0  # seconds for which the machine slept meanwhile
    display_change: DisplayChange = ""  # whether a display turned off or on meanwhile

    @property
    def has_stop_request(self) -> bool:
        """Whether it was asked to stop, by us or by anybody."""
        return bool(self.signals) or self.interrupted

    @property
    def is_killed(self) -> bool:
        """Whether we had to end it in a way that loses the recording."""
        return system.SIGKILL in self.signals or self.returncode == -signal.SIGTERM
