"""A running `xctrace record`: listened to, given time, and stopped so that it can save."""

import logging
import shlex
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType

from tracekit.base import Child, StopPolicy
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.command import not_started, tool_environment
from tracekit.record.xctrace.progress import (
    Account,
    State,
    Tail,
    hear_complaint,
    hear_output,
)

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_requests(together: float = 1.0) -> Generator[Callable[[], bool]]:
    """Count requests to stop instead of letting them end us in the middle of something.

    The block gets a function that tells whether a request waits, and takes it. Signals that are
    ignored stay ignored, as a job in the background wants it. Away from the main thread, where
    Python delivers no signals, nothing is counted. Signals within `together` seconds are one
    request: a terminal and a parent such as `uv run` both pass a Ctrl-C on.
    """
    last, waiting = float("-inf"), 0

    def count(_number: int, _frame: FrameType | None) -> None:
        nonlocal last, waiting
        now = time.monotonic()
        if now - last >= together:
            last, waiting = now, waiting + 1

    def take() -> bool:
        nonlocal waiting
        if not waiting:
            return False
        waiting -= 1
        return True

    asking = _ASKING if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: signal.getsignal(number) for number in asking}
    before = {number: old for number, old in handlers.items() if old is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, count)
    try:
        yield take
    finally:
        for number, old in before.items():
            signal.signal(number, old)


# SIGINT stops and saves. SIGTERM is ignored while recording, yet ends some hung recorders.
STOP_SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


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

    def allowance(self, account: Account, time_limit: float) -> float:
        """Return how long the state of `account` may last."""
        match account.state:
            case State.LAUNCHED | State.ANNOUNCED:
                return self.start
            case State.STARTED:
                unheard = self.stopping + self.saving if account.foreign else 0
                return time_limit + self.slack + unheard
            case State.STOPPING:
                return self.stopping
            case State.SAVING:
                return self.saving
            case State.SAVED | State.EXITED:
                return self.exit


class Escalation:
    """Decides when to send which signal; the times are handed in, so nothing here waits."""

    def __init__(self, deadlines: Deadlines, time_limit: float, now: float) -> None:
        self._deadlines = deadlines
        self._time_limit = time_limit
        self._state = State.LAUNCHED
        self._until = now + deadlines.start
        self.sent: tuple[signal.Signals, ...] = ()
        self.finished = False

    def hear(self, account: Account, now: float) -> None:
        """Give a state that was just reached its own time."""
        if account.state is self._state:
            return
        starting = {self._state, account.state} <= {State.LAUNCHED, State.ANNOUNCED}
        self._state = account.state
        if not starting:
            self._until = now + self._deadlines.allowance(account, self._time_limit)

    def grow(self, now: float) -> None:
        """Give more time to a recording that is being saved and still grows."""
        if self._state is State.SAVING:
            self._until = max(self._until, now + self._deadlines.saving)

    def finish(self, now: float) -> None:
        """Let a recording whose target has nothing left to record soon be asked to stop."""
        if not self.finished and not self.sent:
            self._until = min(self._until, now + self._deadlines.finished)
        self.finished = True

    def due(self, now: float) -> signal.Signals | None:
        """Return the signal to send now, or None while there is time."""
        return self.next_signal(now) if now >= self._until else None

    def next_signal(self, now: float) -> signal.Signals | None:
        """Return the next signal, or None where all were sent."""
        if self.exhausted:
            return None
        number = len(self.sent)
        self.sent = STOP_SIGNALS[: number + 1]
        self._until = now + self._deadlines.signals[number]
        return STOP_SIGNALS[number]

    @property
    def exhausted(self) -> bool:
        """Tell whether the last signal, which nothing can ignore, was sent."""
        return self.sent == STOP_SIGNALS

    def hopeless(self, now: float) -> bool:
        """Tell whether even the last signal did not help in its time."""
        return self.exhausted and now >= self._until


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ended:
    """A recording whose process is gone."""

    account: Account  # all that it said; its state is the last one before the end
    returncode: int | None  # its exit code; negative for a signal; None if nothing could end it
    signals: tuple[signal.Signals, ...] = ()  # the signals that we sent, in order
    interrupted: bool = False  # a person or the system asked to stop
    finished: bool = False  # its target had nothing left to record while it went on
    halted: str = ""  # why we stopped it before its time; empty if we did not

    @property
    def killed(self) -> bool:
        """Tell whether we had to end it in a way that loses the recording."""
        return signal.SIGKILL in self.signals or self.returncode == -signal.SIGTERM


