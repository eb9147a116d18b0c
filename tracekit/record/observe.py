"""From a plan to a recording, with a monitor's readings and a program's output beside it."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tracekit.base import Recording
from tracekit.machine import Beside, Machine, Taken, following
from tracekit.record.host.session import Bundle
from tracekit.record.recorder import (
    Attach,
    Launch,
    Progress,
    Recorded,
    Recorder,
    Request,
    Warmed,
    journal_of,
)
from tracekit.record.throughput import keep_output
from tracekit.workload import ClockAnchor, Journal, Plan, Spec, command

# What xctrace grants a worker, in seconds, to get ready within the recording. The worker ends by
# itself after its steady phase, and the recording with it; the grant only bounds one that hangs.
START_UP = 30.0
# The same for a worker that is ready when the recording begins: it has to wake up, and to end.
WAKE_UP = 2.0
# How long a worker that is ready waits for its recorder: for all its tries, and all their time.
_PATIENCE = 3600.0
_NOT_ON_HOST = (
    "--method {method} was not followed: the host recorder starts its workload itself, and marks "
    "the warm-up apart."
)


def request_for(plan: Plan, recording: Recording, recorder: Recorder) -> Request:
    """Return what the recorder is to do; write the worker's orders into the run's folder.

    The plan's time limit is that of a workload's steady phase, or of the whole recording of any
    other program.
    """
    request = Request(
        target=Launch(plan.command),
        time_limit=plan.time_limit,
        templates=plan.templates,
        counters=plan.counters,
    )
    if plan.attach is not None:
        return replace(request, target=Attach(plan.attach))
    if plan.workload is None:
        return request
    if recorder.name == "host":
        spec = replace(_spec(plan, recording), measure_overhead=True, reference=True)
        return replace(request, target=_worker(spec, recording))
    if plan.method == "attach":
        return _warmed(plan, recording, request)
    target = _worker(_spec(plan, recording), recording)
    return replace(request, target=target, time_limit=plan.time_limit + START_UP)


def unheeded(plan: Plan, recorder: Recorder) -> tuple[str, ...]:
    """Return, in words, what of a plan has no meaning for the recorder."""
    if recorder.name == "host" and plan.workload is not None and plan.method != "auto":
        return (_NOT_ON_HOST.format(method=plan.method),)
    return ()


def _warmed(plan: Plan, recording: Recording, request: Request) -> Request:
    go_file = (recording.folder / "worker.go").resolve()
    spec = replace(_spec(plan, recording), go_file=go_file, go_timeout=_PATIENCE, lifeline=True)
    target = Warmed(_worker(spec, recording), go_file)
    return replace(request, target=target, time_limit=plan.time_limit + WAKE_UP)


def _worker(spec: Spec, recording: Recording) -> Launch:
    spec.save(recording.spec_file)
    return Launch(command(recording.spec_file.resolve()), journal=spec.journal)


def _spec(plan: Plan, recording: Recording) -> Spec:
    assert plan.workload is not None
    return Spec(
        file=plan.workload.file.resolve(),
        name=plan.workload.name,
        journal=recording.journal_file.resolve(),
        report=recording.workload_file.resolve(),
        parameters=dict(plan.parameters),
        warmup=plan.warmup,
        repeats=plan.repeats,
        seconds=plan.time_limit,
    )


def observe(
    recorder: Recorder, request: Request, recording: Recording, progress: Progress, telemetry: str
) -> Recorded:
    """Record, read a monitor of the machine meanwhile, and keep what a program printed.

    Args:
        recorder: Who records.
        request: What to record.
        recording: The run's folder.
        progress: Told what goes on.
        telemetry: The monitor, one of `tracekit.machine.monitors.MONITORS`.

    Raises:
        TracekitError: As the recorder raises it; what a monitor meets never stops a recording.
    """
    with beside(telemetry, recording.gauges_file, request.time_limit) as monitored:
        recorded = recorder.record(request, recording, progress)
    if isinstance(request.target, Launch) and journal_of(request.target) is None:
        keep_output(recording, recording.target_output_file, Bundle(recording.host_bundle).stdout)
    return replace(recorded, warnings=(*recorded.warnings, *monitored.remarks))


@contextmanager
def beside(
    wanted: str, file: Path, time_limit: float, machine: Machine | None = None
) -> Generator[Beside]:
    """Read a monitor while the block runs; append its gauges to `file`, a journal.

    Whatever becomes of the monitor, the block is not disturbed. A gauge has the time at which it
    was read; what a program prints is of the time since its sample before.

    Args:
        wanted: One of `tracekit.machine.monitors.MONITORS`.
        file: The journal to append to; it is made where there is something to write.
        time_limit: Seconds that the recording may last, start-up and saving not counted.
        machine: What decides which monitors can be read; this machine by default.
    """
    writer = _Writer(file)
    try:
        with following(wanted, writer.write, time_limit, machine) as told:
            yield told
    finally:
        writer.close()


class _Writer:
    """Writes gauges to a journal."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._journal: Journal | None = None

    def write(self, source: str, taken: Taken) -> None:
        at = time.monotonic_ns()
        for one in taken.readings:
            self._open().write(
                "gauge", name=one.name, value=one.value, at=at, unit=one.unit, source=source
            )

    def _open(self) -> Journal:
        """Make the file when there is something to write; it begins with the time of day."""
        if self._journal is None:
            self._journal = Journal(self._file)
            self._journal.write("anchor", **vars(ClockAnchor.now()))
        return self._journal

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
