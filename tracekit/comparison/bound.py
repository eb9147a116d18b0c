"""The cause of a slower side: compute, memory, or the GPU's waits for the host (synchronization).

The time of a step is work of the GPU and idle time. If most of the added time is idle, the side is
bound by synchronization, unless another process ran meanwhile. If it is work, counters of both
sides tell arithmetic from memory: the part of the GPU whose highest load rose most, else the one
with the highest load.
"""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tracekit import analysis
from tracekit.base import TracekitError, units
from tracekit.comparison.samples import Sample

_MOSTLY = 0.5  # share of the added time
_EXITED = {"Target exited", "Target app exited"}  # in the words of the recorders
_OTHER_PROCESS = "idle_other_process"
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

    Empty if it is not longer by `threshold` at least, or if no time of the GPU is known. Empty for
    a server, whose steps per second depend on the load, while shares of idle time leave out the
    time without load; and for recordings without steps that neither lasted equally long nor ended
    with their programs.
    """
    if any(_is_of_a_server(sample) for sample in (*samples_before, *samples_after)):
        return ""
    side_before = _measure_side(samples_before)
    side_after = _measure_side(samples_after)
    if side_before is None or side_after is None or side_before.of_step != side_after.of_step:
        return ""
    added = side_after.total - side_before.total
    is_fair = side_after.of_step or _last_equally(samples_before, samples_after, threshold)
    if not is_fair or added <= threshold * side_before.total:
        return ""
    unit = " a step" if side_after.of_step else ""
    added_words = f"{units.duration(added)} more{unit}"
    added_idle = side_after.idle - side_before.idle
    idle_share = added_idle / added
    if idle_share >= _MOSTLY:
        old_causes = _measure_causes(samples_before, side_before)
        new_causes = _measure_causes(samples_after, side_after)
        cause, cause_words = _find_cause(old_causes, new_causes, added_idle)
        share = units.percent(min(idle_share, 1.0))
        bound = "Synchronization bound"
        if cause == _OTHER_PROCESS:
            bound = "Another process on the GPU"
        return f"{bound}: of {added_words}, {share} is idle time of the GPU{cause_words}."
    share = units.percent(min(1 - idle_share, 1.0))
    words = f"of {added_words}, {share} is work of the GPU"
    bound, loads = _compare_loads(samples_before, samples_after)
    if not bound:
        return (
            f"Compute or memory bound: {words}. Counters of both sides tell which: "
            "record them with --counters on."
        )
    return f"{bound[:1].upper()}{bound[1:]} bound: {words}; {loads}."


def _is_of_a_server(sample: Sample) -> bool:
    """Return whether a run served requests, or waited for load."""
    if _value_of(sample, "request_rate_offered") is not None:
        return True
    if sample.tables is None:
        return False
    return sample.measures.take("is of a server", bool, partial(_find_server, sample))


def _find_server(sample: Sample) -> bool:
    given_tables = analysis.Given(sample.open_tables(), sample.result.provenance)
    with suppress(KeyError, TracekitError, analysis.Unavailable):
        return analysis.inject(analysis.scope.of_a_server, given_tables)
    return False


def _last_equally(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample], threshold: float
) -> bool:
    """Return whether both sides are whole programs, or of the same time as far as it is known."""
    origins = [sample.result.provenance for sample in (*samples_before, *samples_after)]
    if all(origin.end_reason in _EXITED for origin in origins):
        return True
    medians: list[float] = []
    for samples in (samples_before, samples_after):
        durations = [sample.result.provenance.duration for sample in samples]
        known_durations = [duration for duration in durations if duration is not None]
        if not known_durations:
            return True
        medians.append(statistics.median(known_durations))
    return abs(medians[1] - medians[0]) <= threshold * medians[0]


def _measure_side(samples: Sequence[Sample]) -> _SideTime | None:
    """Return the median times of the runs of a side.

    None if a run has no time of the GPU, or if only some of the runs have a rate of steps.
    """
    works: list[float] = []
    idles: list[float] = []
    step_runs = 0
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
            step_runs += 1
            continue
        span = _value_of(sample, "gpu_span")
        if span is None:
            return None
        works.append(busy)
        idles.append(span - busy)
    if step_runs not in {0, len(samples)}:
        return None
    return _SideTime(statistics.median(works), statistics.median(idles), step_runs > 0)


def _value_of(sample: Sample, name: str) -> float | None:
    measurement = sample.measurement(name)
    if measurement is None or measurement.value is None:
        return None
    return float(measurement.value)


@dataclass(frozen=True)
class _IdleCause:
    """A cause of idle time on one side: its share, and its ns of a step or of the recording."""

    share: float
    time: float


def _find_cause(
    old_causes: Mapping[str, _IdleCause], new_causes: Mapping[str, _IdleCause], idle: float
) -> tuple[str, str]:
    """Return the cause that grew most, and the end of a sentence on it; both empty if none did.

    `idle` is the added idle time. A cause that only one side measured does not count, and could be
    the largest unless another one has most of the added time.
    """
    growths: dict[str, float] = {}
    for name in old_causes.keys() & new_causes.keys():
        growths[name] = new_causes[name].time - old_causes[name].time
    if not growths:
        return "", ""
    name = max(growths, key=lambda name: (growths[name], name))
    growth = growths[name]
    if growth <= 0:
        return "", ""
    words = "most of it"
    if growth <= _MOSTLY * idle:
        if old_causes.keys() != new_causes.keys():
            return "", ""
        words = "above all"
    old_share = units.percent(old_causes[name].share)
    new_share = units.percent(new_causes[name].share)
    return name, f", {words} {name} ({old_share} before, {new_share} after)"


def _measure_causes(samples: Sequence[Sample], side: _SideTime) -> dict[str, _IdleCause]:
    """Return the causes of a side's idle time, by the medians of their shares."""
    idle_ratio = _median_of(samples, "idle_ratio")
    if idle_ratio is None:
        return {}
    whole = side.total
    if idle_ratio > 0:
        whole = side.idle / idle_ratio
    causes: dict[str, _IdleCause] = {}
    for metric in samples[0].result.metrics:
        if not metric.name.startswith("idle_") or metric.name == "idle_ratio":
            continue
        share = _median_of(samples, metric.name)
        if share is not None:
            causes[metric.name] = _IdleCause(share, share * whole)
    return causes


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
            old_counter, old_share = old_loads[part]
            counter, new_share = new_loads[part]
            rises[name] = new_share - old_share
            levels[name] = new_share
            words.append(f"{old_counter} {units.percent(old_share)} before")
            new_words = f"{units.percent(new_share)} after"
            if counter != old_counter:
                new_words = f"{counter} {new_words}"
            words.append(new_words)
    if not {"compute", "memory"} <= set(rises):
        return "", ""
    bound = max(rises, key=rises.__getitem__)
    if rises[bound] < _RISE:
        bound = max(levels, key=levels.__getitem__)
    return bound, ", ".join(words)


_Loads = dict[str, tuple[str, float]]


def _measure_loads(samples: Sequence[Sample]) -> _Loads:
    """Return the highest load of each part of the GPU, by the first run with counters."""
    for sample in samples:
        if sample.tables is None:
            continue
        loads = sample.measures.take("loads", _Loads | None, partial(_measure_loads_of_run, sample))
        if loads is not None:
            return loads
    return {}


def _measure_loads_of_run(sample: Sample) -> _Loads | None:
    """Return the highest load of each part of the GPU; None for a run without counters."""
    given_tables = analysis.Given(sample.open_tables(), sample.result.provenance)
    with suppress(KeyError, TracekitError, analysis.Unavailable):
        pressure = analysis.inject(analysis.counters.pressure, given_tables)
        loads: _Loads = {}
        for part in _PARTS:
            load = getattr(pressure, part)
            if load is not None:
                loads[part] = (load.counter, load.share)
        return loads
    return None
