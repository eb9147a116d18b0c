"""The causes of uneven steps: events that cover slow steps, and the share that they explain."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.beats import Beats
from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.pieces import CAUSES
from tracekit.analysis.intervals import IntervalSet, Times
from tracekit.analysis.intervals import gaps as gaps_between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact
from tracekit.analysis.upkeep import wirings
from tracekit.workload import COMPILE, IDLE, REFERENCE

BESIDE = "other processes used the GPU"
_WIRED = "the driver wired memory"
_THERMAL = "the thermal state was"
_CLOCKED = "the performance state was"
_SPAN = "the workload was in its span"
_IDLE = "the device was idle"
LONGER_WORK = "the device worked longer for the target"
WITHOUT_WORK = "the device had nothing of the target to do"
COMPILED = "shaders were compiled"


@dataclass(frozen=True)
class Happening:
    """Stretches of time that may explain a slow step, and their `description` in words."""

    description: str
    when: IntervalSet


@dataclass(frozen=True, eq=False)
class Happenings:
    """Events during the steps, by the tables that show them.

    They are collected only to explain a slow step, which most recordings do not have.
    """

    gpu_intervals: pd.DataFrame | None
    compiler_activity: pd.DataFrame | None
    driver_events: pd.DataFrame | None
    gpu_performance_states: pd.DataFrame | None
    thermal_states: pd.DataFrame | None
    spans: pd.DataFrame | None
    handover: Handover | None
    gaps: pd.DataFrame | None

    @cached_property
    def ranked_happenings(self) -> tuple[Happening, ...]:
        """All kinds of recorded happenings, in order of relevance.

        A compile explains more than a span of the workload, and a span more than an idle device.
        Idle time has the causes of the table `gaps`. As in that table, only work on the target's
        channels counts for other processes.
        """
        of_the_host = _of_the_host(self.compiler_activity, self.spans)
        of_others = _of_others(self.gpu_intervals)
        listed = [
            *of_the_host,
            *of_others,
        ]
        if self.driver_events is not None:
            listed.append(_happening(_WIRED, wirings(self.driver_events)))
        did = self.spans
        if did is not None:
            is_left_out = did["name"].isin([COMPILE, IDLE, REFERENCE])
            did = did[~is_left_out]
        described_frames = (
            (self.thermal_states, "state", f"{_THERMAL} {{}}"),
            (self.gpu_performance_states, "state", f"{_CLOCKED} {{}}"),
            (did, "name", f"{_SPAN} “{{}}”"),
        )
        for frame, column, words in described_frames:
            if frame is not None:
                groups = frame.groupby(column, sort=True)
                listed += [_happening(words.format(value), rows) for value, rows in groups]
        listed += _idle_by_cause(self.gaps)
        if self.gpu_intervals is not None and _has_work_times(self.gpu_intervals, self.handover):
            listed += _of_the_target(self.gpu_intervals)
        return tuple(happening for happening in listed if happening.when.starts.size)


def happenings(
    gpu_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    thermal_states: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    handover: Handover | None,
    gaps: pd.DataFrame | None,
) -> Happenings:
    """Return the events during the steps."""
    return Happenings(
        gpu_intervals,
        compiler_activity,
        driver_events,
        gpu_performance_states,
        thermal_states,
        spans,
        handover,
        gaps,
    )


def _of_the_host(
    compiler_activity: pd.DataFrame | None, spans: pd.DataFrame | None
) -> list[Happening]:
    """Return when pipelines were compiled, by the trace and by the workload's spans."""
    compiled: list[pd.DataFrame] = []
    if compiler_activity is not None:
        compiled.append(compiler_activity[compiler_activity["target"]])
    if spans is not None:
        compile_spans = spans[spans["name"] == COMPILE]
        compiled.append(compile_spans)
    if not compiled:
        return []
    parts = [part[["start", "duration"]] for part in compiled]
    compilations = pd.concat(parts)
    return [_happening(COMPILED, compilations)]


def _of_others(gpu_intervals: pd.DataFrame | None) -> list[Happening]:
    """Return when other processes used the target's channels."""
    if gpu_intervals is None:
        return []
    other_intervals = gpu_intervals[~gpu_intervals["target"]]
    if "channel" in gpu_intervals:
        target_channels = gpu_intervals.loc[gpu_intervals["target"], "channel"]
        channels = target_channels.unique()
        other_intervals = other_intervals[other_intervals["channel"].isin(channels)]
    return [_happening(BESIDE, other_intervals)]


def _of_the_target(gpu_intervals: pd.DataFrame) -> list[Happening]:
    """Return when the device had no work of the target, and when it had some."""
    target_times = gpu_intervals.loc[gpu_intervals["target"], ["start", "duration"]]
    target_work = _happening(LONGER_WORK, target_times)
    work_intervals = target_work.when
    if not work_intervals.starts.size:
        return []
    first_start = int(work_intervals.starts[0])
    last_end = int(work_intervals.ends[-1])
    idle = gaps_between(
        work_intervals.starts,
        work_intervals.ends,
        first_start,
        last_end,
    )
    return [Happening(WITHOUT_WORK, IntervalSet(*idle)), target_work]


def _has_work_times(gpu_intervals: pd.DataFrame, handover: Handover | None) -> bool:
    """Return whether intervals are times of work, which a host's clock does not always show."""
    by_a_host = "clock" in gpu_intervals and (gpu_intervals["clock"] == "host").any()
    return handover is not None or not by_a_host


def _idle_by_cause(gaps: pd.DataFrame | None) -> list[Happening]:
    if gaps is None:
        return []
    words = {str(cause): f"{_IDLE}: {text}" for cause, text in CAUSES.items()}
    groups = gaps.groupby("cause", observed=True, sort=True)
    return [_happening(words[str(cause)], rows) for cause, rows in groups]


