"""The workload's own events beside the tables of a trace, on the trace's time."""

import logging
from typing import Any

from tracekit.base import Recording, TracekitError
from tracekit.record.host.exports import account, event_tables, write_events
from tracekit.record.xctrace.clock import align, time_info
from tracekit.tables import Choice, Tables, TocRun
from tracekit.workload import WorkloadReport

log = logging.getLogger(__name__)

_MILLISECOND = 1_000_000
_UNLAID = (
    "could not be laid on the trace's time, so {} left out: the trace does not say when it began."
)


def export_workload_events(recording: Recording) -> tuple[str, ...]:
    """Write what the workload said of itself as tables; return what is uncertain about it.

    The host recorder writes them with its own exports. Beside a trace of xctrace they are laid
    on the trace's time by the clock that `recording.json` holds; where there is none, they are
    left out, and the warning says so.
    """
    report = account(recording)
    tables = event_tables(recording, report)
    if not tables or recording.host_bundle.is_dir():
        return ()
    clock = recording.provenance().clock
    if "origin" not in clock:
        return _without_clock(recording, report)
    write_events(report, int(clock["origin"]), recording.exports, tables)
    if not recording.journal_file.exists() and not report.gauges:
        return ()  # results have no times
    subject = "Phases and steps" if recording.journal_file.exists() else "A monitor's readings"
    uncertainty = int(clock.get("uncertainty", 0)) / _MILLISECOND
    by = f"{clock.get('source', 'its clock')}, good to {uncertainty:.1f} ms"
    return (f"{subject} are laid on the trace's time by {by}.",)


def trace_clock(recording: Recording, run: TocRun) -> dict[str, Any]:
    """Return how the trace's time lies on the worker's clock, by `time-info` if it can be read."""
    return align(run.start_date, account(recording).anchors, _time_info(recording, run))


def _time_info(recording: Recording, run: TocRun) -> int | str | None:
    try:
        tables = Tables(recording.exports, frozenset(), only=Choice(run.number))
        rows = tables.get("time_infos")
    except TracekitError as error:
        log.info("time-info is not read: %s", error)
        return None
    if rows is None or rows.empty:
        return None
    first = rows.iloc[0].fillna("")
    return time_info(first["absolute"], first["timebase"])


def _without_clock(recording: Recording, report: WorkloadReport) -> tuple[str, ...]:
    """Write what needs no clock: a program's results; a worker's stand in `workload.json`."""
    if recording.journal_file.exists():
        return (f"The workload's marks {_UNLAID.format('its phases and steps are')}",)
    if report.results:
        write_events(report, 0, recording.exports, ["results"])
    return (f"What a monitor read {_UNLAID.format('it is')}",) if report.gauges else ()
