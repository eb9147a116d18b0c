"""The workload's own marks beside the tables of a trace, on the trace's time."""

from tracekit.host.marks import export_marks
from tracekit.journal import WorkloadReport, fold
from tracekit.recording import Recording
from tracekit.toc import read_toc

_MILLISECOND = 1_000_000
_NO_CLOCK = (
    "The workload's marks could not be laid on the trace's time, so its phases and steps are left "
    "out: the trace does not say when it began."
)


def export_own_marks(recording: Recording) -> tuple[str, ...]:
    """Write what the workload said of itself as tables; return what is uncertain about it.

    The host recorder writes them with its own exports. Beside a trace of xctrace they are laid
    on the trace's time by the clock that `recording.json` holds; where there is none, they are
    left out, and the warning says so.
    """
    report = _report(recording)
    if report is None or recording.host_bundle.is_dir():
        return ()
    clock = recording.provenance().clock
    if "origin" not in clock:
        return (_NO_CLOCK,)
    places = [table.index for run in read_toc(recording.toc_file).runs for table in run.tables]
    export_marks(report, int(clock["origin"]), recording.exports, first=max(places, default=0) + 1)
    uncertainty = int(clock.get("uncertainty", 0)) / _MILLISECOND
    source = clock.get("source", "its clock")
    said = "Phases and steps are laid on the trace's time by"
    return (f"{said} {source}, good to {uncertainty:.1f} ms.",)


def _report(recording: Recording) -> WorkloadReport | None:
    return fold(recording.journal_file) if recording.journal_file.exists() else None
