"""The workload's own events beside the tables of a trace, laid on the trace's time."""

import logging
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tracekit.base import Recording, TracekitError
from tracekit.record.host.exports import account, event_tables, write_events
from tracekit.tables import Choice, Tables, TocRun
from tracekit.workload import ClockAnchor, WorkloadReport

log = logging.getLogger(__name__)


START_DATE = "start-date of the TOC"
TIME_INFO = "time-info"

_MILLISECOND = 1_000_000
_AGREED = 20 * _MILLISECOND
_MISREAD = 10_000 * _MILLISECOND  # wrong ticks or a wrong timebase are off by hours
_WHOLE = re.compile(r"[0-9]{1,20}", re.ASCII)
_RATIO = re.compile(r"([0-9]{1,10}) ?/ ?([0-9]{1,10})", re.ASCII)
_FASTEST, _SLOWEST = 1e-3, 1e6  # ns of a tick: whatever is outside was read wrongly


def time_info(epoch: str, timebase: str) -> int | None:
    """Return the trace's time 0 as `time-info` states it; None where that cannot be read.

    It is in nanoseconds of mach absolute time, which is what Python's monotonic clock counts on
    macOS. The ticks of `epoch` are a plain integer and the timebase a ratio such as "125/3".
    """
    ticks, ratio = _WHOLE.fullmatch(epoch.strip()), _RATIO.fullmatch(timebase.strip())
    if ticks is None or ratio is None:
        return None
    numerator, denominator = int(ratio[1]), int(ratio[2])
    if not denominator or not _FASTEST < numerator / denominator < _SLOWEST:
        return None
    return int(ticks[0]) * numerator // denominator


def align(
    start_date: str, anchors: Sequence[ClockAnchor], info: int | None = None
) -> dict[str, Any]:
    """Return what is known of the trace's time 0, all in nanoseconds.

    The TOC states when the recording began, to the millisecond, and an anchor holds the worker's
    wall clock and monotonic clock of one moment. Together they give `origin`, monotonic time at
    trace time 0, good to `uncertainty`; without a date or an anchor there is none.

    `time-info` states the same moment in ticks. Where it agrees with the date it serves in its
    place, without the date's rounding; the two differ by `difference`. Where they differ by more,
    the date serves, and is as uncertain as they differ; by far more, `time-info` is left aside.
    """
    epoch = _epoch(start_date)
    if epoch is None:
        return {}
    clock: dict[str, Any] = {"source": START_DATE, "epoch": epoch}
    if not anchors:
        return clock
    offsets = [anchor.epoch - anchor.monotonic for anchor in anchors]
    near = min(anchors, key=lambda anchor: abs(anchor.epoch - epoch))
    origin = near.monotonic + epoch - near.epoch
    uncertainty = _MILLISECOND + max(offsets) - min(offsets)
    clock |= {"origin": origin, "uncertainty": uncertainty}
    if info is None:
        return clock
    apart = abs(info - origin)
    clock["difference"] = info - origin
    if apart <= _AGREED + uncertainty:
        return clock | {"source": TIME_INFO, "origin": info, "uncertainty": apart}
    if apart <= _MISREAD:
        remark = "states another moment than the start-date"
        return clock | {"uncertainty": apart, "time_info": remark}
    return clock | {"time_info": "left aside: it fits no moment of the run"}


def _epoch(date: str) -> int | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    whole_second = moment.replace(microsecond=0)
    return int(whole_second.timestamp()) * 1_000_000_000 + moment.microsecond * 1000


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
    anchors = account(recording).anchors
    try:
        tables = Tables(recording.exports, frozenset(), only=Choice(run.number))
        rows = tables.get("time_infos")
    except TracekitError as error:
        log.info("time-info is not read: %s", error)
        rows = None
    if rows is None or rows.empty:
        return align(run.start_date, anchors)
    first_row = rows.iloc[0].fillna("")
    info = time_info(first_row["absolute"], first_row["timebase"])
    clock = align(run.start_date, anchors, info)
    if info is None and "origin" in clock:
        printed_values = (
            f"mabs-epoch {first_row['absolute']!r}, timebase-info {first_row['timebase']!r}"
        )
        clock["time_info"] = f"not read: {printed_values}"
    return clock


_UNLAID = "is left out: it cannot be laid on the trace's time, as the trace names no beginning."


def _without_clock(recording: Recording, report: WorkloadReport) -> tuple[str, ...]:
    """Write what needs no clock: a program's results; a worker's stand in `workload.json`."""
    if recording.journal_file.exists():
        return (f"What the workload marked {_UNLAID}",)
    if report.results:
        write_events(report, 0, recording.exports, ["results"])
    return (f"What a monitor read {_UNLAID}",) if report.gauges else ()
