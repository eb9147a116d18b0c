"""The recorder for machines without xctrace: it runs the target and samples it from outside."""

from dataclasses import dataclass, field
from importlib.metadata import version as installed

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.attached import record_attached
from tracekit.record.host.exports import export
from tracekit.record.host.launched import record_launched
from tracekit.record.host.patience import Patience
from tracekit.record.host.watch import Pace
from tracekit.record.recorder import Attach, Progress, Recorded, Request, Warmed


@dataclass(frozen=True)
class HostRecorder:
    """Runs a program, or finds one that runs, and samples it.

    `period` is the time between two samples in seconds. A worker ends its steady phase by
    itself after the request's time limit; any other program is ended then.
    """

    period: float = 0.025
    patience: Patience = field(default_factory=Patience)

    @property
    def name(self) -> str:
        """The recorder's name."""
        return "host"

    def version(self) -> str:
        """Return the version of tracekit, of which this recorder is a part."""
        return f"tracekit {installed('tracekit')}"

    def record(self, request: Request, recording: Recording, progress: Progress) -> Recorded:
        """Record the target into `recording.host_bundle`; Ctrl-C ends it and keeps all.

        Raises:
            ToolError: The program cannot be started, or the process cannot be looked at.
            UsageError: A worker says that its parameters are wrong.
            RecordingError: The folder cannot be written.
        """
        pace = Pace(self.period, request.time_limit, self.patience)
        if isinstance(request.target, Attach):
            return record_attached(request.target, recording, pace, progress)
        if isinstance(request.target, Warmed):
            raise UsageError("The host recorder starts a workload itself; it waits for no go file.")
        return record_launched(request.target, recording, pace, progress)

    def export(self, recording: Recording, progress: Progress) -> tuple[str, ...]:
        """Write the TOC and the tables into `recording.exports`; return warnings.

        Raises:
            RecordingError: There is no bundle, or the exports cannot be written.
            InputError: The bundle is damaged.
        """
        return export(recording, progress)
