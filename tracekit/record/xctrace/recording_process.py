"""A running `xctrace record`: listened to, given time, and stopped so that it can save."""

import logging
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO, Self

from tracekit.base import Child, StopPolicy
from tracekit.record.supervisor.supervisor import Supervisor
from tracekit.record.xctrace.command import not_started, tool_environment
from tracekit.record.xctrace.progress import (
    Account,
    OutputLines,
    State,
    hear_complaint,
    hear_output,
)

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Counts requests to stop instead of letting them end us in the middle of something.

    Signals that are ignored stay ignored, as a job in the background wants it. Away from the
    main thread, where Python delivers no signals, nothing is counted. Signals within `together`
    seconds are one request: a terminal and a parent such as `uv run` both pass a Ctrl-C on.
    """

    def __init__(self, together: float = 1.0) -> None:
        self._together = together
        self._last = float("-inf")
        self._waiting = 0
        self._before: list[tuple[signal.Signals, signal._HANDLER]] = []  # pyright: ignore[reportPrivateUsage] - typeshed's only name for it

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ASKING:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before.append((number, before))
                    signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before:
            signal.signal(number, before)

    def take(self) -> bool:
        """Tell whether a request waits, and take it."""
        if not self._waiting:
            return False
        self._waiting -= 1
        return True

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last >= self._together:
            self._last = now
            self._waiting += 1


# SIGINT stops and saves. SIGTERM is ignored while recording, yet ends some hung recorders.
STOP_SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class Deadlines:
    """How long to wait, in seconds; people have seen each of them needed.

    Attributes:
        start: From the launch until it records.
        slack: Beyond the time limit, which xctrace may ignore.
        stopping: From its stop line until it saves.
        saving: Until it is saved, counted again whenever the bundle or its staging files grow.
        finished: From the end of what there is to record until it stops by itself.
        exit: From "saved" to the end of the process.
        signals: After each of the stop signals, until the next one.
        poll: Between two looks at the process.
        survey: Between two looks at sizes and at child processes.
    """

    start: float = 45
    slack: float = 20
    stopping: float = 60
    saving: float = 300
    finished: float = 3
    exit: float = 60
    signals: tuple[float, float, float, float] = (120, 60, 10, 5)
    poll: float = 0.1
    survey: float = 1

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
    """A recording whose process is gone.

    Attributes:
        account: All that it said; its state is the last one before the end.
        returncode: Its exit code; negative for a signal; None if nothing could end it.
        signals: The signals that we sent, in order.
        interrupted: A person or the system asked to stop.
        finished: Its target had nothing left to record while it went on.
        halted: Why we stopped it before its time; empty if we did not.
    """

    account: Account
    returncode: int | None
    signals: tuple[signal.Signals, ...] = ()
    interrupted: bool = False
    finished: bool = False
    halted: str = ""

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
    """What to do while a recording runs.

    Attributes:
        changed: Called with the account whenever its state changes.
        sent: Called with each signal that was sent.
        survey: Called now and then.
        finished: Tells whether the target has nothing left to record; asked while it records.
    """

    changed: Callable[[Account], None]
    sent: Callable[[signal.Signals], None]
    survey: Callable[[], Survey]
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
    pipe, policy = subprocess.PIPE, deadlines.policy(bundle)
    with StopRequests() as requests:
        try:
            child = supervisor.start(argv, policy, env=tool_environment(), stdout=pipe, stderr=pipe)
        except OSError as error:
            raise not_started(argv, error) from error
        try:
            return _Vigil(child, time_limit, watch, deadlines, supervisor).keep(requests)
        finally:
            if child.exit_status is None:
                child.kill()
            supervisor.forget(child.pid)
            supervisor.note("xctrace: exited")


class _Vigil:
    """One process under watch."""

    def __init__(
        self,
        child: Child,
        time_limit: float,
        watch: Watch,
        deadlines: Deadlines,
        supervisor: Supervisor,
    ) -> None:
        self._child = child
        self._supervisor = supervisor
        self._watch = watch
        self._deadlines = deadlines
        self._account = Account()
        self._escalation = Escalation(deadlines, time_limit, time.monotonic())
        self._interrupted = False
        self._halted = ""
        self._next_survey = 0.0
        self._written = 0

    def keep(self, requests: StopRequests) -> Ended:
        with OutputLines(**_pipes(self._child)) as lines:
            while not self._ended and not self._escalation.hopeless(time.monotonic()):
                self._look(lines)
                if requests.take():
                    self._interrupted = True
                    self._send(self._escalation.next_signal(time.monotonic()))
            self._hear(list(lines.rest()))
        self._watch.changed(replace(self._account, state=State.EXITED))
        return Ended(
            self._account,
            self._child.exit_status,
            self._escalation.sent,
            self._interrupted,
            self._escalation.finished,
            self._halted,
        )

    @property
    def _ended(self) -> bool:
        return self._child.exit_status is not None

    def _look(self, lines: OutputLines) -> None:
        if lines.open:
            self._hear(list(lines.read(self._deadlines.poll)))
        else:
            time.sleep(self._deadlines.poll)
        now = time.monotonic()
        if now >= self._next_survey:
            self._next_survey = now + self._deadlines.survey
            self._weigh(self._watch.survey(), now)
        if self._account.state is State.STARTED and self._watch.finished():
            self._escalation.finish(now)
        self._send(self._escalation.due(now))

    def _hear(self, lines: list[tuple[str, str]]) -> None:
        for pipe, line in lines:
            log.debug("%s: %s", pipe, line)
            hear = hear_output if pipe == "stdout" else hear_complaint
            self._enter(hear(self._account, line))

    def _enter(self, account: Account) -> None:
        before, self._account = self._account, account
        if account.state is not before.state:
            self._escalation.hear(account, time.monotonic())
            ends_by_itself = account.state > State.STARTED
            timeout = self._deadlines.saving if ends_by_itself else 0
            self._supervisor.note(f"xctrace: {account.state.name.lower()}", timeout)
            self._watch.changed(account)

    def _weigh(self, survey: Survey, now: float) -> None:
        if survey.written > self._written:
            self._escalation.grow(now)
        self._written = survey.written
        saved = self._account.state is State.SAVED
        if survey.halt and not saved and (survey.urgent or not self._halted):
            self._halted = self._halted or survey.halt
            self._send(self._escalation.next_signal(now))

    def _send(self, number: signal.Signals | None) -> None:
        if number is None or self._ended:
            return
        log.info("xctrace is sent %s while it is %s", number.name, self._account.state.name)
        self._watch.sent(number)
        self._child.send(number)


def _pipes(child: Child) -> dict[str, IO[bytes]]:
    assert child.process.stdout is not None
    assert child.process.stderr is not None
    return {"stdout": child.process.stdout, "stderr": child.process.stderr}
