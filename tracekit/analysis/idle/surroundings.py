"""The surroundings of gaps: encoding, wiring, compilations, and the work of other processes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, in_order
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.scope import Device, own_rows
from tracekit.analysis.upkeep import wirings
from tracekit.workload import COMPILE, IDLE, REFERENCE

Flags = NDArray[np.bool_]


def union_target_rows(frame: pd.DataFrame | None) -> IntervalSet:
    """Return the time that the target's rows of a table cover; nothing without a table."""
    if frame is None:
        return IntervalSet.empty()
    starts, ends = bounds(frame)  # texts of other columns take long to pick
    if "target" in frame and not frame["target"].all():
        is_target = frame["target"].to_numpy(np.bool_)
        return IntervalSet.from_spans(starts[is_target], ends[is_target])
    return IntervalSet.from_spans(starts, ends)


def moments(column: pd.Series) -> Times:
    """Return a column of times, with NEVER for null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def find_encoding(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> IntervalSet:
    """Return when the target wrote work: its encoders, else its command buffers."""
    if encoders is not None and encoders["target"].any():
        return union_target_rows(encoders)
    if submissions is not None and submissions["target"].any():
        target_submissions = submissions[submissions["target"]]
        return IntervalSet.from_spans(*find_writing(target_submissions))
    return IntervalSet.empty()


def find_open_encoders(encoders: pd.DataFrame | None) -> dict[int, IntervalSet]:
    """Return when each thread of the target had an encoder open, by the id of the thread.

    Nothing is known without encoders: a command buffer may be made long before it is used.
    """
    if encoders is None or "tid" not in encoders:
        return {}
    target_encoders = own_rows(encoders)
    tids = target_encoders["tid"]
    starts, ends = bounds(target_encoders)
    open_times: dict[int, IntervalSet] = {}
    for tid in tids.dropna().unique().tolist():
        is_of_thread = (tids == tid).to_numpy(np.bool_, na_value=False)
        open_times[tid] = IntervalSet.from_spans(starts[is_of_thread], ends[is_of_thread])
    return open_times


def find_writing(submissions: pd.DataFrame) -> tuple[Times, Times]:
    """Return when each command buffer was encoded, at the latest, and committed.

    It may be made long before it is used; the time spent on its encoders ends with its commit.
    """
    starts, ends = bounds(submissions)
    if "encoder_time" not in submissions:
        return starts, ends
    encoder_times = submissions["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
    latest_starts = np.where(encoder_times > 0, ends - encoder_times, starts)
    return latest_starts, ends


NO_WORK = (IDLE, REFERENCE)
"""Names of spans in which there was no work of the target to do."""


@dataclass(frozen=True, eq=False)
class Sights:
    """The activities of `Surroundings` at some moments, one flag for each of the moments."""

    encoding: Flags
    driver: Flags
    wiring: Flags
    compiler: Flags
    compiled: Flags
    other_processes: Flags

    def select(self, chosen: NDArray[np.intp]) -> "Sights":
        """Return the activities at some of the moments."""
        chosen_sights = [getattr(self, field.name)[chosen] for field in fields(self)]
        return Sights(*chosen_sights)


@dataclass(frozen=True)
class Surroundings:
    """When host, driver, compiler and others were at work.

    `prepared` is when the driver began and when it ended each command buffer, ordered by start;
    `annotated` are the workload's own spans, by name.
    """

    encoding: IntervalSet
    driver: IntervalSet
    wiring: IntervalSet
    prepared: tuple[Times, Times]
    compiler: IntervalSet
    other_processes: IntervalSet
    awake: IntervalSet
    annotated: Mapping[str, IntervalSet]

    @property
    def bounds(self) -> Iterator[Times]:
        """All moments at which any of it begins or ends, in parts, each in order."""
        sources = (
            self.encoding,
            self.driver,
            self.wiring,
            self.compiler,
            self.other_processes,
            self.awake,
        )
        yield self.prepared[1]
        for intervals in (*sources, *self.annotated.values()):
            yield intervals.starts
            yield intervals.ends

    def driving(self, moments: Times, submitted: Times, through: Times | None = None) -> Flags:
        """Return when the driver was on the way to work that was handed over at these moments.

        `through` is when it was through with that work, see `driven`; without it, at the end of the
        first command buffer that it begins afterwards. Its later work is for later ones.
        """
        if through is None:
            _, through = self._first_driven(submitted)
        return self.driver.contains(moments) & (moments < through)

    def driven(self, submitted: Times, started: Times) -> Times:
        """Return when the driver was through with each command buffer; in the order of `submitted`.

        The driver takes command buffers in order, each by one row, so that it may still have many
        before one. A command buffer has no row if the next one begins when the device works on it
        already: then it is the first row that begins after the commit.
        """
        first_starts, through = self._first_driven(submitted)
        has_row = first_starts <= started
        if not has_row.any():
            return through
        row_starts, row_ends = self.prepared
        first_rows = np.searchsorted(row_starts, submitted[has_row])
        own_rows = np.minimum(_take_rows_in_turn(first_rows), row_starts.size)
        own_starts = np.append(row_starts, FOREVER)[own_rows]
        own_ends = np.append(row_ends, FOREVER)[own_rows]
        through[has_row] = np.where(own_starts <= started[has_row], own_ends, through[has_row])
        return through

    def _first_driven(self, submitted: Times) -> tuple[Times, Times]:
        """Return the start and the end of the first row that begins after each moment."""
        starts, ends = self.prepared
        place = np.searchsorted(starts, submitted)
        row_starts = np.append(starts, FOREVER)[place]
        row_ends = np.append(ends, FOREVER)[place]
        return row_starts, row_ends

    @cached_property
    def compilation(self) -> IntervalSet:
        """When a pipeline was made, by the compiler's rows or the workload's spans."""
        annotated = self.annotated.get(COMPILE, IntervalSet.empty())
        return IntervalSet.union_of([self.compiler, annotated])

    def look_at(self, moments: Times) -> "Sights":
        """Return the activities at each of the moments."""
        return Sights(
            encoding=self.encoding.contains(moments),
            driver=self.driver.contains(moments),
            wiring=self.wiring.contains(moments),
            compiler=self.compiler.contains(moments),
            compiled=self.compilation.contains(moments),
            other_processes=self.other_processes.contains(moments),
        )

    def asleep(self, moments: Times, until: Times) -> Flags:
        """Return when the device was in no performance state, and came into one by `until`."""
        awakes = self.awake.next_start(moments) <= until
        return ~self.awake.contains(moments) & awakes


def _take_rows_in_turn(first_rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the row of each command buffer, at the earliest its first and never one of another.

    Row i is max(first_rows[i], row i-1 + 1), which is i + max(first_rows[j] - j over all j <= i).
    """
    number = np.arange(first_rows.size)
    return number + np.maximum.accumulate(first_rows - number)


