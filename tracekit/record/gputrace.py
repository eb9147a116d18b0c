"""GPU frame capture: a few steps of a workload, kept for Xcode to replay and to look into."""

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tracekit.base import Process, Provenance, Recording, ToolError, UsageError, now, save, stage
from tracekit.machine import describe, git_commit
from tracekit.record.recorder import Progress, quiet
from tracekit.record.recorders import GPUTRACE
from tracekit.record.xctrace.command import distorts, end_group, ending, not_started
from tracekit.workload import (
    Plan,
    Spec,
    WorkloadReport,
    check,
    command,
    discard,
    fold,
    new_folder,
    require_place,
    unclosed,
)


@dataclass(frozen=True)
class Patience:
    """Seconds to wait: for the whole capture, for an end that was asked for, between looks."""

    whole: float = 1800
    leave: float = 20
    poll: float = 0.05
    probe: float = 120


PATIENCE = Patience()


_PROBE = "import mlx.core as mx; print('metal' if mx.metal.is_available() else 'none')"


def require_metal(patience: Patience = PATIENCE) -> None:
    """Raise ToolError unless MLX finds Metal here; asked in a process of its own."""
    argv = (sys.executable, "-P", "-c", _PROBE)
    try:
        asked = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience.probe,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise not_started(argv, error) from error
    except subprocess.TimeoutExpired:
        raise ToolError(f"MLX did not answer within {patience.probe:g} s.") from None
    if asked.returncode != 0:
        last = asked.stderr.strip().rpartition("\n")[2]
        raise ToolError(f"MLX cannot be loaded, so nothing can be captured: {last}")
    if asked.stdout.strip() != "metal":
        raise ToolError(
            "GPU frame capture needs Metal, and MLX finds none on this machine "
            f"({platform.system()} {platform.machine()}).",
            hint="It takes a Mac with a GPU of Apple's.",
        )


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


STEPS = 3  # a capture grows by all that a step touches
UNTIMED = (
    "Capturing changes how long everything takes, so nothing of this run was timed; record it "
    "without --gputrace for that."
)


def capture_gpu(plan: Plan, progress: Progress = quiet, patience: Patience = PATIENCE) -> Recording:
    """Capture a few steps of the plan's workload into `capture.gputrace` of a new folder.

    Raises:
        UsageError: The plan has no workload, or asks for a recorder; a parameter is wrong.
        ToolError: There is no Metal here, or no capture came of it.
        InterruptedRunError: Someone asked to stop.
    """
    _check(plan)
    require_place(plan)
    progress("looking for Metal")
    require_metal(patience)
    recording = new_folder(plan, _provenance(plan))
    try:
        with stage(recording, "record"):
            _capture(plan, recording, progress, patience)
    except UsageError:
        discard(recording)
        raise
    return recording


def _check(plan: Plan) -> None:
    check(plan)
    if plan.workload is None:
        raise UsageError(
            "--gputrace captures a workload: the program itself must begin and end the capture.",
            hint="Name one with --workload; `tracekit workloads` lists them.",
        )
    usual = Plan()
    asked = {
        f"--recorder {plan.recorder}": plan.recorder != usual.recorder,
        f"--method {plan.method}": plan.method != usual.method,
        "--template": plan.templates != usual.templates,
        "--counters on": plan.counters == "on",
        "--time-limit": plan.time_limit != usual.time_limit,
    }
    unheeded = [option for option, given in asked.items() if given]
    if unheeded:
        raise UsageError(
            f"--gputrace takes the place of a recording, so {', '.join(unheeded)} has no meaning.",
            hint="Record and capture in two runs; --repeats is how many steps to capture.",
        )


def _capture(plan: Plan, recording: Recording, progress: Progress, patience: Patience) -> None:
    spec = _spec(plan, recording)
    spec.save(recording.spec_file)
    argv = command(recording.spec_file.resolve())
    provenance = recording.provenance()
    line = (f"{SWITCH}=1", *argv)
    recording.save_provenance(replace(provenance, command_lines=(line,), started=now()))
    process = start(argv, recording)
    try:
        late = not finished_in_time(process, spec, progress, patience)
    finally:
        killed = end(process, patience)
    report = report_of(process, recording, killed=killed)
    _keep(recording, report)
    if late:
        raise ToolError(f"The capture was not done within {patience.whole:g} s and was ended.")
    _judge(report, recording)


def _spec(plan: Plan, recording: Recording) -> Spec:
    assert plan.workload is not None
    return Spec(
        file=plan.workload.file.resolve(),
        name=plan.workload.name,
        journal=recording.journal_file.resolve(),
        report=recording.workload_file.resolve(),
        parameters=dict(plan.parameters),
        warmup=plan.warmup,
        repeats=plan.repeats or STEPS,
        lifeline=True,
        gputrace=recording.gputrace.resolve(),
    )


def _keep(recording: Recording, report: WorkloadReport) -> None:
    provenance = recording.provenance()
    recording.save_provenance(
        replace(
            provenance,
            ended=now(),
            targets=(Process(report.pid, report.process),) if report.pid else (),
            warnings=tuple(dict.fromkeys((*provenance.warnings, *report.warnings))),
        )
    )


def _judge(report: WorkloadReport, recording: Recording) -> None:
    if report.state == "interrupted":
        raise KeyboardInterrupt("the workload was asked to stop")
    if report.exit_code == UsageError.exit_code:
        raise UsageError(report.error, report.hint)
    if report.state != "done" or not recording.gputrace.exists():
        why = report.error or f"The workload ended, but left no {recording.gputrace}."
        raise ToolError(f"Nothing was captured. {why}", report.hint)


def _provenance(plan: Plan) -> Provenance:
    return Provenance(
        tracekit=version("tracekit"),
        created=now(),
        recorder=GPUTRACE,
        workload=plan.workload.name if plan.workload else "",
        parameters=dict(plan.parameters),
        counters="off",
        warmup=plan.warmup,
        repeats=plan.repeats or STEPS,
        machine=describe(),
        git_commit=git_commit(Path.cwd()),
        warnings=(UNTIMED,),
    )
