"""How long an `xctrace record` may take, and how it is stopped so that it can save."""

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tracekit.base import StopPolicy, system
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript

_ASKING = (signal.SIGINT, signal.SIGTERM, *system.HANG_UPS)


@contextmanager
def stop_requests(merge_seconds: float = 1.0) -> Generator[Callable[[], bool]]:
    """Count requests to stop instead of letting them end us in the middle of something.

    The block gets a function that tells whether a request waits, and takes it. Signals that are
    ignored stay ignored, as a job in the background wants it. Away from the main thread, where
    Python delivers no signals, nothing is counted. Signals within `merge_seconds` seconds are one
    request: a terminal and a parent such as `uv run` both pass a Ctrl-C on.
    """
    last, waiting = float("-inf"), 0

    def count(_number: int, _frame: FrameType | None) -> None:
        nonlocal last, waiting
        current_time = time.monotonic()
        if current_time - last >= merge_seconds:
            last, waiting = current_time, waiting + 1

    def take() -> bool:
        nonlocal waiting
        if not waiting:
            return False
        waiting -= 1
        return True

    asking = _ASKING if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: signal.getsignal(number) for number in asking}
    previous_handlers = {
        number: old for number, old in handlers.items() if old is not signal.SIG_IGN
    }
    for number in previous_handlers:
        signal.signal(number, count)
    try:
        yield take
    finally:
        for number, old in previous_handlers.items():
            signal.signal(number, old)


# SIGINT stops and saves. SIGTERM is ignored while recording, yet ends some hung recorders.
STOP_SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, system.SIGKILL)


@dataclass(frozen=True)
class Deadlines:
    """How long to wait, in seconds; people have seen each of them needed."""

    start: float = 45  # from the launch until it records
    slack: float = 20  # beyond the time limit, which xctrace may ignore
    stopping: float = 60  # from its stop line until it saves
    # until it is saved, counted again whenever the bundle or its staging files grow
    saving: float = 300
    finished: float = 3  # from the end of what there is to record until it stops by itself
    exit: float = 60  # from "saved" to the end of the process
    # after each of the stop signals, until the next one
    signals: tuple[float, float, float, float] = (120, 60, 10, 5)
    poll: float = 0.1  # between two looks at the process
    survey: float = 1  # between two looks at sizes and at child processes

    def policy(self, bundle: Path) -> StopPolicy:
        """Return how a guardian stops it, which does not hear it: saving has its full time."""
        waits = (max(self.signals[0], self.saving), *self.signals[1:])
        return StopPolicy(
            tuple((int(number), wait) for number, wait in zip(STOP_SIGNALS, waits, strict=True)),
            grows=(str(bundle.absolute()),),
        )

    def allowance(self, account: RecordingTranscript, time_limit: float) -> float:
        """Return how long the state of `account` may last."""
        match account.state:
            case RecordingState.LAUNCHED | RecordingState.ANNOUNCED:
                return self.start
            case RecordingState.STARTED:
                unheard = self.stopping + self.saving if account.foreign else 0
                return time_limit + self.slack + unheard
            case RecordingState.STOPPING:
                return self.stopping
            case RecordingState.SAVING:
                return self.saving
            case RecordingState.SAVED:
                return self.exit


class Escalation:
    """Decides when to send which signal; the times are handed in, so nothing here waits."""

    def __init__(self, deadlines: Deadlines, time_limit: float, current_time: float) -> None:
        self._deadlines = deadlines
        self._time_limit = time_limit
        self._state = RecordingState.LAUNCHED
        self._until = current_time + deadlines.start
        self.sent: tuple[signal.Signals, ...] = ()
        self.finished = False

    def hear(self, account: RecordingTranscript, current_time: float) -> None:
        """Give a state that was just reached its own time."""
        if account.state is self._state:
            return
        starting = {self._state, account.state} <= {
            RecordingState.LAUNCHED,
            RecordingState.ANNOUNCED,
        }
        self._state = account.state
        if not starting:
            self._until = current_time + self._deadlines.allowance(account, self._time_limit)

    def grow(self, current_time: float) -> None:
        """Give more time to a recording that is being saved and still grows."""
        if self._state is RecordingState.SAVING:
            self._until = max(self._until, current_time + self._deadlines.saving)

    def finish(self, current_time: float) -> None:
        """Let a recording whose target has nothing left to record soon be asked to stop."""
        if not self.finished and not self.sent:
            self._until = min(self._until, current_time + self._deadlines.finished)
        self.finished = True

    def find_due_signal(self, current_time: float) -> signal.Signals | None:
        """Return the signal to send now, or None while there is time."""
        return self.next_signal(current_time) if current_time >= self._until else None

    def next_signal(self, current_time: float) -> signal.Signals | None:
        """Return the next signal, or None where all were sent."""
        if self.sent == STOP_SIGNALS:
            return None
        number = len(self.sent)
        self.sent = STOP_SIGNALS[: number + 1]
        self._until = current_time + self._deadlines.signals[number]
        return STOP_SIGNALS[number]

    def is_hopeless(self, current_time: float) -> bool:
        """Tell whether even the last signal, which nothing can ignore, did not help in its time."""
        return self.sent == STOP_SIGNALS and current_time >= self._until


@dataclass(frozen=True)
class Ended:
    """A recording whose process is gone."""

    account: RecordingTranscript  # all that it said; its state is the last one before the end
    returncode: int | None  # its exit code; negative for a signal; None if nothing could end it
    signals: tuple[signal.Signals, ...] = ()  # the signals that we sent, in order
    interrupted: bool = False  # a person or the system asked to stop
    finished: bool = False  # its target had nothing left to record while it went on
    halted: str = ""  # why we stopped it before its time; empty if we did not

    @property
    def has_stop_request(self) -> bool:
        """Tell whether it was asked to stop, by us or by anybody."""
        return bool(self.signals) or self.interrupted

    @property
    def is_killed(self) -> bool:
        """Tell whether we had to end it in a way that loses the recording."""
        return system.SIGKILL in self.signals or self.returncode == -signal.SIGTERM
