"""The cause of a slower side: compute, memory, or the GPU's waits for the host (synchronization).

The time of a step is work of the GPU and idle time. If most of the added time is idle, the side is
bound by synchronization. If it is work, counters of both sides tell arithmetic from memory: the
part of the GPU whose highest load rose most, else the one with the highest load.
"""

import statistics
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from tracekit import analysis
from tracekit.base import TracekitError, units
from tracekit.comparison.samples import Sample

_MOSTLY = 0.5  # share of the added time
_RISE = 0.02  # of a load, from which on it counts
_PARTS = {"arithmetic": "compute", "memory": "memory", "other_units": "other units"}


@dataclass(frozen=True)
class _SideTime:
    """The ns of a step, or of the whole recording without steps: work of the GPU, and idle."""

    work: float
    idle: float
    of_step: bool

    @property
    def total(self) -> float:
        return self.work + self.idle


def explain_growth(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample], threshold: float
) -> str:
    """Return the bound of the added time of the side after, in a sentence.

    Empty if it is not longer by `threshold` at least, or if no time of the GPU is known.
    """
    side_before = _measure_side(samples_before)
    side_after = _measure_side(samples_after)
    if side_before is None or side_after is None or side_before.of_step != side_after.of_step:
        return ""
    added = side_after.total - side_before.total
    if added <= threshold * side_before.total:
        return ""
    unit = " a step" if side_after.of_step else ""
    added_words = f"{units.duration(added)} more{unit}"
    idle_share = (side_after.idle - side_before.idle) / added
    if idle_share >= _MOSTLY:
        cause = _find_cause(samples_before, samples_after)
        share = units.percent(min(idle_share, 1.0))
        return f"Synchronization bound: of {added_words}, {share} is idle time of the GPU{cause}."
    share = units.percent(min(1 - idle_share, 1.0))
    words = f"of {added_words}, {share} is work of the GPU"
    bound, loads = _compare_loads(samples_before, samples_after)
    if not bound:
        return (
            f"Compute or memory bound: {words}. Counters of both sides tell which: "
            "record them with --counters on."
        )
    return f"{bound[:1].upper()}{bound[1:]} bound: {words}; {loads}."


def _measure_side(samples: Sequence[Sample]) -> _SideTime | None:
    """Return the median times of the runs of a side; None if a run has no time of the GPU."""
    works: list[float] = []
    idles: list[float] = []
    of_step = True
    for sample in samples:
        busy = _value_of(sample, "gpu_busy")
        if busy is None:
            return None
        rate = _value_of(sample, "step_rate")
        idle_ratio = _value_of(sample, "idle_ratio")
        if rate and idle_ratio is not None:
            step_time = 1e9 / rate
            works.append((1 - idle_ratio) * step_time)
            idles.append(idle_ratio * step_time)
            continue
        of_step = False
        span = _value_of(sample, "gpu_span")
        if span is None:
            return None
        works.append(busy)
        idles.append(span - busy)
    return _SideTime(statistics.median(works), statistics.median(idles), of_step)


def _value_of(sample: Sample, name: str) -> float | None:
    measurement = sample.measurement(name)
    if measurement is None or measurement.value is None:
        return None
    return float(measurement.value)


def _find_cause(samples_before: Sequence[Sample], samples_after: Sequence[Sample]) -> str:
    """Return the cause of idle time whose share rose most, as the end of a sentence."""
    largest_rise = 0.0
    words = ""
    for metric in samples_after[0].result.metrics:
        if not metric.name.startswith("idle_") or metric.name == "idle_ratio":
            continue
        old_share = _median_of(samples_before, metric.name) or 0.0
        new_share = _median_of(samples_after, metric.name)
        if new_share is not None and new_share - old_share > largest_rise:
            largest_rise = new_share - old_share
            shares = f"{units.percent(old_share)} before, {units.percent(new_share)} after"
            words = f", most of it {metric.name} ({shares})"
    return words


def _median_of(samples: Sequence[Sample], name: str) -> float | None:
    values = [value for sample in samples if (value := _value_of(sample, name)) is not None]
    if not values:
        return None
    return statistics.median(values)


def _compare_loads(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[str, str]:
    """Return the bound of the side after, and the loads in words; empty without counters."""
    old_loads = _measure_loads(samples_before)
    new_loads = _measure_loads(samples_after)
    rises: dict[str, float] = {}
    levels: dict[str, float] = {}
    words: list[str] = []
    for part, name in _PARTS.items():
        if part in old_loads and part in new_loads:
            _, old_share = old_loads[part]
            counter, new_share = new_loads[part]
            rises[name] = new_share - old_share
            levels[name] = new_share
            old_words = units.percent(old_share)
            words.append(f"{counter} {old_words} before, {units.percent(new_share)} after")
    if not {"compute", "memory"} <= set(rises):
        return "", ""
    bound = max(rises, key=rises.__getitem__)
    if rises[bound] < _RISE:
        bound = max(levels, key=levels.__getitem__)
    return bound, ", ".join(words)


def _measure_loads(samples: Sequence[Sample]) -> dict[str, tuple[str, float]]:
    """Return the highest load of each part of the GPU, by the first run with counters."""
    for sample in samples:
        if sample.tables is None:
            continue
        given_tables = analysis.Given(sample.tables, sample.result.provenance)
        with suppress(KeyError, TracekitError, analysis.Unavailable):
            pressure = analysis.inject(analysis.counters.pressure, given_tables)
            loads: dict[str, tuple[str, float]] = {}
            for part in _PARTS:
                load = getattr(pressure, part)
                if load is not None:
                    loads[part] = (load.counter, load.share)
            return loads
    return {}
