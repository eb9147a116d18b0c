"""A recording with all that is kept beside it: a monitor's readings, a program's output."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tracekit.base.recording import Recording
from tracekit.machine.monitors import Machine, Taken
from tracekit.machine.sampler import Beside, following
from tracekit.record.host.session import Bundle
from tracekit.record.recorder import Launch, Progress, Recorded, Recorder, Request, journal_of
from tracekit.record.throughput.output import keep_output
from tracekit.workload.journal import ClockAnchor, Journal


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
