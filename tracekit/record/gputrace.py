"""GPU frame capture: a few steps of a workload, kept for Xcode to replay and to look into."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from tracekit import tables
from tracekit.base import (
    InputError,
    Process,
    Provenance,
    Recording,
    ToolError,
    UsageError,
    files,
    make_timestamp,
    own_version,
    processes,
    stages,
    system,
)
from tracekit.machine import describe, git_commit
from tracekit.record import gpucapture
from tracekit.record.gpucapture import SWITCH
from tracekit.record.progress import Progress, quiet
from tracekit.record.requirements import GPUTRACE
from tracekit.record.xctrace.attached_worker import report_of, start_worker
from tracekit.record.xctrace.command import check, own_environment, run
from tracekit.workload import Plan, Spec, command, journal
from tracekit.workload import plan as workload_plan


@dataclass(frozen=True)
class FrameTimeouts:
    """Seconds to wait: for the whole capture, and for a requested end."""

    capture: float = 1800
    leave: float = 20


TIMEOUTS = FrameTimeouts()
STEPS = 3  # a capture grows by all that a step touches
_FOLLOWED = ("parameters", "warmup", "repeats")
"""The choices of a plan that a capture follows."""
_FOLLOWED_ATTACHED = ("attach", "repeats")
UNTIMED = (
    "Capturing changes how long everything takes, so nothing of this run was timed; record it "
    "without --gputrace for that."
)


def capture_gpu(
    plan: Plan,
    progress: Progress = quiet,
    timeouts: FrameTimeouts = TIMEOUTS,
    more: Sequence[str] = (),
) -> Recording:
    """Capture a few steps of the plan's workload into `capture.gputrace` of a new folder.

    Of a running process, Apple's gpucapture captures command buffers. `more` are further options of
    the command line that have no meaning for a capture. Raise UsageError if the plan has neither a
    workload nor a process that can be captured, asks for a recorder or has a wrong parameter;
    ToolError if this machine has no Metal, or no gpucapture, or nothing was captured.
    """
    _check(plan, more)
    tool = ""
    doubt = ""
    if plan.attach is not None:
        tool = _find_gpucapture()
        doubt = gpucapture.doubt_process(plan.attach)
    workload_plan.require_place(plan)
    recording = workload_plan.claim_folder(plan.output, plan.name, _provenance(plan))
    with workload_plan.kept_unless_misused(recording), stages.running(recording, "record"):
        if plan.attach is not None:
            _warn(recording, doubt)
            with _explaining(doubt):
                _capture_attached(tool, plan.attach, recording, progress, timeouts)
        else:
            _capture(plan, recording, progress, timeouts)
    return recording


def _find_gpucapture() -> str:
    """Return the path of gpucapture; raise ToolError if there is none."""
    tool = gpucapture.find_tool(run, gpucapture.NAME)
    if not tool:
        raise ToolError(
            f"A running process is captured by gpucapture, which comes with {gpucapture.ORIGIN}, "
            "and there is none here.",
            hint="Capture a workload with --workload, or let the program call MTLCaptureManager.",
        )
    return tool


@contextmanager
def _explaining(doubt: str) -> Generator[None]:
    """Give an error of the tool a doubt as its hint, if there is one."""
    try:
        yield
    except ToolError as error:
        raise ToolError(error.message, doubt or error.hint) from error


def _capture_attached(
    tool: str, pid: int, recording: Recording, progress: Progress, timeouts: FrameTimeouts
) -> None:
    provenance = recording.provenance()
    count = provenance.repeats or STEPS
    argv = gpucapture.make_command(tool, pid, count, str(recording.gputrace.resolve()))
    name = ""
    with suppress(psutil.Error):
        name = psutil.Process(pid).name()
    provenance = replace(
        provenance,
        command_lines=(argv,),
        started=make_timestamp(),
        targets=(Process(pid, name),),
    )
    recording.save_provenance(provenance)
    progress(f"capturing {count} command buffers of process {pid}")
    completed = run(argv, timeouts.capture)
    recording.save_provenance(replace(provenance, ended=make_timestamp()))
    check(completed)
    if not recording.gputrace.exists():
        raise ToolError(
            f"gpucapture ended well, but left no {recording.gputrace}.",
            hint="Does the process commit command buffers?",
        )
    _open_tables(recording)


def _check(plan: Plan, more: Sequence[str]) -> None:
    workload_plan.check(plan)
    heeded = _FOLLOWED
    if plan.attach is not None:
        heeded = _FOLLOWED_ATTACHED
    elif plan.workload is None:
        raise UsageError(
            "--gputrace captures a workload: the program itself must begin and end the capture.",
            hint="Name one with --workload, which `tracekit list workloads` lists; or a running "
            "process with --attach.",
        )
    unheeded = [*plan.find_given_options(heeded), *more]
    if unheeded:
        raise UsageError(
            f"--gputrace takes the place of a recording, so {', '.join(unheeded)} has no meaning.",
            hint="Record and capture in two runs; --repeats is how many steps to capture.",
        )


def _capture(plan: Plan, recording: Recording, progress: Progress, timeouts: FrameTimeouts) -> None:
    gputrace = recording.gputrace.resolve()
    spec = Spec.from_plan(
        plan,
        recording,
        repeats=plan.repeats or STEPS,
        seconds=None,
        lifeline=True,
        gputrace=gputrace,
    )
    spec.save(recording.spec_file)
    argv = command(recording.spec_file.resolve())
    initial_provenance = replace(
        recording.provenance(), command_lines=((f"{SWITCH}=1", *argv),), started=make_timestamp()
    )
    recording.save_provenance(initial_provenance)
    # The worker's standard input is a pipe from us, which ends with us, and the worker with it.
    policy = processes.StopPolicy(((0, timeouts.leave), (system.SIGKILL, 5.0)), lifeline=True)
    env = own_environment({})
    env[SWITCH] = "1"  # Metal reads it when a process starts
    child = start_worker(argv, policy, env, recording)
    try:
        progress("preparing, warming up and capturing; writing it can take minutes")
        is_late = not child.wait(timeouts.capture)
    finally:
        child.stop()
        child.clean_up()
    report = report_of(child, recording.journal_file, recording)
    _complete_provenance(recording, report)
    if is_late:
        raise ToolError(f"The capture was not done within {timeouts.capture:g} s and was ended.")
    _require_capture(recording, report)
    if report.launches:
        text = write_expectations(report.launches)
        files.write_whole(recording.expectations_file, text.encode())
    _open_tables(recording)


def _open_tables(recording: Recording) -> None:
    """Let later stages read the tables of the capture; note why, if it cannot be read."""
    try:
        tables.of_bundle.leave_in_place(recording.gputrace, recording.exports)
    except InputError as error:
        _warn(recording, f"The capture cannot be read: {error.message}")


def _warn(recording: Recording, warning: str) -> None:
    """Note a warning of a run; "" is none."""
    if warning:
        provenance = recording.provenance()
        warnings = (*provenance.warnings, warning)
        recording.save_provenance(replace(provenance, warnings=warnings))


def write_expectations(launches: Sequence[journal.KernelLaunch]) -> str:
    """Return the expectations of a workload of its own kernels, as TOML for `kernel check`.

    A function has expected sizes if all its launches have the same ones.
    """
    by_function: dict[str, list[journal.KernelLaunch]] = {}
    for launch in launches:
        by_function.setdefault(launch.function, []).append(launch)
    lines: list[str] = [_HEAD]
    for function, own_launches in by_function.items():
        texts = [f"function=={function}", "missing_bindings==0"]
        sizes = {(launch.grid, launch.threadgroup) for launch in own_launches}
        if len(sizes) == 1:
            texts += _list_sizes("threads", own_launches[0].grid)
            texts += _list_sizes("threadgroup", own_launches[0].threadgroup)
        texts += [f"bindings.{name}==bound" for name in own_launches[0].arguments]
        quoted = [f"    {json.dumps(text)}," for text in texts]
        lines += ["[[dispatch]]", "expect = [", *quoted, "]", ""]
    return "\n".join(lines)


_HEAD = "# The launches of the workload's own kernels, as it made them: tracekit kernel check\n"


def _list_sizes(quantity: str, sizes: tuple[int, int, int]) -> list[str]:
    return [f"{quantity}.{axis}=={size}" for axis, size in zip("xyz", sizes, strict=True)]


def _complete_provenance(recording: Recording, report: journal.WorkloadReport) -> None:
    """Note the end of the capture, the worker's process and its warnings."""
    provenance = recording.provenance()
    targets: tuple[Process, ...] = ()
    if report.pid:
        targets = (Process(report.pid, report.process),)
    warnings = tuple(dict.fromkeys((*provenance.warnings, *report.warnings)))
    recording.save_provenance(
        replace(provenance, ended=make_timestamp(), targets=targets, warnings=warnings)
    )


