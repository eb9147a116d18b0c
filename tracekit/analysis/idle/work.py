"""The life of the target's work, and what host, driver, compiler and others did meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, spans
from tracekit.analysis.upkeep import WIRE
from tracekit.workload import COMPILE, IDLE, READBACK, REFERENCE

Flags = NDArray[np.bool_]


def covered(frame: pd.DataFrame | None) -> IntervalSet:
    """Return what the target's rows of a table cover; nothing where there is no table."""
    if frame is None:
        return IntervalSet.empty()
    return IntervalSet.of(*spans(frame[frame["target"]] if "target" in frame else frame))


def moments(column: pd.Series) -> Times:
    """Return a column of times, NEVER where it is null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def of_buffer(
    work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: Literal["min", "max"]
) -> Times:
    """Return for each piece of work the first or last time of its command buffer, or NEVER.

    Args:
        work: A table with the column `command_buffer`.
        rows: Another one.
        times: A moment for each of its rows; NEVER where there is none.
        best: Which of the times of a command buffer.
    """
    known = rows["command_buffer"].notna().to_numpy() & (times != NEVER)
    ids, wanted = (
        frame["command_buffer"].to_numpy(dtype=np.uint64, na_value=0) for frame in (rows, work)
    )
    found = pd.Series(times[known]).groupby(ids[known]).agg(best)
    values = found.reindex(wanted, fill_value=NEVER).to_numpy()
    return np.where(work["command_buffer"].notna(), values, NEVER)


@dataclass(frozen=True)
class Work:
    """One entry for each device interval of the target, ordered by start; NEVER: not known.

    Attributes:
        begun: When the host began to write it.
        submitted: When it was handed over.
        start: When the device began it.
        end: When the device had done it.
        completed: When that was reported to the host.
        opened: When the device began the command buffer that it belongs to.
    """

    begun: Times
    submitted: Times
    start: Times
    end: Times
    completed: Times
    opened: Times

    @property
    def queued(self) -> IntervalSet:
        """When something was handed over and had not begun."""
        known = self.submitted != NEVER
        return IntervalSet.of(self.submitted[known], self.start[known])

    @property
    def unreported(self) -> IntervalSet:
        """When something had been done and the host could not know."""
        known = self.completed != NEVER
        return IntervalSet.of(self.end[known], self.completed[known])


def work_of(
    own: pd.DataFrame,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> Work:
    """Join the target's device intervals with what the other tables say of them."""
    own = own.sort_values("start", kind="stable")
    start, end = spans(own)
    if (own["clock"] == "host").any():
        return Work(_host_begun(start, submissions), start, start, end, end, start)
    submitted = _submitted(own, start, commits, submissions)
    begun = _first_written(own, encoders, submissions)
    completed = np.full(start.size, NEVER)
    if completions is not None:
        completed = of_buffer(own, completions, moments(completions["time"]), "max")
    opened = _filled(of_buffer(own, own, start, "min"), start)
    return Work(begun, submitted, start, end, completed, opened)


