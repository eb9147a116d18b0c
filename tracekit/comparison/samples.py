"""The runs of a comparison: one sample each, cut into blocks of its steady window.

A run is cut into stretches of equal length, and each metric is measured in each of them as if it
were a run. Neighbouring steps are alike, because clocks, heat and other work change slowly: a block
is long enough to differ from the next one, and single steps are not independent measurements.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.base import TracekitError
from tracekit.workload import OWN_REFERENCE, REFERENCE


@dataclass(frozen=True, eq=False)
class Sample:
    """A run's result and its normalized tables, by the name of its folder.

    `tables` are None if only the result is left; `absence` says why. `disturbed` describes the load
    of other processes, if it was seen without tables; then times do not count. A bench is not a
    recording, and never had tables.
    """

    name: str
    result: analysis.Result
    tables: Mapping[str, pd.DataFrame] | None = None
    absence: str = ""
    disturbed: str = ""
    is_bench: bool = False

    @property
    def start_time(self) -> datetime | None:
        """The start of the recording; None if it is not known."""
        try:
            moment = datetime.fromisoformat(self.result.provenance.started)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment

    @property
    def recording(self) -> tuple[object, ...]:
        """The identity of this recording among all others; empty if its start is not known."""
        provenance = self.result.provenance
        if not provenance.started:
            return ()
        return (
            provenance.started,
            provenance.created,
            provenance.recorder,
            provenance.targets,
            provenance.run,
        )

    def measurement(self, name: str) -> analysis.Measurement | None:
        """Return the measurement of that name, by tracekit or by the workload itself."""
        all_metrics = (*self.result.metrics, *self.result.results)
        for metric in all_metrics:
            if metric.name == name:
                return metric
        return None


BLOCKS = 10  # of a run, or half as many if it has few steps
LEAST_STEPS = 4  # of a block
_LEAST_READ = 0.7  # of the blocks: fewer with readings do not show how the pace changed
# Tables of facts that are known once for a whole run, or of things that outlive a block.
_WHOLE = frozenset({"memory_profile", "results", "requests", "request_tokens"})
_UNTIMED = frozenset({"step_models"})
# Tables of states that hold until they change: a block may lie within one row.
_STATES = frozenset({"gpu_performance_states", "thermal_states"})


class WindowedTables(Mapping[str, pd.DataFrame]):
    """The tables of a run, with the rows that begin in a window; of states, that lie in it."""

    def __init__(
        self, tables: Mapping[str, pd.DataFrame], window: analysis.intervals.Window
    ) -> None:
        self._tables = tables
        self._window = window
        self._frames: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            self._frames[name] = _cut_table(name, self._tables[name], self._window)
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


class Blocks:
    """One run in blocks; `absence` is the reason if there are none."""

    def __init__(self, sample: Sample) -> None:
        self.absence = ""
        self._blocks: list[analysis.Given] = []
        if sample.tables is None:
            self.absence = sample.absence or "the run's tables are gone."
            return
        try:
            windows = _windows(sample.tables)
        except (analysis.Unavailable, TracekitError) as reason:
            self.absence = str(reason)
            return
        provenance = sample.result.provenance
        for window in windows:
            tables = WindowedTables(sample.tables, window)
            self._blocks.append(analysis.Given(tables, provenance, part=True))

    def values(self, name: str) -> tuple[float, ...]:
        """Return the metric's value in each block, in order of time."""
        metric = analysis.METRICS.get(name)
        if metric is None:
            raise analysis.Unavailable("it was measured once, for the whole run.")
        if self.absence:
            raise analysis.Unavailable(self.absence)
        if analysis.recorded_tables(metric.measure) & _WHOLE:
            raise analysis.Unavailable("it is a number of the whole run, which has no parts.")
        block_values = [float(analysis.inject(metric.measure, block)) for block in self._blocks]
        return tuple(block_values)

    def reference(self) -> tuple[float, ...]:
        """Return the median time of the reference work in each block; else nothing.

        The reference is a gauge `reference`, in ns: fixed work that the workload or its worker
        does between steps, to show how fast the machine is at that time. A few blocks without a
        reading get the median of the others.
        """
        block_medians = list(map(self._median_reading, self._blocks))
        medians = np.array(block_medians)
        has_reading = np.isfinite(medians)
        if not has_reading.size or has_reading.mean() < _LEAST_READ:
            return ()
        median_of_blocks = np.median(medians[has_reading])
        return tuple(np.where(has_reading, medians, median_of_blocks).tolist())

    def _median_reading(self, block: analysis.Given) -> float:
        """Return the median time of the reference work in a block, in ns; NaN without a reading."""
        values_column = self._readings(block)["value"]
        values = values_column.to_numpy(dtype=np.float64)
        if not values.size:
            return math.nan
        return float(np.median(values))

    def reference_source(self) -> str:
        """Return the sources and tools of the reference work; empty if there was none."""
        sources: dict[str, None] = {}
        for block in self._blocks:
            for source in self._readings(block)["source"].unique():
                sources[str(source)] = None
        return ", ".join(sources)

    def _readings(self, block: analysis.Given) -> pd.DataFrame:
        """Return the readings of reference work in a block; those of the workload go first."""
        try:
            gauges = block["gauges"].dropna(subset=["value"])
        except (KeyError, analysis.Unavailable, TracekitError):
            return pd.DataFrame({"value": [], "source": []}, dtype=object)
        is_reference = gauges["name"] == REFERENCE
        is_time = gauges["unit"] == "ns"
        readings = gauges[is_reference & is_time]
        readings = readings[readings["value"] > 0]
        sources = readings["source"].fillna("").astype(str)
        readings = readings.assign(source=sources)
        is_own = readings["source"].str.startswith(OWN_REFERENCE)
        workload_readings = readings[~is_own]
        return readings if workload_readings.empty else workload_readings


