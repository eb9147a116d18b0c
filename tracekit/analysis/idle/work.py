"""The life of the target's work, and what host, driver, compiler and others did meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times, spans, union
from tracekit.analysis.upkeep import WIRE
from tracekit.workload import COMPILE, IDLE, READBACK, REFERENCE

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Stretches:
    """Disjoint, ordered, half-open stretches [start, end)."""

    starts: Times
    ends: Times

    @property
    def bounds(self) -> Times:
        """All moments at which one of them begins or ends."""
        return np.concatenate((self.starts, self.ends))

    def cover(self, moments: Times) -> Flags:
        """Return for each moment whether it lies in one of them."""
        if not self.starts.size:
            return np.zeros(moments.shape, dtype=bool)
        return self._until(moments) > moments

    def begun(self, moments: Times) -> Times:
        """Return for each moment the start of the stretch it lies in; NEVER where in none."""
        if not self.starts.size:
            return np.full(moments.shape, NEVER)
        place = np.searchsorted(self.starts, moments, side="right") - 1
        return np.where(self.cover(moments), self.starts[place], NEVER)

    def next_start(self, moments: Times) -> Times:
        """Return for each moment when the next one begins; FOREVER where none does."""
        ahead = np.append(self.starts, FOREVER)
        return ahead[np.searchsorted(self.starts, moments, side="right")]

    def _until(self, moments: Times) -> Times:
        """Return for each moment the end of the last one that began; NEVER before the first."""
        behind = np.concatenate((np.array([NEVER]), self.ends))
        return behind[np.searchsorted(self.starts, moments, side="right")]


NEVER = np.iinfo(np.int64).min
"""A moment that is not known, or before all others."""
FOREVER = np.iinfo(np.int64).max
"""A moment after all others."""


def stretches(starts: Times, ends: Times) -> Stretches:
    """Return what the intervals cover together."""
    return Stretches(*union(starts, ends))


def covered(frame: pd.DataFrame | None) -> Stretches:
    """Return what the target's rows of a table cover; nothing where there is no table."""
    if frame is None:
        return nothing()
    return stretches(*spans(frame[frame["target"]] if "target" in frame else frame))


def nothing() -> Stretches:
    """Return no stretch at all."""
    return Stretches(np.empty(0, np.int64), np.empty(0, np.int64))


def first_of(work: pd.DataFrame, rows: pd.DataFrame, times: Times) -> Times:
    """Return for each piece of work the earliest time of its command buffer's rows, or NEVER.

    Args:
        work: A table with the column `command_buffer`.
        rows: Another one.
        times: A moment for each of its rows; NEVER where there is none.
    """
    return _looked_up(work, rows, times, np.minimum)


def last_of(work: pd.DataFrame, rows: pd.DataFrame, times: Times) -> Times:
    """Return for each piece of work the latest time of its command buffer's rows, or NEVER."""
    return _looked_up(work, rows, times, np.maximum)


