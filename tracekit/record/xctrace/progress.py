"""The output of a recording, line by line, and the account that follows from it.

No code here starts or waits: lines go in, an account of the recording comes out.
"""

import os
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import IO

from tracekit.record.beliefs import list_texts


class Tail:
    """The output of a process to a file, read line by line while it writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offset = 0

    def lines(self, *, has_ended: bool = False) -> list[str]:
        """Return the lines since the last call; one without a line end only after `has_ended`."""
        handle = self._file.fileno()
        text = os.pread(handle, os.fstat(handle).st_size - self._offset, self._offset)
        if not has_ended:
            text = text[: text.rfind(b"\n") + 1]
        if not text:
            return []
        self._offset += len(text)
        lines = text.removesuffix(b"\n").split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]


class RecordingState(IntEnum):
    """How far a recording has come; it never goes back."""

    LAUNCHED = 0  # xctrace was started and has printed nothing yet
    ANNOUNCED = 1  # it named its template; the target is not yet started or attached to
    STARTED = 2  # it records: the line on Ctrl-C or its notification proves that
    STOPPING = 3  # it printed why it stops
    SAVING = 4  # it writes the bundle; this can take minutes
    SAVED = 5  # it reported that the bundle is written


@dataclass(frozen=True)
class RecordingTranscript:
    """The account of a recording by its output so far."""

    state: RecordingState = RecordingState.LAUNCHED  # how far it has come
    stop_line: str = ""  # the first line with the reason why it stops
    failed: bool = False  # it reported that the recording failed with errors
    errors: tuple[str, ...] = ()  # of its block of run issues, each once
    warnings: tuple[str, ...] = ()
    foreign: bool = False  # its lines were not in English and are read by their order alone
    is_understood: bool = False  # at least one of its lines was in known words
    is_noticed: bool = False  # the notification said that it records
    output: tuple[str, ...] = ()  # its lines on standard output
    complaints: tuple[str, ...] = ()  # its lines on standard error

    @property
    def text(self) -> str:
        """All lines, complaints first."""
        return "\n".join((*self.complaints, *self.output))

    @property
    def is_stopped(self) -> bool:
        """Whether it reported that it was stopped, by its time limit or by a signal."""
        return self.stop_line.startswith((*list_texts("line-limit"), *list_texts("line-stopping")))


_KEPT_LINES = 400
_ISSUE = re.compile(r"^\s*\* \[(Error|Warning)\] (.+)$")
_FAILED = "line-failed"
_MARKS = {  # the state that a line announces, by the belief about the line
    "line-announced": RecordingState.ANNOUNCED,
    "line-started": RecordingState.STARTED,
    "line-limit": RecordingState.STOPPING,
    "line-exited": RecordingState.STOPPING,
    "line-stopping": RecordingState.STOPPING,
    "line-completed": RecordingState.SAVING,
    _FAILED: RecordingState.SAVING,
    "line-saved": RecordingState.SAVED,
}


def hear_output(account: RecordingTranscript, line: str) -> RecordingTranscript:
    """Return the account after one line of standard output."""
    line = line.rstrip()
    account = replace(account, output=(*account.output, line)[-_KEPT_LINES:])
    for belief, state in _MARKS.items():
        if line.startswith(list_texts(belief)):
            return _hear_mark(account, line, state)
    return _hear_foreign(account, line)


def _hear_mark(
    account: RecordingTranscript, line: str, state: RecordingState
) -> RecordingTranscript:
    """Return the account after a line that announces a state."""
    if account.foreign:  # the states so far were only guessed
        proven_state = RecordingState.STARTED if account.is_noticed else RecordingState.LAUNCHED
        account = replace(account, state=proven_state, foreign=False)
    stop_line = account.stop_line
    if state is RecordingState.STOPPING:
        stop_line = stop_line or line
    return replace(
        account,
        state=max(account.state, state),
        is_understood=True,
        stop_line=stop_line,
        failed=account.failed or line.startswith(list_texts(_FAILED)),
    )


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


def hear_notice(account: RecordingTranscript) -> RecordingTranscript:
    """Return the account after the notification that it records."""
    return replace(account, state=max(account.state, RecordingState.STARTED), is_noticed=True)


def _hear_foreign(account: RecordingTranscript, line: str) -> RecordingTranscript:
    """Take the first two lines for "announced" and "started" if none is in known words.

    The words may follow the system's language, but their order does not. No state beyond "started"
    is concluded from lines that are not understood.
    """
    if not line or account.is_understood:
        return account
    if account.state >= RecordingState.STARTED:
        return replace(account, foreign=True)
    return replace(account, state=RecordingState(account.state + 1), foreign=True)