def _windows(tables: Mapping[str, pd.DataFrame]) -> list[analysis.intervals.Window]:
    """Cut the steady window: by steps if there are enough of them, else by its time."""
    steady = _find_steady_window(tables)
    steps = tables.get("steps")
    step_count = BLOCKS * LEAST_STEPS  # a run without steps is cut by its time
    if steps is not None and not steps.empty:
        is_steady = steps["start"].between(steady.start, steady.end, inclusive="left")
        step_count = int(is_steady.sum())
    number = min(BLOCKS, step_count // LEAST_STEPS)
    if number < BLOCKS // 2:
        needed_steps = BLOCKS // 2 * LEAST_STEPS
        raise analysis.Unavailable(
            f"a spread within a run takes {needed_steps} steady steps, and it has {step_count}."
        )
    exact_edges = np.linspace(steady.start, steady.end, number + 1)
    edges = exact_edges.astype(np.int64).tolist()
    return [analysis.intervals.Window(*pair) for pair in pairwise(edges)]


def _find_steady_window(tables: Mapping[str, pd.DataFrame]) -> analysis.intervals.Window:
    """Return the steady window of a run, by its marks or its work; raise Unavailable without."""
    phases = tables.get("phases")
    rows = tables.get("gpu_intervals")
    if phases is None and rows is None:
        raise analysis.Unavailable("the run has neither phases nor intervals.")
    if rows is None:
        target_rows = pd.DataFrame({"start": [], "duration": []})
    else:
        target_rows = rows[rows["target"]]
    steady = analysis.intervals.steady_window(phases, target_rows)
    if steady is None or steady.length == 0:
        raise analysis.Unavailable("the run has no steady window.")
    return steady


def _cut_table(name: str, frame: pd.DataFrame, window: analysis.intervals.Window) -> pd.DataFrame:
    if name in _UNTIMED:
        return frame
    if name == "phases":  # the steady one as if it were as long as the window
        steady = frame[frame["name"] == "steady"].head(1)
        return steady.assign(start=window.start, duration=window.length)
    if name in _STATES:
        starts, ends = analysis.intervals.spans(frame)
        is_overlapping = (starts < window.end) & (ends > window.start)
        return frame[is_overlapping]
    for column in ("start", "time"):
        if column in frame:
            is_within = (frame[column] >= window.start) & (frame[column] < window.end)
            return frame[is_within]
    return frame


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one side, each with its blocks, and the reference work in each of these."""

    samples: tuple[Sample, ...]
    blocks: tuple[Blocks, ...]
    references: tuple[tuple[float, ...], ...]

    def values(self, name: str) -> list[float]:
        """Return the metric in each run that knows it."""
        values: list[float] = []
        for sample in self.samples:
            metric = sample.measurement(name)
            if metric is not None and metric.value is not None:
                values.append(float(metric.value))
        return values


def runs(samples: Sequence[Sample]) -> Runs:
    """Cut each run into blocks; runs are in order of time if all times are known."""
    ordered = _order_by_time(samples)
    blocks = tuple(map(Blocks, ordered))
    references = tuple(block.reference() for block in blocks)
    return Runs(tuple(ordered), blocks, references)


def _order_by_time(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples in order of time; as they are if a time is not known."""
    moments: list[datetime] = []
    for sample in samples:
        moment = sample.start_time
        if moment is None:
            return samples
        moments.append(moment)
    order = sorted(range(len(samples)), key=moments.__getitem__)
    return [samples[place] for place in order]


class Order(StrEnum):
    """The order in which the runs of two sides were recorded."""

    ALTERNATING = "alternating"  # each two neighbours in time are one of each side
    APART = "apart"  # all of one side before all of the other
    MIXED = "mixed"
    UNKNOWN = "unknown"


def order_of(samples_before: Sequence[Sample], samples_after: Sequence[Sample]) -> Order:
    """Return the order in which runs were recorded, by the times at which they began."""
    starts: list[tuple[datetime, int]] = []
    for side, samples in enumerate((samples_before, samples_after)):
        for sample in samples:
            start = sample.start_time
            if start is None:
                return Order.UNKNOWN
            starts.append((start, side))
    starts.sort()
    sides = [side for _, side in starts]
    if len(samples_before) == len(samples_after) and _is_alternating(sides):
        return Order.ALTERNATING
    if sides in (sorted(sides), sorted(sides, reverse=True)):
        return Order.APART
    return Order.MIXED


def _is_alternating(sides: Sequence[int]) -> bool:
    """Tell whether each two neighbours in time are one of each side."""
    pairs = zip(sides[::2], sides[1::2], strict=False)
    return all(first_side != second_side for first_side, second_side in pairs)
