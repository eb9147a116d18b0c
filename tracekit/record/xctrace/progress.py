"""What a recording says of itself, line by line, and what follows from it.

Nothing here starts or waits: lines go in, an account of the recording comes out.
"""

import os
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import IO


class Tail:
    """What a process writes to a file, read line by line while it writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offset = 0

    def lines(self, *, has_ended: bool = False) -> list[str]:
        """Return the lines since the last call; one without a line end only after `has_ended`."""
        handle = self._file.fileno()
        text = os.pread(handle, os.fstat(handle).st_size - self._offset, self._offset)
        whole_lines = text if has_ended else text[: text.rfind(b"\n") + 1]
        self._offset += len(whole_lines)
        lines = whole_lines.removesuffix(b"\n").split(b"\n") if whole_lines else []
        return [line.decode("utf-8", "replace") for line in lines]


class RecordingState(IntEnum):
    """How far a recording has come; it never goes back."""

    LAUNCHED = 0  # xctrace was started and has said nothing yet
    ANNOUNCED = 1  # it named its template; the target is not yet started or attached to
    STARTED = 2  # it records: only the line on Ctrl-C proves that
    STOPPING = 3  # it said why it stops
    SAVING = 4  # it writes the bundle; this can take minutes
    SAVED = 5  # it said that the bundle is written


@dataclass(frozen=True)
class RecordingTranscript:
    """All that a recording has said so far."""

    state: RecordingState = RecordingState.LAUNCHED  # how far it has come
    stop_line: str = ""  # the first line that says why it stops
    failed: bool = False  # it said that the recording failed with errors
    errors: tuple[str, ...] = ()  # of its block of run issues, each once
    warnings: tuple[str, ...] = ()
    foreign: bool = False  # its lines were not in English and are read by their order alone
    output: tuple[str, ...] = ()  # its lines on standard output
    complaints: tuple[str, ...] = ()  # its lines on standard error

    @property
    def text(self) -> str:
        """All lines, complaints first."""
        return "\n".join((*self.complaints, *self.output))

    @property
    def is_stopped(self) -> bool:
        """Tell whether it says that it was stopped, by its time limit or by a signal."""
        return self.stop_line.startswith(("Reached specified time limit", "Stopping recording"))


_KEPT_LINES = 400
_ISSUE = re.compile(r"^\s*\* \[(Error|Warning)\] (.+)$")
_MARKS = (
    (re.compile(r"^Starting recording with "), RecordingState.ANNOUNCED),
    (re.compile(r"^Ctrl-C to stop the recording"), RecordingState.STARTED),
    (
        re.compile(r"^(Reached specified time limit|Target app exited|Stopping recording)"),
        RecordingState.STOPPING,
    ),
    (re.compile(r"^Recording (completed|failed with errors)"), RecordingState.SAVING),
    (re.compile(r"^Output file saved as: "), RecordingState.SAVED),
)


def hear_output(account: RecordingTranscript, line: str) -> RecordingTranscript:
    """Return the account after one line of standard output."""
    line = line.rstrip()
    account = replace(account, output=(*account.output, line)[-_KEPT_LINES:])
    for pattern, state in _MARKS:
        if pattern.match(line):
            reached = account.state if not account.foreign else RecordingState.LAUNCHED
            stops = state is RecordingState.STOPPING and not account.stop_line
            return replace(
                account,
                state=max(reached, state),
                stop_line=line if stops else account.stop_line,
                failed=account.failed or "failed with errors" in line,
                foreign=False,
            )
    return _hear_foreign(account, line)


def hear_complaint(account: RecordingTranscript, line: str) -> RecordingTranscript:
    """Return the account after one line of standard error."""
    line = line.rstrip()
    account = replace(account, complaints=(*account.complaints, line)[-_KEPT_LINES:])
    issue = _ISSUE.match(line)
    if issue is None:
        return account
    name = "errors" if issue[1] == "Error" else "warnings"
    messages = (*getattr(account, name), issue[2].strip())
    return replace(account, **{name: tuple(dict.fromkeys(messages))})


def _hear_foreign(account: RecordingTranscript, line: str) -> RecordingTranscript:
    """Take the first two lines for "announced" and "started" if none is in words that are known.

    The words may follow the system's language, their order does not. Nothing beyond "started"
    is concluded from lines that are not understood.
    """
    silent = account.state is RecordingState.LAUNCHED
    if not line or not (account.foreign or silent) or account.state >= RecordingState.STARTED:
        return account
    return replace(account, state=RecordingState(account.state + 1), foreign=True)
