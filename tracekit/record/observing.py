"""A recording with all that is kept beside it: a monitor's readings, a program's output."""

from dataclasses import replace

from tracekit.base.recording import Recording
from tracekit.machine.telemetry import beside
from tracekit.record.host.session import Bundle
from tracekit.record.recorder import Launch, Progress, Recorded, Recorder, Request, journal_of
from tracekit.record.throughput import keep_output


def observe(
    recorder: Recorder, request: Request, recording: Recording, progress: Progress, telemetry: str
) -> Recorded:
    """Record, read a monitor of the machine meanwhile, and keep what a program printed.

    Args:
        recorder: Who records.
        request: What to record.
        recording: The run's folder.
        progress: Told what goes on.
        telemetry: The monitor, one of `tracekit.machine.telemetry.MONITORS`.

    Raises:
        TracekitError: As the recorder raises it; what a monitor meets never stops a recording.
    """
    with beside(telemetry, recording.gauges_file, request.time_limit) as monitored:
        recorded = recorder.record(request, recording, progress)
    if isinstance(request.target, Launch) and journal_of(request.target) is None:
        keep_output(recording, recording.target_output_file, Bundle(recording.host_bundle).stdout)
    return replace(recorded, warnings=(*recorded.warnings, *monitored.remarks))
