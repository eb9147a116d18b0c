"""The workload's own events beside the tables of a trace, laid on the trace's time."""

import logging
import re
from collections.abc import Mapping, Sequence
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


def time_info(epoch: str, timebase: str) -> int | str:
    """Return the trace's time 0 as `time-info` states it, or what of that cannot be read.

    It is in nanoseconds of mach absolute time, which is what Python's monotonic clock counts on
    macOS. The ticks of `epoch` are a plain integer and the timebase a ratio such as "125/3".
    """
    whole, ratio = _WHOLE.fullmatch(epoch.strip()), _timebase(timebase)
    if whole is not None and ratio is not None:
        numerator, denominator = ratio
        return int(whole[0]) * numerator // denominator
    unread = [f"mabs-epoch {epoch!r}"] if whole is None else []
    return ", ".join([*unread, f"timebase-info {timebase!r}"] if ratio is None else unread)


def align(
    start_date: str, anchors: Sequence[ClockAnchor], info: int | str | None = None
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
    known: dict[str, Any] = {"source": START_DATE, "epoch": epoch}
    if not anchors:
        return known
    offsets = [anchor.epoch - anchor.monotonic for anchor in anchors]
    near = min(anchors, key=lambda anchor: abs(anchor.epoch - epoch))
    origin = near.monotonic + epoch - near.epoch
    drift = max(offsets) - min(offsets)
    known |= {"origin": origin, "uncertainty": _MILLISECOND + drift}
    return known if info is None else known | _compared(known, info)


def _compared(by_date: Mapping[str, Any], info: int | str) -> dict[str, Any]:
    if isinstance(info, str):
        return {"time_info": f"not read: {info}"}
    difference = info - int(by_date["origin"])
    if abs(difference) <= _AGREED + int(by_date["uncertainty"]):
        return {
            "source": TIME_INFO,
            "origin": info,
            "uncertainty": abs(difference),
            "difference": difference,
        }
    if abs(difference) <= _MISREAD:
        return {
            "uncertainty": abs(difference),
            "difference": difference,
            "time_info": "states another moment than the start-date",
        }
    return {"difference": difference, "time_info": "left aside: it fits no moment of the run"}


def _timebase(text: str) -> tuple[int, int] | None:
    ratio = _RATIO.fullmatch(text.strip())
    if ratio is None:
        return None
    numerator, denominator = int(ratio[1]), int(ratio[2])
    if not numerator or not denominator:
        return None
    return (numerator, denominator) if _FASTEST < numerator / denominator < _SLOWEST else None


def _epoch(date: str) -> int | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    whole = moment.replace(microsecond=0)
    return int(whole.timestamp()) * 1_000_000_000 + moment.microsecond * 1000


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
