"""A worker of ours that xctrace attaches to: warmed up before the trace, kept until it is saved."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tracekit.base import Recording, ToolError, UsageError, save
from tracekit.record.recorder import Attach, Progress, Warmed
from tracekit.record.xctrace.command import end_group, ending, not_started, own_environment
from tracekit.record.xctrace.command_line import Subject
from tracekit.record.xctrace.progress import Account, State
from tracekit.workload import WorkloadReport, fold, unclosed

_TOLD = {"preparing": "preparing the workload", "warming": "warming up, outside of the trace"}
_LAST_WORDS = 2000


@dataclass(frozen=True)
class WorkerPatience:
    """How long to wait for a worker, in seconds.

    Attributes:
        ready: From its launch until it has warmed up.
        leave: Until it has closed its account and ended, after it was told to.
        poll: Between two looks at it.
    """

    ready: float = 600
    leave: float = 20
    poll: float = 0.02


class AttachedWorker:
    """One worker at a time, from its launch until it may leave; a context manager.

    Its standard input is a pipe from us, which ends with us, and the worker with it.
    """

    def __init__(
        self,
        target: Warmed,
        recording: Recording,
        progress: Progress,
        patience: WorkerPatience,
    ) -> None:
        self._target = target
        self._recording = recording
        self._progress = progress
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None
        self._tries = 0
        self._let_go = False
        self._asked = False
        self._killed = False
        self.interrupted = False

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the worker leave, and see to it that it does."""
        self._end()

    def ready(self) -> Subject:
        """Return a worker that has warmed up and waits: the one from before if it still does.

        Raises:
            UsageError: The worker refused its parameters.
            ToolError: It failed, or was not ready in time.
        """
        # One that was let go may still say that it waits: it looks only now and then.
        if self._process is None or self._let_go or self._state().state != "waiting":
            self._begin_anew()
        process = self._process if self._process is not None else self._start()
        self._await(process)
        return Subject(Attach(process.pid), self._hear, self._finished)

    def report(self) -> WorkloadReport:
        """Return what the worker said, and how it ended where it could not say so itself."""
        report = fold(self._journal)
        if report.complete or self._process is None:
            return report
        report = unclosed(report, self._end_in_words(self._process))
        save(self._recording.workload_file, report)
        return report

    @property
    def _journal(self) -> Path:
        assert self._target.launch.journal is not None
        return self._target.launch.journal

    @property
    def _errors(self) -> Path:
        return self._recording.folder / "target-errors.txt"

    def _begin_anew(self) -> None:
        """Keep what a worker of an earlier try said, and be ready to start another."""
        self._end()
        for path in (self._journal, self._recording.workload_file):
            if path.exists():
                path.rename(path.with_name(f"{path.stem}-try-{self._tries}{path.suffix}"))
        self._process, self._let_go, self._asked = None, False, False

    def _start(self) -> subprocess.Popen[bytes]:
        self._tries += 1
        argv = self._target.launch.argv
        output = self._recording.target_output_file
        try:
            with output.open("ab") as out, self._errors.open("ab") as err:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    env=own_environment(self._target.launch.env),
                    start_new_session=True,
                )
        except OSError as error:
            raise not_started(argv, error) from error
        return self._process

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + self._patience.ready
        told = ""
        while (state := self._state().state) != "waiting":
            if process.poll() is not None:
                raise self._not_ready(process)
            if time.monotonic() >= deadline:
                raise ToolError(
                    f"The workload was not ready within {self._patience.ready:g} s, so nothing "
                    f"was recorded; its last state was: {state}.",
                    hint="Give it smaller parameters, or a shorter --warmup.",
                )
            if state != told and state in _TOLD:
                self._progress(_TOLD[state])
            told = state
            time.sleep(self._patience.poll)

    def _not_ready(self, process: subprocess.Popen[bytes]) -> ToolError | UsageError:
        report = self.report()
        if report.exit_code == UsageError.exit_code:
            return UsageError(report.error, report.hint)
        why = report.error or self._end_in_words(process)
        return ToolError(f"Nothing was recorded: {why}", report.hint)

    def _hear(self, account: Account) -> None:
        """Let the worker go once xctrace records; ask it to stop when xctrace does."""
        if account.state is State.STARTED:
            self._let_go = True
            self._target.go_file.touch()
        elif account.state in {State.STOPPING, State.SAVING}:
            self._ask_to_stop()

    def _ask_to_stop(self) -> None:
        """Ask once: another signal would make it leave before the recording is saved."""
        if self._process is not None and not self._asked and not self._finished():
            self._asked = True
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    def _finished(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None or self._state().complete

    def _state(self) -> WorkloadReport:
        """Return the worker's account as it last saved it: at each change of its state."""
        try:
            text = self._recording.workload_file.read_bytes()
        except FileNotFoundError:
            return WorkloadReport()
        return msgspec.json.decode(text, type=WorkloadReport)

    def _end(self) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        self._target.go_file.unlink(missing_ok=True)
        self._ask_to_stop()
        try:
            process.wait(self._patience.leave)
        except subprocess.TimeoutExpired:
            self._killed = True
        except KeyboardInterrupt:
            self.interrupted = self._killed = True
        end_group(process)
        process.wait()
        process.stdin.close()

    def _end_in_words(self, process: subprocess.Popen[bytes]) -> str:
        if self._killed:
            return "The workload did not end when it was asked to, and was killed."
        code = process.returncode
        how = f"ended with {ending(code)}" if code is not None else "was still running"
        words = _tail(self._errors)
        return f"The workload {how} before it closed its account." + (
            f" Its last words: {words}" if words else ""
        )


def _tail(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
    return ""