def moments(column: pd.Series) -> Times:
    """Return a column of times, NEVER where it is null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def _looked_up(work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: np.ufunc) -> Times:
    named = rows["command_buffer"].notna().to_numpy(dtype=bool) & (times != NEVER)
    ids = _ids(rows["command_buffer"])[named]
    if not ids.size:
        return np.full(len(work), NEVER)
    order = np.argsort(ids, kind="stable")
    ids, times = ids[order], times[named][order]
    first = np.flatnonzero(np.append(np.array([True]), ids[1:] != ids[:-1]))
    known, values = ids[first], best.reduceat(times, first)
    wanted = _ids(work["command_buffer"])
    place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    found = (known[place] == wanted) & work["command_buffer"].notna().to_numpy(dtype=bool)
    return np.where(found, values[place], NEVER)


def _ids(column: pd.Series) -> NDArray[np.uint64]:
    return column.to_numpy(dtype=np.uint64, na_value=0)


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
    def queued(self) -> Stretches:
        """When something was handed over and had not begun."""
        known = self.submitted != NEVER
        return stretches(self.submitted[known], self.start[known])

    @property
    def unreported(self) -> Stretches:
        """When something had been done and the host could not know."""
        known = self.completed != NEVER
        return stretches(self.end[known], self.completed[known])


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
        completed = last_of(own, completions, moments(completions["time"]))
    opened = _filled(first_of(own, own, start), start)
    return Work(begun, submitted, start, end, completed, opened)


def written(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> Stretches:
    """Return when the target wrote work: its encoders, else its command buffers."""
    for frame in (encoders, submissions):
        if frame is not None and frame["target"].any():
            return stretches(*spans(frame[frame["target"]]))
    return stretches(np.empty(0, np.int64), np.empty(0, np.int64))


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
        found = _filled(found, last_of(own, commits, moments(commits["committed"])))
    if submissions is not None:
        found = _filled(found, last_of(own, submissions, spans(submissions)[1]))
    return np.minimum(found, start)


def _filled(found: Times, other: Times) -> Times:
    return np.where(found == NEVER, other, found)


def _first_written(
    own: pd.DataFrame, encoders: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> Times:
    begun = np.full(len(own), NEVER)
    for frame in (encoders, submissions):
        if frame is not None:
            begun = _filled(begun, first_of(own, frame, spans(frame)[0]))
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
    `told` is what the workload says it did, by name.
    """

    written: Stretches
    driver: Stretches
    prepared: tuple[Times, Times]
    compiler: Stretches
    others: Stretches
    awake: Stretches
    told: Mapping[str, Stretches]

    @property
    def bounds(self) -> Times:
        """All moments at which any of it begins or ends."""
        seen = (self.written, self.driver, self.compiler, self.others, self.awake)
        ends = self.prepared[1]
        return np.concatenate((ends, *(one.bounds for one in (*seen, *self.told.values()))))

    def driving(self, at: Times, submitted: Times) -> Flags:
        """Say when the driver was on the way to work that was handed over at the moments given.

        It takes command buffers in order, so that it is through with one at the end of the first
        that it begins afterwards; what it does then is for later ones.
        """
        starts, ends = self.prepared
        through = np.append(ends, FOREVER)[np.searchsorted(starts, submitted)]
        return self.driver.cover(at) & (at < through)

    def compiling(self, at: Times) -> Flags:
        """Say when a pipeline was made, by the compiler's rows or the workload's word."""
        return self.compiler.cover(at) | self._told(COMPILE, at)

    def reading_back(self, at: Times) -> Flags:
        """Say when the workload read results back, by its own word."""
        return self._told(READBACK, at)

    def asleep(self, at: Times, until: Times) -> Flags:
        """Say when the device was in no performance state, and came into one by `until`."""
        return ~self.awake.cover(at) & (self.awake.next_start(at) <= until)

    def _told(self, name: str, at: Times) -> Flags:
        return self.told.get(name, nothing()).cover(at)


def surroundings(  # noqa: PLR0917  one table for each of them
    written: Stretches,
    others: pd.DataFrame,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    told: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> Surroundings:
    """Gather them from their tables; what has no table was nowhere seen."""
    return Surroundings(
        written=written,
        driver=_either(covered(driver_intervals), covered(_wiring(driver_events))),
        prepared=_prepared(driver_intervals),
        compiler=covered(compiler_activity),
        others=stretches(*spans(others)),
        awake=covered(gpu_performance_states),
        told=_by_name(told),
    )


def _wiring(driver_events: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return when the driver wired memory; whether its other events hold work up is not known."""
    if driver_events is None:
        return None
    return driver_events[driver_events["event"].fillna("") == WIRE]


def _either(one: Stretches, other: Stretches) -> Stretches:
    """Return what at least one of them covers."""
    starts = np.concatenate((one.starts, other.starts))
    return stretches(starts, np.concatenate((one.ends, other.ends)))


def _prepared(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return nothing().starts, nothing().ends
    own = driver_intervals[driver_intervals["target"]].sort_values("start", kind="stable")
    return spans(own[own["depth"].fillna(0) == 0])


def without_load(told: pd.DataFrame | None) -> Stretches:
    """Return when the workload says that it had nothing to do, or reference work was timed."""
    return nothing() if told is None else covered(told[told["name"].isin(NO_WORK)])


def _by_name(told: pd.DataFrame | None) -> dict[str, Stretches]:
    if told is None:
        return {}
    worked = told[~told["name"].fillna(IDLE).isin(NO_WORK)]
    return {str(name): covered(own) for name, own in worked.groupby("name", sort=True)}
