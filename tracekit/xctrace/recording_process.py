"""A running `xctrace record`: listened to, given time, and stopped so that it can save."""

import logging
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO

from tracekit.xctrace.command import end_group, not_started
from tracekit.xctrace.environment import tool_environment
from tracekit.xctrace.output_lines import OutputLines
from tracekit.xctrace.progress_lines import Account, State, hear_complaint, hear_output
from tracekit.xctrace.stop_ladder import RUNGS, Deadlines, StopLadder
from tracekit.xctrace.stop_requests import StopRequests

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ended:
    """A recording whose process is gone.

    Attributes:
        account: All that it said; its state is the last one before the end.
        returncode: Its exit code; negative for a signal; None if nothing could end it.
        signals: The signals that we sent, in order.
        interrupted: A person or the system asked to stop.
    """

    account: Account
    returncode: int | None
    signals: tuple[signal.Signals, ...] = ()
    interrupted: bool = False

    @property
    def killed(self) -> bool:
        """Tell whether we had to end it in a way that loses the recording."""
        return signal.SIGKILL in self.signals or self.returncode == -signal.SIGTERM


@dataclass(frozen=True)
class Watch:
    """What to do while a recording runs.

    Attributes:
        changed: Called with the account whenever its state changes.
        sent: Called with each signal that was sent.
        survey: Called now and then; returns the bytes written so far, staging files included.
    """

    changed: Callable[[Account], None]
    sent: Callable[[signal.Signals], None]
    survey: Callable[[], int]


def record(argv: tuple[str, ...], time_limit: float, watch: Watch, deadlines: Deadlines) -> Ended:
    """Run a recording to its end, whatever end that is; no state lasts longer than it may.

    Ctrl-C or SIGTERM asks it to stop and save; each further one takes the next step of the
    ladder.

    Raises:
        ToolError: It cannot be started.
    """
    log.info("record: %s", shlex.join(argv))
    try:
        process = subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=tool_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise not_started(argv, error) from error
    vigil = _Vigil(process, time_limit, watch, deadlines)
    try:
        return vigil.keep()
    finally:
        if process.poll() is None:
            end_group(process)
            process.wait()


class _Vigil:
    """One process under watch."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        time_limit: float,
        watch: Watch,
        deadlines: Deadlines,
    ) -> None:
        self._process = process
        self._watch = watch
        self._deadlines = deadlines
        self._account = Account()
        self._ladder = StopLadder(deadlines, time_limit, time.monotonic())
        self._interrupted = False
        self._next_survey = 0.0
        self._written = 0

    def keep(self) -> Ended:
        pipes = _pipes(self._process)
        with OutputLines(**pipes) as lines, StopRequests() as requests:
            while self._process.poll() is None and not self._ladder.hopeless(time.monotonic()):
                self._look(lines)
                if requests.take():
                    self._interrupted = True
                    self._send(self._ladder.climb(time.monotonic()))
            self._hear(list(lines.rest()))
        self._watch.changed(replace(self._account, state=State.EXITED))
        return Ended(self._account, self._process.returncode, self._ladder.sent, self._interrupted)

    def _look(self, lines: OutputLines) -> None:
        if lines.open:
            self._hear(list(lines.read(self._deadlines.poll)))
        else:
            time.sleep(self._deadlines.poll)
        now = time.monotonic()
        if now >= self._next_survey:
            self._next_survey = now + self._deadlines.survey
            self._weigh(self._watch.survey(), now)
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
            self._watch.changed(account)

    def _weigh(self, written: int, now: float) -> None:
        if written > self._written:
            self._ladder.grow(now)
        self._written = written

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