def _happening(description: str, rows: pd.DataFrame) -> Happening:
    return Happening(description, IntervalSet.from_spans(*bounds(rows)))


UNEXPLAINED = ""
_STATES = (_THERMAL, _CLOCKED, _SPAN)
_MECHANISMS = {
    COMPILED: Mechanism.COMPILE_IN_LOOP,
    BESIDE: Mechanism.OTHER_PROCESS,
    _WIRED: Mechanism.WIRING,
    _THERMAL: Mechanism.THERMAL,
    _CLOCKED: Mechanism.CLOCK_UNKNOWN,
    _SPAN: Mechanism.PERIODIC_WAIT,
    _IDLE: Mechanism.HOST_ELSEWHERE,
    WITHOUT_WORK: Mechanism.HOST_ELSEWHERE,
    LONGER_WORK: Mechanism.UNEVEN_WORK,
}
"""The first words of causes, and the mechanism of each."""
_LISTED = 3

_MOST = 0.5  # share of a slow step's excess that a happening must cover to explain it


@dataclass(frozen=True, eq=False)
class Explanation:
    """The cause of each slow step, in order; ns.

    `excess` is the step's time beyond the usual, `compiled` and `idle` the parts of it in compiles
    and without work of the target on the device.
    """

    causes: tuple[str, ...]
    excess: NDArray[np.float64]
    compiled: NDArray[np.float64]
    idle: NDArray[np.float64]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism behind the most common cause."""
        common_cause, _ = Counter(self.causes).most_common(1)[0]
        mechanisms = (name for words, name in _MECHANISMS.items() if common_cause.startswith(words))
        return next(mechanisms, Mechanism.SPIKES_UNEXPLAINED)

    @property
    def cause_words(self) -> str:
        """The causes in words, the most common first, each with its number; "" without any."""
        known_causes = [cause for cause in self.causes if cause != UNEXPLAINED]
        counts = Counter(known_causes)
        if len(counts) == 1 and len(self.causes) == counts.total():
            return next(iter(counts))
        common_causes = counts.most_common(_LISTED)
        counted_causes = [f"{cause} ({number:,})" for cause, number in common_causes]
        return ", ".join(counted_causes)

    @property
    def unexplained_count(self) -> int:
        """The number of steps that no recorded event explains."""
        return self.causes.count(UNEXPLAINED)

    @property
    def lost_time(self) -> float:
        """The excess in ns, without compiles, and without steps with longer work of the target."""
        is_lost = np.array([cause != LONGER_WORK for cause in self.causes], dtype=np.bool_)
        return float((self.excess - self.compiled)[is_lost].sum())

    @property
    def is_mostly_idle(self) -> bool:
        """Whether the device was idle for most of the time."""
        idle_time = self.idle.sum()
        return bool(idle_time > _MOST * self.excess.sum())

    @property
    def enclosing_rule(self) -> str:
        """The rule that also counts most of the time: bubbles, if the device was idle."""
        return "bubbles" if self.is_mostly_idle else ""


def explain(
    beats: Beats, slow: NDArray[np.bool_], excess: NDArray[np.float64], happenings: Happenings
) -> Explanation:
    """Find for each slow step the most relevant happening that covers most of its excess.

    Only the part of a happening beyond that of the other steps counts: an event in all of them
    explains nothing. A state, which persists, counts beyond its share in the other steps. `excess`
    is the time of each beat beyond the usual, in ns.
    """
    times = beats.times[slow]
    needed = _MOST * excess[slow]
    causes = np.full(times.size, UNEXPLAINED, dtype=object)
    compiled = np.zeros(times.size)
    idle = np.zeros(times.size)
    for happening in happenings.ranked_happenings:
        description = happening.description
        covered = happening.when.measure_within(beats.starts, beats.ends)
        usual_cover = np.median(covered[~slow])
        beyond = covered[slow] - usual_cover
        if description.startswith(_STATES):
            usual_time = max(1, beats.times[~slow].sum())
            usual_share = covered[~slow].sum() / usual_time
            beyond = covered[slow] - usual_share * times
        if description == COMPILED:
            compiled = np.clip(beyond, 0, excess[slow])
        if description == WITHOUT_WORK:
            idle = np.clip(beyond, 0, excess[slow])
        explains = (causes == UNEXPLAINED) & (beyond >= needed)
        causes[explains] = description
    idle_alone = np.clip(idle - compiled, 0, None)
    return Explanation(tuple(causes), excess[slow], compiled, idle_alone)


def beside_others(
    beats: Beats, far: NDArray[np.bool_], other_intervals: pd.DataFrame
) -> NDArray[np.bool_]:
    """Return in which of the far longer beats the device also ran for other processes.

    All channels count because they share the cores, so that the same work takes longer with another
    process. Such work counts if it lasted for half of the additional device time.
    """
    other_work = IntervalSet.from_spans(*bounds(other_intervals))
    shared = other_work.measure_within(beats.starts, beats.ends)
    usual_shared = np.median(shared[~far])
    beyond = shared - usual_shared
    usual_work = np.median(beats.work[~far])
    longer = beats.work - usual_work
    return far & (beyond >= _MOST * longer)


def facts_of_spread(values: Times | NDArray[np.float64]) -> tuple[Fact, ...]:
    """Return the 5th, 50th and 95th percentiles of times, in ns."""
    percentiles = np.percentile(values, (5, 50, 95))
    low_percentile, middle, high_percentile = percentiles.tolist()
    return (
        Fact("low", low_percentile, "ns"),
        Fact("middle", middle, "ns"),
        Fact("high", high_percentile, "ns"),
    )
