"""From a plan to a recording, with a monitor's readings and a program's output next to it."""

import shlex
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tracekit.base import Recording, RecordingChoices, choices
from tracekit.machine import Machine, sampler, sources
from tracekit.record.progress import Progress
from tracekit.record.recorder import (
    Attach,
    Delayed,
    FinishedRecording,
    ProgramLaunch,
    Recorder,
    RecordingRequest,
    Warmed,
    journal_of,
    patience,
)
from tracekit.record.throughput import keep_output
from tracekit.workload import Plan, Spec, command
from tracekit.workload import journal as workload_journal

# The seconds that a launched worker may take to get ready within the recording, on top of the time
# limit, which begins with its steady phase. It ends by itself then, and the recording with it.
READY = 600.0
# The same for a worker that is ready when the recording begins: it has to wake up, and to end.
WAKE_UP = 2.0
# How long a worker that is ready waits for its recorder: for all its tries, and all their time.
_GO_TIMEOUT = 3600.0


def request_for(plan: Plan, recording: Recording, recorder: Recorder) -> RecordingRequest:
    """Return the request to the recorder; write the worker's orders into the run's folder.

    The plan's time limit is that of a workload's steady phase, or of the whole recording of any
    other program.
    """
    request = RecordingRequest(
        target=ProgramLaunch(plan.command, reads_input=plan.reads_input),
        time_limit=plan.time_limit,
        choices=RecordingChoices.from_document(plan),
    )
    if plan.attach is not None:
        return replace(request, target=Attach(plan.attach))
    if plan.after is not None:
        launch = ProgramLaunch(plan.command, reads_input=plan.reads_input)
        return replace(request, target=Delayed(launch, plan.after))
    if plan.workload is None:
        return request
    if recorder.name == "host":
        spec = Spec.from_plan(
            plan, recording, steps=plan.steps, measure_overhead=True, reference=True
        )
        return replace(request, target=_worker(spec, recording))
    if plan.method == "attach":
        go_file = (recording.folder / "worker.go").resolve()
        spec = Spec.from_plan(
            plan, recording, go_file=go_file, go_timeout=_GO_TIMEOUT, lifeline=True
        )
        target = Warmed(_worker(spec, recording), go_file)
        return replace(request, target=target, time_limit=plan.time_limit + WAKE_UP)
    target = _worker(Spec.from_plan(plan, recording), recording)
    return replace(
        request,
        target=target,
        time_limit=plan.time_limit + READY * patience(),
        steady_limit=plan.time_limit,
    )


def find_ignored_options(plan: Plan, recorder: Recorder) -> tuple[str, ...]:
    """Return warnings of a plan's options that do not apply to its target or to the recorder.

    An option that is as by default is not mentioned.
    """
    warnings: list[str] = []
    if plan.workload is None and plan.repeats != Plan.repeats:
        warnings.append(f"--repeats {plan.repeats} was not followed: only a workload has steps.")
    if recorder.name == "host":
        for option, reason in _list_unfollowed_by_host(plan):
            warnings.append(f"{option} was not followed: {reason}.")
    return tuple(warnings)


def _list_unfollowed_by_host(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each option that the host recorder does not follow, and the reason."""
    if plan.workload is not None and plan.method != Plan.method:
        reason = "the host recorder starts its workload itself, and marks the warm-up apart"
        yield f"--method {plan.method}", reason
    if plan.templates not in {(), Plan.templates}:
        option = shlex.join(choices.write_option("template", plan.templates))
        yield option, "only xctrace records templates"
    if plan.instruments:
        instruments = RecordingChoices(templates=plan.templates, instruments=plan.instruments)
        option = shlex.join(instruments.write("instruments"))
        yield option, "only xctrace records instruments"
    if plan.counters == "on":
        yield "--counters on", "only xctrace records counters of the GPU"


def _worker(spec: Spec, recording: Recording) -> ProgramLaunch:
    spec.save(recording.spec_file)
    return ProgramLaunch(command(recording.spec_file.resolve()), journal=spec.journal)


def observe(
    recorder: Recorder,
    request: RecordingRequest,
    recording: Recording,
    progress: Progress,
    telemetry: str,
) -> FinishedRecording:
    """Record, read a monitor of the machine meanwhile, and keep the output of a program.

    `telemetry` is the monitor, by a name that `--telemetry` takes; its errors stop nothing.
    """
    with run_monitor(telemetry, recording.gauges_file, request.time_limit) as monitored:
        recorded = recorder.record(request, recording, progress)
    is_program = isinstance(request.target, ProgramLaunch | Delayed)
    if is_program and journal_of(request.target) is None:
        keep_output(recording, recording.target_output_file, recording.host_output)
    return replace(recorded, warnings=(*recorded.warnings, *monitored.remarks))


@contextmanager
def run_monitor(
    telemetry: str, file: Path, time_limit: float, machine: Machine | None = None
) -> Generator[sampler.Beside]:
    """Read the monitor `telemetry` while the block runs; append its gauges to `file`, a journal.

    A gauge has the time at which it was read; a value that a program prints covers the time since
    its sample before. `machine` decides which monitors can be read, by default this one.
    """
    journal: workload_journal.Journal | None = None

    def write(source: str, sample: sources.Taken) -> None:
        nonlocal journal
        moment = time.monotonic_ns()
        for gauge in sample.readings:
            if journal is None:  # it begins with the time of day
                journal = workload_journal.Journal(file)
                journal.write("anchor", **vars(workload_journal.ClockAnchor.read_clocks()))
            journal.write(
                "gauge",
                name=gauge.name,
                value=gauge.value,
                at=moment,
                unit=gauge.unit,
                source=source,
            )

    try:
        with sampler.following(telemetry, write, time_limit, machine) as monitored:
            yield monitored
    finally:
        if journal is not None:
            journal.close()
