"""The workload's own events, next to the tables of a trace and laid on the trace's time."""

import logging
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tracekit.base import Recording, TracekitError
from tracekit.record.host.exports import account, event_tables, write_events
from tracekit.tables import Choice, Tables, TocRun
from tracekit.workload import journal

log = logging.getLogger(__name__)


START_DATE = "start-date of the TOC"
TIME_INFO = "time-info"

_MILLISECOND = 1_000_000
_AGREED = 20 * _MILLISECOND
_MISREAD = 10_000 * _MILLISECOND  # wrong ticks or a wrong timebase are off by hours
_WHOLE = re.compile(r"[0-9]{1,20}", re.ASCII)
_RATIO = re.compile(r"([0-9]{1,10}) ?/ ?([0-9]{1,10})", re.ASCII)
_FASTEST = 1e-3  # ns of a tick: any value outside was read wrongly
_SLOWEST = 1e6


def time_info(epoch: str, timebase: str) -> int | None:
    """Return the trace's time 0 by `time-info`; None if that cannot be read.

    It is in nanoseconds of mach absolute time, which Python's monotonic clock counts on macOS. The
    ticks of `epoch` are a plain integer and the timebase a ratio such as "125/3".
    """
    ticks = _WHOLE.fullmatch(epoch.strip())
    ratio = _RATIO.fullmatch(timebase.strip())
    if ticks is None or ratio is None:
        return None
    numerator = int(ratio[1])
    denominator = int(ratio[2])
    if not denominator or not _FASTEST < numerator / denominator < _SLOWEST:
        return None
    return int(ticks[0]) * numerator // denominator


def align(
    start_date: str, anchors: Sequence[journal.ClockAnchor], info: int | None = None
) -> dict[str, Any]:
    """Return the trace's time 0 as far as it is known, all in nanoseconds.

    The TOC states when the recording began, to the millisecond, and an anchor holds the worker's
    wall clock and monotonic clock of one moment. Together they give `origin`, monotonic time at
    trace time 0, good to `uncertainty`; without a date or an anchor there is none.

    `time-info` states the same moment in ticks. If it agrees with the date it takes the date's
    place, without the date's rounding; the two differ by `difference`. If they differ by more, the
    date counts, with their difference as its uncertainty; if by far more, `time-info` is ignored.
    """
    epoch = _epoch(start_date)
    if epoch is None:
        return {}
    clock: dict[str, Any] = {"source": START_DATE, "epoch": epoch}
    if not anchors:
        return clock
    offsets = [anchor.epoch - anchor.monotonic for anchor in anchors]
    nearest_anchor = min(anchors, key=lambda anchor: abs(anchor.epoch - epoch))
    origin = nearest_anchor.monotonic + epoch - nearest_anchor.epoch
    uncertainty = _MILLISECOND + max(offsets) - min(offsets)
    clock["origin"] = origin
    clock["uncertainty"] = uncertainty
    if info is None:
        return clock
    difference = info - origin
    clock["difference"] = difference
    if abs(difference) <= _AGREED + uncertainty:
        clock["source"] = TIME_INFO
        clock["origin"] = info
        clock["uncertainty"] = abs(difference)
    elif abs(difference) <= _MISREAD:
        clock["uncertainty"] = abs(difference)
        clock["time_info"] = "states another moment than the start-date"
    else:
        clock["time_info"] = "left aside: it fits no moment of the run"
    return clock


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
    """Write the workload's account of itself as tables; return warnings of its uncertainty.

    The host recorder writes them with its own exports. Next to a trace of xctrace they are laid on
    the trace's time by the clock that `recording.json` holds; without a clock they are left out,
    with a warning.
    """
    report = account(recording)
    tables = event_tables(recording, report)
    if not tables or recording.host_bundle.is_dir():
        return ()
    clock = recording.provenance().clock
    if "origin" not in clock:
        return _without_clock(recording, report)
    write_events(report, int(clock["origin"]), recording.exports, tables)
    if recording.journal_file.exists():
        subject = "Phases and steps"
    elif report.gauges:
        subject = "A monitor's readings"
    else:
        return ()  # results have no times
    uncertainty = int(clock.get("uncertainty", 0)) / _MILLISECOND
    source = clock.get("source", "its clock")
    return (f"{subject} are laid on the trace's time by {source}, good to {uncertainty:.1f} ms.",)


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
    epoch = first_row["absolute"]
    timebase = first_row["timebase"]
    info = time_info(epoch, timebase)
    clock = align(run.start_date, anchors, info)
    if info is None and "origin" in clock:
        clock["time_info"] = f"not read: mabs-epoch {epoch!r}, timebase-info {timebase!r}"
    return clock


_UNLAID = "are left out: the trace names no beginning, so they have no place on its time."


def _without_clock(recording: Recording, report: journal.WorkloadReport) -> tuple[str, ...]:
    """Write the tables that need no clock: a program's results; `workload.json` has a worker's."""
    if recording.journal_file.exists():
        return (f"The workload's marks {_UNLAID}",)
    if report.results:
        write_events(report, 0, recording.exports, ["results"])
    if not report.gauges:
        return ()
    return (f"The readings of a monitor {_UNLAID}",)
