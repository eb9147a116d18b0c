"""The blocks of a run: its tables cut along its steady window, and the metrics of each.

A run is cut into stretches of equal length, and each metric is measured in each of them as if it
were a run. Neighbouring steps are alike, because clocks, heat and other work change slowly: a block
is long enough to differ from the next one, and single steps are not independent measurements.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.base import Provenance, TracekitError
from tracekit.workload import OWN_REFERENCE, REFERENCE

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


@dataclass(frozen=True, eq=False)
class CutRun:
    """The tables of each block of a run; `absence` is the reason if there are none."""

    blocks: tuple[analysis.Given, ...] = ()
    absence: str = ""

    @classmethod
    def from_tables(cls, tables: Mapping[str, pd.DataFrame], provenance: Provenance) -> "CutRun":
        """Cut the tables of a run."""
        try:
            windows = _windows(tables)
        except (analysis.Unavailable, TracekitError) as reason:
            return cls(absence=str(reason))
        blocks: list[analysis.Given] = []
        for window in windows:
            block_tables = WindowedTables(tables, window)
            blocks.append(analysis.Given(block_tables, provenance, part=True))
        return cls(tuple(blocks))

    def measure(self, name: str) -> tuple[float, ...]:
        """Return a metric in each block, in order of time; raise Unavailable with the reason."""
        measure = analysis.METRICS[name].measure
        if analysis.recorded_tables(measure) & _WHOLE:
            raise analysis.Unavailable("it is a number of the whole run, which has no parts.")
        block_values = [float(analysis.inject(measure, block)) for block in self.blocks]
        return tuple(block_values)

    def measure_reference(self) -> tuple[float, ...]:
        """Return the median time of the reference work in each block; else nothing.

        A few blocks without a reading get the median of the others.
        """
        block_medians = list(map(_median_reading, self.blocks))
        medians = np.array(block_medians)
        has_reading = np.isfinite(medians)
        if not has_reading.size or has_reading.mean() < _LEAST_READ:
            return ()
        median_of_blocks = np.median(medians[has_reading])
        return tuple(np.where(has_reading, medians, median_of_blocks).tolist())

    def find_reference_source(self) -> str:
        """Return the sources and tools of the reference work; empty if there was none."""
        sources: dict[str, None] = {}
        for block in self.blocks:
            for source in _readings(block)["source"].unique():
                sources[str(source)] = None
        return ", ".join(sources)


def _median_reading(block: analysis.Given) -> float:
    """Return the median time of the reference work in a block, in ns; NaN without a reading."""
    values_column = _readings(block)["value"]
    values = values_column.to_numpy(dtype=np.float64)
    if not values.size:
        return math.nan
    return float(np.median(values))


def _readings(block: analysis.Given) -> pd.DataFrame:
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
