"""A running `xctrace record`: listened to, given time, and stopped so that it can save."""

import logging
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from tracekit.record.guardian.care import Care
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.xctrace.command import end_group, not_started
from tracekit.record.xctrace.environment import tool_environment
from tracekit.record.xctrace.output_lines import OutputLines
from tracekit.record.xctrace.progress_lines import Account, State, hear_complaint, hear_output
from tracekit.record.xctrace.stop_ladder import RUNGS, Deadlines, StopLadder
from tracekit.record.xctrace.stop_requests import StopRequests

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


@dataclass(frozen=True)
class Order:
    """One recording to make: its command line, its time limit in seconds, its bundle."""

    argv: tuple[str, ...]
    time_limit: float
    bundle: Path


def record(order: Order, watch: Watch, deadlines: Deadlines, guardian: Guardian) -> Ended:
    """Run a recording to its end, whatever end that is; no state lasts longer than it may.

    Ctrl-C, SIGTERM or SIGHUP asks it to stop and save; each further one takes the next step of
    the ladder. If tracekit itself is killed, its guardian goes on from there.

    Raises:
        ToolError: It cannot be started.
    """
    log.info("record: %s", shlex.join(order.argv))
    with StopRequests() as requests:
        process = _start(order, deadlines, guardian)
        vigil = _Vigil(process, order.time_limit, watch, deadlines, guardian)
        try:
            return vigil.keep(requests)
        finally:
            if process.poll() is None:
                end_group(process)
                process.wait()
            guardian.forget(process.pid)
            guardian.note("xctrace: exited")


def _start(order: Order, deadlines: Deadlines, guardian: Guardian) -> subprocess.Popen[bytes]:
    care = Care(deadlines.unheard, grows=(str(order.bundle.absolute()),))
    pipe = subprocess.PIPE
    try:
        return guardian.start(order.argv, care, env=tool_environment(), stdout=pipe, stderr=pipe)
    except OSError as error:
        raise not_started(order.argv, error) from error


class _Vigil:
    """One process under watch."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        time_limit: float,
        watch: Watch,
        deadlines: Deadlines,
        guardian: Guardian,
    ) -> None:
        self._process = process
        self._guardian = guardian
        self._watch = watch
        self._deadlines = deadlines
        self._account = Account()
        self._ladder = StopLadder(deadlines, time_limit, time.monotonic())
        self._interrupted = False
        self._halted = ""
        self._next_survey = 0.0
        self._written = 0

    def keep(self, requests: StopRequests) -> Ended:
        pipes = _pipes(self._process)
        with OutputLines(**pipes) as lines:
            while self._process.poll() is None and not self._ladder.hopeless(time.monotonic()):
                self._look(lines)
                if requests.take():
                    self._interrupted = True
                    self._send(self._ladder.climb(time.monotonic()))
            self._hear(list(lines.rest()))
        self._watch.changed(replace(self._account, state=State.EXITED))
        return Ended(
            self._account,
            self._process.returncode,
            self._ladder.sent,
            self._interrupted,
            self._ladder.finished,
            self._halted,
        )

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
            self._ladder.finish(now)
        self._send(self._ladder.due(now))

    def _hear(self, lines: list[tuple[str, str]]) -> None:
        for pipe, line in lines:
            log.debug("%s: %s", pipe, line)
            hear = hear_output if pipe == "stdout" else hear_complaint
            self._enter(hear(self._account, line))

    def _enter(self, account: Account) -> None:
        before, self._account = self._account, account
        if account.state is not before.state:
            self._ladder.hear(account, time.monotonic())
            ends_by_itself = account.state > State.STARTED
            patience = self._deadlines.saving if ends_by_itself else 0
            self._guardian.note(f"xctrace: {account.state.name.lower()}", patience)
            self._watch.changed(account)

    def _weigh(self, survey: Survey, now: float) -> None:
        if survey.written > self._written:
            self._ladder.grow(now)
        self._written = survey.written
        saved = self._account.state is State.SAVED
        if survey.halt and not saved and (survey.urgent or not self._halted):
            self._halted = self._halted or survey.halt
            self._send(self._ladder.climb(now))

    def _send(self, number: signal.Signals | None) -> None:
        if number is None or self._process.poll() is not None:
            return
        log.info("xctrace is sent %s while it is %s", number.name, self._account.state.name)
        self._watch.sent(number)
        if number is RUNGS[-1]:
            end_group(self._process)
        else:
            os.kill(self._process.pid, number)


def _pipes(process: subprocess.Popen[bytes]) -> dict[str, IO[bytes]]:
    assert process.stdout is not None
    assert process.stderr is not None
    return {"stdout": process.stdout, "stderr": process.stderr}