@dataclass(frozen=True)
class Survey:
    """What was seen around a recording: bytes written, staging files included.

    `halt` says why it must stop now, `urgent` that it must even if what it has is lost.
    """

    written: int = 0
    halt: str = ""
    urgent: bool = False


@dataclass(frozen=True)
class Watch:
    """What to do while a recording runs."""

    changed: Callable[[Account], None]  # called with the account whenever its state changes
    sent: Callable[[signal.Signals], None]  # called with each signal that was sent
    survey: Callable[[], Survey]  # called now and then
    # tells whether the target has nothing left to record; asked while it records
    finished: Callable[[], bool] = lambda: False


def record(
    argv: tuple[str, ...],
    watch: Watch,
    deadlines: Deadlines,
    supervisor: Supervisor,
    *,
    time_limit: float,
    bundle: Path,
) -> Ended:
    """Run a recording to its end, whatever end that is; no state lasts longer than it may.

    Ctrl-C, SIGTERM or SIGHUP asks it to stop and save; each further one sends the next stop
    signal. If tracekit itself is killed, its guardian goes on from there.

    Raises:
        ToolError: It cannot be started.
    """
    log.info("record: %s", shlex.join(argv))
    policy, env = deadlines.policy(bundle), tool_environment()
    # Files, not pipes: whatever becomes of tracekit, xctrace neither waits for a reader nor dies.
    with TemporaryFile() as out, TemporaryFile() as err, stop_requests() as asked:
        try:
            child = supervisor.start(argv, policy, env=env, stdout=out, stderr=err)
        except OSError as error:
            raise not_started(argv, error) from error
        try:
            escalation = Escalation(deadlines, time_limit, time.monotonic())
            vigil = _Vigil(child, watch, deadlines, supervisor, escalation, Tail(out), Tail(err))
            return vigil.keep(asked)
        finally:
            if child.exit_status is None:
                child.kill()
            supervisor.forget(child.pid)
            supervisor.note("xctrace: exited")


@dataclass
class _Vigil:
    """One process under watch."""

    child: Child
    watch: Watch
    deadlines: Deadlines
    supervisor: Supervisor
    escalation: Escalation
    out: Tail
    err: Tail
    account: Account = field(default_factory=Account)
    interrupted: bool = False
    halted: str = ""
    next_survey: float = 0.0
    written: int = 0

    def keep(self, asked: Callable[[], bool]) -> Ended:
        while not self._ended and not self.escalation.hopeless(time.monotonic()):
            self._hear()
            self._look(time.monotonic())
            if asked():
                self.interrupted = True
                self._send(self.escalation.next_signal(time.monotonic()))
            self.child.wait(self.deadlines.poll)
        self._hear(ended=True)
        self.interrupted |= asked()
        self.watch.changed(replace(self.account, state=State.EXITED))
        return Ended(
            self.account,
            self.child.exit_status,
            self.escalation.sent,
            self.interrupted,
            self.escalation.finished,
            self.halted,
        )

    @property
    def _ended(self) -> bool:
        return self.child.exit_status is not None

    def _look(self, now: float) -> None:
        if now >= self.next_survey:
            self.next_survey = now + self.deadlines.survey
            self._weigh(self.watch.survey(), now)
        if self.account.state is State.STARTED and self.watch.finished():
            self.escalation.finish(now)
        self._send(self.escalation.due(now))

    def _hear(self, *, ended: bool = False) -> None:
        for tail, hear in ((self.out, hear_output), (self.err, hear_complaint)):
            for line in tail.lines(ended=ended):
                log.debug("xctrace: %s", line)
                self._enter(hear(self.account, line))

    def _enter(self, account: Account) -> None:
        before, self.account = self.account, account
        if account.state is not before.state:
            self.escalation.hear(account, time.monotonic())
            ends_by_itself = account.state > State.STARTED
            timeout = self.deadlines.saving if ends_by_itself else 0
            self.supervisor.note(f"xctrace: {account.state.name.lower()}", timeout)
            self.watch.changed(account)

    def _weigh(self, survey: Survey, now: float) -> None:
        if survey.written > self.written:
            self.escalation.grow(now)
        self.written = survey.written
        saved = self.account.state is State.SAVED
        if survey.halt and not saved and (survey.urgent or not self.halted):
            self.halted = self.halted or survey.halt
            self._send(self.escalation.next_signal(now))

    def _send(self, number: signal.Signals | None) -> None:
        if number is None or self._ended:
            return
        log.info("xctrace is sent %s while it is %s", number.name, self.account.state.name)
        self.watch.sent(number)
        self.child.send(number)
