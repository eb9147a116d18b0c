"""The runs of a comparison: one sample each, with the blocks of its steady window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from tracekit import analysis
from tracekit.comparison.kept_measures import KeptMeasures
from tracekit.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from tracekit.comparison.blocks import CutRun


@dataclass(frozen=True, eq=False)
class Sample:
    """A run's result and its normalized tables, by the name of its folder.

    `tables` may be the run that has them; they are None if only the result is left, and `absence`
    says why. `disturbed` describes the load of other processes, if it was seen without tables; then
    times do not count. A bench is not a recording, and never had tables. `measures` are those that
    earlier comparisons took of the tables.
    """

    name: str
    result: analysis.Result
    tables: Mapping[str, pd.DataFrame] | Run | None = None
    absence: str = ""
    disturbed: str = ""
    is_bench: bool = False
    measures: KeptMeasures = field(default_factory=KeptMeasures)

    def open_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables, which are opened for the first caller; none if they are gone."""
        if isinstance(self.tables, Run):
            return self.tables.tables
        return self.tables or {}

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


@dataclass(frozen=True)
class _BlockValues:
    """A metric in each block of a run; `absence` is the reason if it has none."""

    numbers: tuple[float, ...] = ()
    absence: str = ""


class Blocks:
    """One run in blocks; the sample keeps their measures."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @cached_property
    def _cut_run(self) -> CutRun:
        from tracekit.comparison.blocks import CutRun  # noqa: PLC0415  with pandas

        tables = self._sample.open_tables()
        return CutRun.from_tables(tables, self._sample.result.provenance)

    @cached_property
    def absence(self) -> str:
        """The reason if there are no blocks; else empty."""
        if self._sample.tables is None:
            return self._sample.absence or "the run's tables are gone."
        return self._sample.measures.take("absence of blocks", str, lambda: self._cut_run.absence)

    def values(self, name: str) -> tuple[float, ...]:
        """Return the metric's value in each block, in order of time."""
        if name not in analysis.METRICS:
            raise analysis.Unavailable("it was measured once, for the whole run.")
        if self.absence:
            raise analysis.Unavailable(self.absence)
        block_values = self._sample.measures.take(
            f"blocks of {name}", _BlockValues, lambda: self._measure(name)
        )
        if block_values.absence:
            raise analysis.Unavailable(block_values.absence)
        return block_values.numbers

    def _measure(self, name: str) -> _BlockValues:
        try:
            return _BlockValues(self._cut_run.measure(name))
        except analysis.Unavailable as reason:
            return _BlockValues(absence=str(reason))

    def reference(self) -> tuple[float, ...]:
        """Return the median time of the reference work in each block; else nothing.

        The reference is a gauge `reference`, in ns: fixed work that the workload or its worker
        does between steps, to show how fast the machine is at that time. A few blocks without a
        reading get the median of the others.
        """
        if self.absence:
            return ()
        return self._sample.measures.take("reference", tuple[float, ...], self._measure_reference)

    def _measure_reference(self) -> tuple[float, ...]:
        return self._cut_run.measure_reference()

    def reference_source(self) -> str:
        """Return the sources and tools of the reference work; empty if there was none."""
        if self.absence:
            return ""
        return self._sample.measures.take(
            "source of the reference", str, self._find_reference_source
        )

    def _find_reference_source(self) -> str:
        return self._cut_run.find_reference_source()


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