def written(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> IntervalSet:
    """Return when the target wrote work: its encoders, else its command buffers."""
    for frame in (encoders, submissions):
        if frame is not None and frame["target"].any():
            return IntervalSet.of(*spans(frame[frame["target"]]))
    return IntervalSet.empty()


def _submitted(
    own: pd.DataFrame,
    start: Times,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
) -> Times:
    """Return when each was handed over: by its own latency, else by its command buffer."""
    latency = moments(own["start_latency"])
    found = np.where(latency == NEVER, NEVER, start - latency)
    if commits is not None:
        found = _filled(found, of_buffer(own, commits, moments(commits["committed"]), "max"))
    if submissions is not None:
        found = _filled(found, of_buffer(own, submissions, spans(submissions)[1], "max"))
    return np.minimum(found, start)


def _filled(found: Times, other: Times) -> Times:
    return np.where(found == NEVER, other, found)


def _first_written(
    own: pd.DataFrame, encoders: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> Times:
    begun = np.full(len(own), NEVER)
    for frame in (encoders, submissions):
        if frame is not None:
            begun = _filled(begun, of_buffer(own, frame, spans(frame)[0], "min"))
    return begun


def _host_begun(start: Times, submissions: pd.DataFrame | None) -> Times:
    """Return when the call began that handed each over: the last one before it."""
    if submissions is None or submissions.empty:
        return np.full(start.size, NEVER)
    calls = np.sort(spans(submissions)[0])
    before = np.concatenate((np.array([NEVER]), calls))
    return before[np.searchsorted(calls, start, side="right")]


NO_WORK = (IDLE, REFERENCE)
"""Names of spans in which there was no work of the target to do."""


@dataclass(frozen=True)
class Surroundings:
    """When each of those was at work.

    `prepared` is when the driver began and when it ended each command buffer, ordered by start;
    `annotated` is what the workload says it did, by name.
    """

    written: IntervalSet
    driver: IntervalSet
    prepared: tuple[Times, Times]
    compiler: IntervalSet
    others: IntervalSet
    awake: IntervalSet
    annotated: Mapping[str, IntervalSet]

    @property
    def bounds(self) -> Times:
        """All moments at which any of it begins or ends."""
        seen = (self.written, self.driver, self.compiler, self.others, self.awake)
        ends = self.prepared[1]
        return np.concatenate(
            (ends, *(intervals.bounds for intervals in (*seen, *self.annotated.values())))
        )

    def driving(self, at: Times, submitted: Times) -> Flags:
        """Say when the driver was on the way to work that was handed over at the moments given.

        It takes command buffers in order, so that it is through with one at the end of the first
        that it begins afterwards; what it does then is for later ones.
        """
        starts, ends = self.prepared
        through = np.append(ends, FOREVER)[np.searchsorted(starts, submitted)]
        return self.driver.contains(at) & (at < through)

    def compiling(self, at: Times) -> Flags:
        """Say when a pipeline was made, by the compiler's rows or the workload's word."""
        return self.compiler.contains(at) | self._annotated(COMPILE, at)

    def reading_back(self, at: Times) -> Flags:
        """Say when the workload read results back, by its own word."""
        return self._annotated(READBACK, at)

    def asleep(self, at: Times, until: Times) -> Flags:
        """Say when the device was in no performance state, and came into one by `until`."""
        return ~self.awake.contains(at) & (self.awake.next_start(at) <= until)

    def _annotated(self, name: str, at: Times) -> Flags:
        return self.annotated.get(name, IntervalSet.empty()).contains(at)


def surroundings(  # noqa: PLR0917  one table for each of them
    written: IntervalSet,
    others: pd.DataFrame,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    annotations: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> Surroundings:
    """Gather them from their tables; what has no table was nowhere seen."""
    return Surroundings(
        written=written,
        driver=_either(covered(driver_intervals), covered(_wiring(driver_events))),
        prepared=_prepared(driver_intervals),
        compiler=covered(compiler_activity),
        others=IntervalSet.of(*spans(others)),
        awake=covered(gpu_performance_states),
        annotated=_by_name(annotations),
    )


def _wiring(driver_events: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return when the driver wired memory; whether its other events hold work up is not known."""
    if driver_events is None:
        return None
    return driver_events[driver_events["event"].fillna("") == WIRE]


def _either(first: IntervalSet, other: IntervalSet) -> IntervalSet:
    """Return what at least one of them covers."""
    starts = np.concatenate((first.starts, other.starts))
    return IntervalSet.of(starts, np.concatenate((first.ends, other.ends)))


def _prepared(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    own = driver_intervals[driver_intervals["target"]].sort_values("start", kind="stable")
    return spans(own[own["depth"].fillna(0) == 0])


def without_load(annotations: pd.DataFrame | None) -> IntervalSet:
    """Return when the workload says that it had nothing to do, or reference work was timed."""
    if annotations is None:
        return IntervalSet.empty()
    return covered(annotations[annotations["name"].isin(NO_WORK)])


def _by_name(annotations: pd.DataFrame | None) -> dict[str, IntervalSet]:
    if annotations is None:
        return {}
    worked = annotations[~annotations["name"].fillna(IDLE).isin(NO_WORK)]
    return {str(name): covered(own) for name, own in worked.groupby("name", sort=True)}