def _require_capture(recording: Recording, report: journal.WorkloadReport) -> None:
    """Raise an error if the worker was stopped, failed or left no capture."""
    if report.state == "interrupted":
        raise KeyboardInterrupt("the workload was asked to stop")
    if report.exit_code == UsageError.exit_code:
        raise UsageError(report.error, report.hint)
    if report.state != "done" or not recording.gputrace.exists():
        reason = report.error or f"The workload ended, but left no {recording.gputrace}."
        raise ToolError(f"Nothing was captured. {reason}", report.hint)


def _doubt_replay(system_name: str) -> tuple[str, ...]:
    """Return a warning on a system whose Xcode may not replay a capture of MLX."""
    if not system_name.startswith("macOS 26"):
        return ()
    warning = (
        "Xcode may not replay this capture: on macOS 26, replays of MLX have failed with "
        '"residency set limit of 32 exceeded" (ml-explore/mlx #2846).'
    )
    return (warning,)


def _provenance(plan: Plan) -> Provenance:
    machine = describe()
    choices = {name: getattr(plan, name) for name in _FOLLOWED}
    choices |= {"recorder": GPUTRACE, "counters": "off", "repeats": plan.repeats or STEPS}
    return Provenance(
        **choices,
        tracekit=own_version(),
        created=make_timestamp(),
        workload=plan.workload.name if plan.workload else "",
        machine=machine,
        git_commit=git_commit(Path.cwd()),
        warnings=(UNTIMED, *_doubt_replay(machine.get("os", ""))),
    )
