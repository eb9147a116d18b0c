"""A run as a Python user sees it: its provenance, tables and result."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tracekit.analysis import Result
from tracekit.base import Provenance, Recording
from tracekit.pipeline import tables_of
from tracekit.tables import Tables


@dataclass(frozen=True)
class Run:
    """One run's folder, read when asked."""

    recording: Recording

    @property
    def provenance(self) -> Provenance:
        """The origin of the run."""
        return self.recording.provenance()

    @cached_property
    def tables(self) -> Tables:
        """The normalized tables, by name; times in ns from the start of the trace."""
        return tables_of(self.recording)

    @property
    def result(self) -> Result:
        """The metrics, findings and checks of the last analysis."""
        return Result.load(self.recording.result_file)


def open(folder: str | Path) -> Run:  # noqa: A001  tracekit.open(folder) reads well
    """Open a run's folder; raise RecordingError if it is not one."""
    run = Run(Recording(Path(folder)))
    _ = run.provenance
    return run
