"""What a recording says of itself, line by line, and what follows from it.

Nothing here starts or waits: lines go in, an account of the recording comes out.
"""

import os
import re
import selectors
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import IO, Self

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 20
_LONGEST_REST = 2.0


class OutputLines:
    """Reads several pipes as they fill; each is known by a name."""

    def __init__(self, **pipes: IO[bytes]) -> None:
        self._pipes = pipes
        self._rests = dict.fromkeys(pipes, b"")
        self._selector = selectors.DefaultSelector()
        for name, pipe in pipes.items():
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for pipe in self._pipes.values():
            pipe.close()

    def read(self, timeout: float) -> Iterator[tuple[str, str]]:
        """Yield name and line of what came within `timeout` seconds, at the latest."""
        for key, _ in self._selector.select(timeout):
            yield from self._read_chunk(key)

    def rest(self) -> Iterator[tuple[str, str]]:
        """Yield what is left of a process that has ended, and does not wait for its children."""
        end = time.monotonic() + _LONGEST_REST
        while (keys := self._selector.select(0)) and time.monotonic() < end:
            for key, _ in keys:
                yield from self._read_chunk(key)
        for name, rest in self._rests.items():
            if rest:
                yield name, rest.decode("utf-8", "replace")
        self._rests = dict.fromkeys(self._pipes, b"")

    @property
    def open(self) -> bool:
        """Tell whether any pipe may still bring something."""
        return bool(self._selector.get_map())

    def _read_chunk(self, key: selectors.SelectorKey) -> Iterator[tuple[str, str]]:
        name: str = key.data
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._selector.unregister(key.fileobj)
        *lines, rest = (self._rests[name] + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        self._rests[name] = rest
        for line in lines:
            yield name, line.decode("utf-8", "replace")


class State(IntEnum):
    """How far a recording has come; it never goes back."""

    LAUNCHED = 0  # xctrace was started and has said nothing yet
    ANNOUNCED = 1  # it named its template; the target is not yet started or attached to
    STARTED = 2  # it records: only the line on Ctrl-C proves that
    STOPPING = 3  # it said why it stops
    SAVING = 4  # it writes the bundle; this can take minutes
    SAVED = 5  # it said that the bundle is written
    EXITED = 6  # its process has ended


class Stop(IntEnum):
    """Why a recording stopped, as its stop line says."""

    UNSAID = 0
    TIME_LIMIT = 1
    TARGET_EXITED = 2
    ASKED = 3


@dataclass(frozen=True)
class Issue:
    """One entry of the block of run issues: `severity` is Error or Warning."""

    severity: str
    text: str


@dataclass(frozen=True)
class Account:
    """All that a recording has said so far."""

    state: State = State.LAUNCHED  # how far it has come
    stop: Stop = Stop.UNSAID  # why it stopped, from its stop line
    stop_line: str = ""  # that line
    failed: bool = False  # it said that the recording failed with errors
    issues: tuple[Issue, ...] = ()  # errors and warnings, each once
    foreign: bool = False  # its lines were not in English and are read by their order alone
    output: tuple[str, ...] = ()  # its lines on standard output
    complaints: tuple[str, ...] = ()  # its lines on standard error

    @property
    def text(self) -> str:
        """All lines, complaints first."""
        return "\n".join((*self.complaints, *self.output))


_KEPT_LINES = 400
_ISSUE = re.compile(r"^\s*\* \[(Error|Warning)\] (.+)$")
_MARKS: tuple[tuple[re.Pattern[str], State, Stop], ...] = (
    (re.compile(r"^Starting recording with "), State.ANNOUNCED, Stop.UNSAID),
    (re.compile(r"^Ctrl-C to stop the recording"), State.STARTED, Stop.UNSAID),
    (re.compile(r"^Reached specified time limit"), State.STOPPING, Stop.TIME_LIMIT),
    (re.compile(r"^Target app exited"), State.STOPPING, Stop.TARGET_EXITED),
    (re.compile(r"^Stopping recording"), State.STOPPING, Stop.ASKED),
    (re.compile(r"^Recording (completed|failed with errors)"), State.SAVING, Stop.UNSAID),
    (re.compile(r"^Output file saved as: "), State.SAVED, Stop.UNSAID),
)


def hear_output(account: Account, line: str) -> Account:
    """Return the account after one line of standard output."""
    line = line.rstrip()
    account = replace(account, output=(*account.output, line)[-_KEPT_LINES:])
    for pattern, state, stop in _MARKS:
        if pattern.match(line):
            account = _advance(account, state, stop, line)
            return replace(account, failed=account.failed or "failed with errors" in line)
    return _hear_foreign(account, line)


def hear_complaint(account: Account, line: str) -> Account:
    """Return the account after one line of standard error."""
    line = line.rstrip()
    account = replace(account, complaints=(*account.complaints, line)[-_KEPT_LINES:])
    found = _ISSUE.match(line)
    if found is None:
        return account
    issue = Issue(found.group(1), found.group(2).strip())
    if issue in account.issues:
        return account
    return replace(account, issues=(*account.issues, issue))


def _advance(account: Account, state: State, stop: Stop, line: str) -> Account:
    first = account.stop is Stop.UNSAID and stop is not Stop.UNSAID
    reached = account.state if not account.foreign else State.LAUNCHED
    return replace(
        account,
        state=max(reached, state),
        stop=stop if first else account.stop,
        stop_line=line if first else account.stop_line,
        foreign=False,
    )


def _hear_foreign(account: Account, line: str) -> Account:
    """Take the first two lines for "announced" and "started" if none is in words that are known.

    The words may follow the system's language, their order does not. Nothing beyond "started"
    is concluded from lines that are not understood.
    """
    silent = account.state is State.LAUNCHED
    if not line or not (account.foreign or silent) or account.state >= State.STARTED:
        return account
    return replace(account, state=State(account.state + 1), foreign=True)
