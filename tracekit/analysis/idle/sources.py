"""The table `causes`: which causes of idle time a recording can show, and the sources it lacks.

Each moment of idle time has one cause: the first that fits, in an order of precedence. If the table
that shows a cause is missing, the time of that cause counts for a later one. The times of the later
causes are then unknown as well.
"""

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.surroundings import find_encoding
from tracekit.analysis.inject import ON_THE_CPU
from tracekit.analysis.scope import Device
from tracekit.workload import COMPILE

_DRIVEN = ("driver intervals", "driver events")
# The sources of each cause's share: the table that shows the cause, and those of earlier causes.
_NEEDS: dict[Cause, tuple[str, ...]] = {
    Cause.BETWEEN_ENCODERS: (),
    Cause.BETWEEN_BUFFERS: (*_DRIVEN, "states"),
    Cause.START: (*_DRIVEN, "states"),
    Cause.LATE_START: (*_DRIVEN, "states"),
    Cause.DRIVER: _DRIVEN,
    Cause.WIRING: ("driver events",),
    Cause.OTHER_PROCESS: _DRIVEN,
    Cause.POWERING_UP: (*_DRIVEN, "states"),
    Cause.REPORT: ("completions",),
    Cause.OTHER_DEVICE: (),
    Cause.COMPILE: ("compiles",),
    Cause.ENCODING: ("compiles", *_DRIVEN, "encoding", "completions"),
    Cause.HOST: ("compiles", *_DRIVEN, "encoding", "completions"),
    Cause.UNATTRIBUTED: (),
}
_OF_THE_HOST: tuple[Cause, ...] = (Cause.ENCODING, Cause.HOST)
_MISSING = {
    "compiles": "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
    f"did the workload report spans “{COMPILE}”.",
    "driver intervals": "no driver interval of the target (metal-driver-intervals) was recorded.",
    "driver events": "driver events (metal-driver-event-intervals), which show when memory was "
    "wired, were not recorded.",
    "completions": "no completion of a command buffer of the target "
    "(metal-command-buffer-completed) was recorded.",
    "encoding": "neither encoders (metal-application-encoders-list) nor submissions of command "
    "buffers (metal-application-command-buffer-submissions), which show when the host encoded, "
    "were recorded.",
    "states": "no performance state of the GPU (gpu-performance-state-intervals) was recorded.",
}
_LACKING = {
    "compiles": "compiler activity",
    "driver intervals": "driver intervals",
    "driver events": "driver events",
    "completions": "completions of command buffers",
    "encoding": "encoders and submissions",
    "states": "performance states",
}
"""The sources, in a few words."""
_CALLS = "the workload's calls"
_NO_CALLS = "the calls of the workload, which show when it built its work, were not recorded."


def causes_table(
    gaps: pd.DataFrame,
    device: Device,
    spans: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `causes`: each `cause`, and the `reason` why its share is unknown, or null.

    A third column, `lacks`, names the missing sources in a few words. Without gaps, no cause took
    any time.
    """
    if device.on_the_host:
        return _causes_on_a_cpu(spans, submissions)
    if gaps.empty:
        return _table({}, {})
    buffers = device.target_intervals["command_buffer"].dropna()
    missing = {
        "compiles": compiler_activity is None and not _has_span(spans, COMPILE),
        "driver intervals": driver_intervals is None or not driver_intervals["target"].any(),
        "driver events": driver_events is None,
        "completions": completions is None or not completions["command_buffer"].isin(buffers).any(),
        "encoding": find_encoding(encoders, submissions).starts.size == 0,
        "states": gpu_performance_states is None or gpu_performance_states.empty,
    }
    reasons: dict[Cause, str] = {}
    lacks: dict[Cause, str] = {}
    for cause, needed in _NEEDS.items():
        sources = [source for source in needed if missing[source]]
        if sources:
            reasons[cause] = _MISSING[sources[0]]
            lacks[cause] = ", ".join(_LACKING[source] for source in sources)
    return _table(reasons, lacks)


def _causes_on_a_cpu(spans: pd.DataFrame | None, submissions: pd.DataFrame | None) -> pd.DataFrame:
    """Return the table for work on a CPU, whose idle time only the workload itself can explain."""
    known_causes = {*_OF_THE_HOST, Cause.COMPILE, Cause.UNATTRIBUTED}
    reasons: dict[Cause, str] = {}
    lacks: dict[Cause, str] = {}
    for cause in Cause:
        if cause not in known_causes:
            reasons[cause] = ON_THE_CPU
    if not _has_span(spans, COMPILE):
        reasons[Cause.COMPILE] = _MISSING["compiles"]
    if submissions is None or submissions.empty:
        for cause in _OF_THE_HOST:
            reasons[cause] = _NO_CALLS
            lacks[cause] = _CALLS
    return _table(reasons, lacks)


def _table(reasons: dict[Cause, str], lacks: dict[Cause, str]) -> pd.DataFrame:
    names = list(map(str, Cause))
    columns = {
        "cause": pd.array(names, dtype="string"),
        "reason": pd.array(list(map(reasons.get, Cause)), dtype="string"),
        "lacks": pd.array(list(map(lacks.get, Cause)), dtype="string"),
    }
    return pd.DataFrame(columns)


def why_unknown(causes: pd.DataFrame, cause: Cause) -> str:
    """Return the reason why a cause's share is not known; "" if it is known."""
    place = causes["cause"].tolist().index(str(cause))
    reason = causes["reason"].iloc[place]
    return "" if pd.isna(reason) else str(reason)


def name_missing_sources(causes: pd.DataFrame, *chosen: Cause) -> str:
    """Name the missing sources, without which time of one cause may count for another; or "".

    All causes count, or those that are `chosen`.
    """
    rows = causes
    if chosen:
        rows = causes[causes["cause"].isin([str(cause) for cause in chosen])]
    names: list[str] = []
    for cell in rows["lacks"].dropna():
        names.extend(cell.split(", "))
    return ", ".join(dict.fromkeys(names))


def unsure(causes: pd.DataFrame) -> str:
    """Name in a sentence the missing sources, whose time counts for other causes; "" without any.

    For work on a CPU only the workload's calls can be missing: it reports all other causes itself.
    """
    reasons = list(dict.fromkeys(causes["reason"].dropna()))
    if ON_THE_CPU in reasons:
        reasons = [reason for reason in reasons if reason == _NO_CALLS]
    if not reasons:
        return ""
    listed = "; ".join(reason.rstrip(".") for reason in reasons)
    return f"These shares are not sure, as time of one cause may count for another: {listed}."


def _has_span(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())
