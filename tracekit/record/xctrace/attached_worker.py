"""A worker of ours that xctrace attaches to: warmed up before the trace, kept until it is saved."""

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import Recording, ToolError, UsageError, documents, processes
from tracekit.record.progress import Progress
from tracekit.record.recorder import Attach, Warmed, start_error
from tracekit.record.xctrace.command import own_environment
from tracekit.record.xctrace.command_line import RecordedSubject
from tracekit.record.xctrace.launched_worker import STATES, read_report
from tracekit.record.xctrace.progress import RecordingState, RecordingTranscript
from tracekit.workload import journal as workload_journal

_LIFELINE = processes.StopPolicy(lifeline=True)


@dataclass(frozen=True)
class WorkerTimeouts:
    """Seconds to wait for a worker."""

    ready: float = 600  # from its launch until it has warmed up
    leave: float = 20  # until it has closed its account and ended, after it was asked to
    poll: float = 0.02  # between two checks of its state


@dataclass
class AttachedWorker:
    """One worker at a time, from its launch until it may leave.

    Its standard input is a pipe from us, which ends with us, and the worker with it.
    """

    target: Warmed
    recording: Recording
    progress: Progress
    timeouts: WorkerTimeouts
    interrupted: bool = False
    _child: processes.Child | None = None
    _tries: int = 0
    _let_go: bool = False
    _stop_requested: bool = False

    def ready(self) -> RecordedSubject:
        """Return a worker that has warmed up and waits: the one from before if it still does.

        Raise UsageError if it refused its parameters, ToolError if it failed or was late.
        """
        child = self._child
        # A worker that was let go may still report that it waits: it updates its state seldom.
        if child is None or self._let_go or self._state().state != "waiting":
            self.close()
            for path in (self._journal, self.recording.workload_file):
                set_aside(path, self._tries)
            self._tries += 1
            self._let_go = False
            self._stop_requested = False
            launch = self.target.launch
            env = own_environment(launch.env)
            child = start_worker(launch.argv, _LIFELINE, env, self.recording)
            self._child = child
        self._await(child)
        return RecordedSubject(Attach(child.pid), self._follow_state, self._is_finished)

    def report(self) -> workload_journal.WorkloadReport:
        """Return the worker's report, completed with its end if it could not close it itself."""
        return report_of(self._child, self._journal, self.recording)

    @property
    def _journal(self) -> Path:
        assert self.target.launch.journal is not None
        return self.target.launch.journal

    def _await(self, child: processes.Child) -> None:
        deadline = time.monotonic() + self.timeouts.ready
        previous_state = ""
        while True:
            state = self._state().state
            if state == "waiting":
                return
            if child.exit_status is not None:
                report = self.report()
                if report.exit_code == UsageError.exit_code:
                    raise UsageError(report.error, report.hint)
                raise ToolError(f"Nothing was recorded: {report.error}", report.hint)
            if time.monotonic() >= deadline:
                raise ToolError(
                    f"The workload was not ready within {self.timeouts.ready:g} s, so nothing "
                    f"was recorded; its last state was: {state}.",
                    hint="Give it smaller parameters, or a shorter --warmup.",
                )
            if state != previous_state and state in STATES:
                self.progress(STATES[state])
            previous_state = state
            time.sleep(self.timeouts.poll)

    def _follow_state(self, account: RecordingTranscript) -> None:
        """Let the worker go once xctrace records; ask it to stop when xctrace does."""
        if account.state is RecordingState.STARTED:
            self._let_go = True
            self.target.go_file.touch()
        elif account.state in {RecordingState.STOPPING, RecordingState.SAVING}:
            self._ask_to_stop()

    def _ask_to_stop(self) -> None:
        """Ask once: another signal would make it leave before the recording is saved."""
        if self._child is not None and not self._stop_requested and not self._is_finished():
            self._stop_requested = True
            self._child.send(signal.SIGINT)

    def _is_finished(self) -> bool:
        assert self._child is not None
        return self._child.exit_status is not None or self._state().complete

    def _state(self) -> workload_journal.WorkloadReport:
        """Return the worker's account as it last saved it: at each change of its state."""
        return read_report(self.recording) or workload_journal.WorkloadReport()

    def close(self) -> None:
        """Let the worker leave, and stop it if it does not."""
        if self._child is None:
            return
        self.target.go_file.unlink(missing_ok=True)
        self._ask_to_stop()
        self._child.stop(processes.StopPolicy(((0, self.timeouts.leave), *_LIFELINE.signals)))
        self._child.clean_up()
        self.interrupted |= self._child.interrupted


def set_aside(path: Path, number: int) -> None:
    """Keep a file of a failed try, if there is one, with the number of the try in its name."""
    if path.exists():
        path.rename(path.with_name(f"{path.stem}-try-{number}{path.suffix}"))


def start_worker(
    argv: tuple[str, ...],
    policy: processes.StopPolicy,
    env: Mapping[str, str],
    recording: Recording,
) -> processes.Child:
    """Start a worker, its output in files of the run; raise ToolError if that is impossible."""
    output = recording.target_output_file
    try:
        with output.open("ab") as stdout_file, errors_file(recording).open("ab") as stderr_file:
            return processes.start_child(
                argv, policy, env=env, stdout=stdout_file, stderr=stderr_file
            )
    except OSError as error:
        raise start_error(argv, error) from error


def report_of(
    child: processes.Child | None, journal: Path, recording: Recording
) -> workload_journal.WorkloadReport:
    """Return a worker's report, completed with its end if it could not close it itself."""
    report = workload_journal.fold(journal)
    if report.complete or child is None:
        return report
    report = workload_journal.mark_unclosed(report, _describe_end(child, recording))
    documents.save(recording.workload_file, report)
    return report


def _describe_end(child: processes.Child, recording: Recording) -> str:
    if child.killed:
        return "The workload did not end when it was asked to, and was killed."
    how = processes.exit_words(child.exit_status)
    message = f"The workload ended with {how} before it closed its account."
    words = processes.last_words(errors_file(recording))
    if words:
        return f"{message} Its last words: {words}"
    return message


def errors_file(recording: Recording) -> Path:
    """Return the file of a program's standard error, if tracekit itself starts it."""
    return recording.folder / "target-errors.txt"
