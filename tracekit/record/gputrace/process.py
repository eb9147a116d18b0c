"""The worker's process: started with Metal's switch, waited for, ended in any case."""

import os
import subprocess
import time
from pathlib import Path

from tracekit.base.recording import Recording, save
from tracekit.record.gputrace.patience import Patience
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.command import end_group, ending, not_started
from tracekit.record.xctrace.environment import distorts
from tracekit.workload.journal import WorkloadReport, fold, unclosed
from tracekit.workload.worker.spec import Spec

SWITCH = "MTL_CAPTURE_ENABLED"
_LAST_WORDS = 2000
_TOLD = {
    "preparing": "preparing the workload",
    "warming": "warming up, before the capture",
    "capturing": "capturing; writing it can take minutes",
}


def start(argv: tuple[str, ...], recording: Recording) -> subprocess.Popen[bytes]:
    """Start the worker with the switch that Metal reads at a process's start.

    Its standard input is a pipe from us, which ends with us, and the worker with it.
    """
    kept = {name: value for name, value in os.environ.items() if not distorts(name)}
    output = recording.target_output_file
    try:
        with output.open("wb") as out, _errors(recording).open("wb") as err:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                env=kept | {SWITCH: "1"},
                start_new_session=True,
            )
    except OSError as error:
        raise not_started(argv, error) from error


def finished_in_time(
    process: subprocess.Popen[bytes], spec: Spec, progress: Progress, patience: Patience
) -> bool:
    """Wait until the worker has ended; return False where it does not in time."""
    deadline = time.monotonic() + patience.whole
    told = ""
    while process.poll() is None:
        if time.monotonic() >= deadline:
            return False
        state = fold(spec.journal).state
        if state != told and state in _TOLD:
            progress(_TOLD[state])
        told = state
        time.sleep(patience.poll)
    return True


def end(process: subprocess.Popen[bytes], patience: Patience) -> bool:
    """See to it that the worker ends; return whether it had to be killed."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(patience.leave)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        end_group(process)
        process.wait()
        return True
    return False


def report_of(
    process: subprocess.Popen[bytes], recording: Recording, *, killed: bool
) -> WorkloadReport:
    """Return what the worker said; where it did not close its account, how it ended."""
    report = fold(recording.journal_file)
    if report.complete:
        return report
    how = "did not end and was killed" if killed else f"ended with {ending(process.returncode)}"
    words = _errors(recording).read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
    report = unclosed(report, f"The workload {how}. {words}".strip())
    save(recording.workload_file, report)
    return report


def _errors(recording: Recording) -> Path:
    return recording.folder / "target-errors.txt"
