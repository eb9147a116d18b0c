"""A worker of ours that xctrace launches: its states, and the time that its steady phase may take.

xctrace has one time limit, which begins when it records; the workload's begins when it is ready. So
xctrace gets time for both, and is asked to stop early if the worker stays beyond its own limit, or
never reports itself.
"""

import time
from dataclasses import dataclass

import msgspec

from tracekit.base import Recording
from tracekit.record.progress import Progress
from tracekit.record.recorder import ProgramLaunch
from tracekit.record.xctrace.command_line import RecordedSubject
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript
from tracekit.record.xctrace.recording_process import Deadlines
from tracekit.workload import journal

STATES = {"preparing": "preparing the workload", "warming": "warming up, outside of the trace"}
_LAUNCHED_STATES = {**STATES, "warming": "warming up", "steady": "recording the steady phase"}


def read_report(recording: Recording) -> journal.WorkloadReport | None:
    """Return the worker's account as it last saved it, at a change of its state; None without."""
    try:
        text = recording.workload_file.read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(text, type=journal.WorkloadReport)


@dataclass
class LaunchedWorker:
    """One launched worker, from the start of its recording."""

    target: ProgramLaunch
    recording: Recording
    limit: float  # of its steady phase, in seconds
    deadlines: Deadlines
    progress: Progress
    end_reason: str = ""  # why the recording was ended before xctrace's own limit; empty if not
    _started: float | None = None  # when xctrace began to record, monotonic seconds
    _steady: float | None = None  # when the worker was first seen in its steady phase
    _state: str = ""
    _changed: int = 0  # when its report was last written

    def subject(self) -> RecordedSubject:
        """Return the subject of the recording."""
        self._started = None
        self._steady = None
        self._state = ""
        self.end_reason = ""
        return RecordedSubject(self.target, self._follow_state, self._is_finished)

    def _follow_state(self, account: RecordingTranscript) -> None:
        if account.state is RecordingState.STARTED:
            self._started = time.monotonic()

    def _is_finished(self) -> bool:
        """Return whether nothing of it is left to record, though it may still run."""
        current_time = time.monotonic()
        self._look(current_time)
        if self._started is None:
            return False
        if not self._state and current_time - self._started > self.deadlines.idle:
            self.end_reason = "The launched workload reported nothing, so xctrace was asked to stop"
            return True
        if self._steady is None:
            return False
        if current_time - self._steady > self.limit + self.deadlines.slack:
            self.end_reason = "The workload outlived its time limit, so xctrace was asked to stop"
            return True
        return False

    def _look(self, current_time: float) -> None:
        """Read the worker's state if it has written one since the last look."""
        try:
            changed = self.recording.workload_file.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if changed == self._changed:
            return
        self._changed = changed
        report = read_report(self.recording)
        if report is None or report.state == self._state:
            return
        self._state = report.state
        if self._state == "steady":
            self._steady = current_time
        if self._state in _LAUNCHED_STATES:
            self.progress(_LAUNCHED_STATES[self._state])