def surroundings(
    device: Device,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> Surroundings:
    """Gather the activities from their tables; without its table, an activity has no time.

    Of other processes only work on the target's channels counts: channels run in parallel, so that
    work on another one keeps nothing from starting.
    """
    channels = device.target_intervals["channel"].unique()
    is_on_channel = device.other_intervals["channel"].isin(channels).to_numpy(np.bool_)
    starts, ends = bounds(device.other_intervals)
    rival_work = IntervalSet.from_spans(starts[is_on_channel], ends[is_on_channel])
    wiring = IntervalSet.empty()
    if driver_events is not None:
        wiring = union_target_rows(wirings(driver_events))
    return Surroundings(
        encoding=find_encoding(encoders, submissions),
        driver=union_target_rows(driver_intervals),
        wiring=wiring,
        prepared=_find_outermost_rows(driver_intervals),
        compiler=union_target_rows(compiler_activity),
        other_processes=rival_work,
        awake=union_target_rows(gpu_performance_states),
        annotated=_by_name(spans),
    )


def _find_outermost_rows(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    target_rows = in_order(own_rows(driver_intervals))
    is_outermost = target_rows["depth"].to_numpy(np.int64, na_value=0) == 0
    starts, ends = bounds(target_rows)
    return starts[is_outermost], ends[is_outermost]


def _by_name(annotations: pd.DataFrame | None) -> dict[str, IntervalSet]:
    if annotations is None:
        return {}
    is_idle = annotations["name"].fillna(IDLE).isin(NO_WORK)
    intervals: dict[str, IntervalSet] = {}
    rows_by_name = annotations[~is_idle].groupby("name", sort=True)
    for name, rows in rows_by_name:
        intervals[str(name)] = union_target_rows(rows)
    return intervals
