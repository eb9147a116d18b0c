"""What went on beside the steps, of all kinds in one table, to explain a slow one."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.allocations import WIRE
from tracekit.analysis.intervals import Times, gaps, union
from tracekit.analysis.intervals import spans as bounds
from tracekit.workload.workload import COMPILE, IDLE, REFERENCE

LONGER_WORK = "the device worked longer for the target"
WITHOUT_WORK = "the device had nothing of the target to do"
COMPILED = "shaders were compiled"

_Piece = tuple[str, Times, Times]


def happenings(  # noqa: PLR0917  a derived table's sources are its parameters
    gpu_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    thermal_states: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `happenings`: start, duration, `what` in words, and its `rank`.

    Rows of one kind do not overlap. The most telling kind has rank 0: a compile says more than
    a span that the workload told of, and that more than an idle device.
    """
    kinds = (
        _compiles(compiler_activity, spans),
        _others(gpu_intervals),
        _memory(driver_events),
        _states(thermal_states, "thermal state"),
        _states(gpu_performance_states, "performance state"),
        _told(spans),
        _device(gpu_intervals),
    )
    frames = [
        pd.DataFrame({"start": starts, "duration": ends - starts, "what": what, "rank": rank})
        for rank, kind in enumerate(kinds)
        for what, starts, ends in kind
        if starts.size
    ]
    columns = {"start": "int64", "duration": "int64", "what": "object", "rank": "int64"}
    if not frames:
        return pd.DataFrame(columns=list(columns)).astype(columns)
    return pd.concat(frames, ignore_index=True)


def _compiles(activity: pd.DataFrame | None, told: pd.DataFrame | None) -> Iterator[_Piece]:
    rows = [] if activity is None else [activity[activity["target"]]]
    if told is not None:
        rows.append(told[told["name"] == COMPILE])
    if rows:
        yield COMPILED, *_joined(pd.concat([one[["start", "duration"]] for one in rows]))


def _others(intervals: pd.DataFrame | None) -> Iterator[_Piece]:
    if intervals is not None:
        yield "other processes used the GPU", *_joined(intervals[~intervals["target"]])


def _memory(events: pd.DataFrame | None) -> Iterator[_Piece]:
    if events is not None:
        wired = events[events["target"] & (events["event"] == WIRE)]
        yield "the driver wired memory", *_joined(wired)


def _states(states: pd.DataFrame | None, what: str) -> Iterator[_Piece]:
    if states is not None:
        for state, rows in states.groupby("state", sort=True):
            yield f"the {what} was {state}", *_joined(rows)


def _told(told: pd.DataFrame | None) -> Iterator[_Piece]:
    if told is not None:
        for name, rows in told[~told["name"].isin([COMPILE, IDLE, REFERENCE])].groupby(
            "name", sort=True
        ):
            yield f"the workload was in its span “{name}”", *_joined(rows)


def _device(intervals: pd.DataFrame | None) -> Iterator[_Piece]:
    if intervals is None or not intervals["target"].any():
        return
    starts, ends = _joined(intervals[intervals["target"]])
    if starts.size:
        idle = gaps(starts, ends, int(starts[0]), int(ends[-1]))
        yield WITHOUT_WORK, *idle
        yield LONGER_WORK, starts, ends


def _joined(rows: pd.DataFrame) -> tuple[Times, Times]:
    return union(*bounds(rows))
