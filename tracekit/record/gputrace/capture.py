"""The stage that captures, in the place of a recording."""

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tracekit.base.errors import ToolError, UsageError
from tracekit.base.recording import Process, Provenance, Recording, now, stage
from tracekit.machine import machine
from tracekit.record.choice import GPUTRACE
from tracekit.record.gputrace.metal import require_metal
from tracekit.record.gputrace.patience import PATIENCE, Patience
from tracekit.record.gputrace.process import SWITCH, end, finished_in_time, report_of, start
from tracekit.record.recorder import Progress, quiet
from tracekit.workload.journal import WorkloadReport
from tracekit.workload.plan import Plan, check, discard, new_folder, require_place
from tracekit.workload.worker.spec import Spec, command

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
        machine=machine.describe(),
        git_commit=machine.git_commit(Path.cwd()),
        warnings=(UNTIMED,),
    )
