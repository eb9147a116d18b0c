"""Events during the steps that may explain slow ones, from all tables that show any."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.cause import CAUSES
from tracekit.analysis.intervals import IntervalSet
from tracekit.analysis.intervals import gaps as gaps_between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.scope import own_rows
from tracekit.analysis.upkeep import wirings
from tracekit.workload import COMPILE, IDLE, REFERENCE

BESIDE = "other processes used the GPU"
LONGER_WORK = "the device worked longer for the target"
WITHOUT_WORK = "the device had nothing of the target to do"
COMPILED = "shaders were compiled"


@dataclass(frozen=True)
class Happening:
    """Stretches of time that may explain a slow step, and their `description` in words.

    `mechanism` is that of a step that it explains. A state, such as that of the clock, persists, so
    that its share of a step's time counts, and not its time.
    """

    description: str
    mechanism: Mechanism
    when: IntervalSet
    is_state: bool = False

    @classmethod
    def from_rows(
        cls, description: str, mechanism: Mechanism, rows: pd.DataFrame, *, is_state: bool = False
    ) -> "Happening":
        """Return the time that the rows of a table cover."""
        return cls(description, mechanism, IntervalSet.from_spans(*bounds(rows)), is_state)


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
        kinds = (
            *_find_compilations(self.compiler_activity, self.spans),
            *_find_other_work(self.gpu_intervals),
            *_find_wiring(self.driver_events),
            *_find_states("the thermal state was", Mechanism.THERMAL, self.thermal_states),
            *_find_states(
                "the performance state was",
                Mechanism.CLOCK_UNKNOWN,
                self.gpu_performance_states,
            ),
            *_find_spans(self.spans),
            *_find_idle_causes(self.gaps),
            *_find_target_work(self.gpu_intervals, self.handover),
        )
        return tuple(happening for happening in kinds if happening.when.starts.size)


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


def _find_compilations(
    compiler_activity: pd.DataFrame | None, spans: pd.DataFrame | None
) -> list[Happening]:
    """Return when pipelines were compiled, by the trace and by the workload's spans."""
    parts: list[pd.DataFrame] = []
    if compiler_activity is not None:
        parts.append(compiler_activity.loc[compiler_activity["target"], ["start", "duration"]])
    if spans is not None:
        parts.append(spans.loc[spans["name"] == COMPILE, ["start", "duration"]])
    if not parts:
        return []
    return [Happening.from_rows(COMPILED, Mechanism.COMPILE_IN_LOOP, pd.concat(parts))]


def _find_other_work(gpu_intervals: pd.DataFrame | None) -> list[Happening]:
    """Return when other processes used the target's channels."""
    if gpu_intervals is None:
        return []
    other_intervals = gpu_intervals[~gpu_intervals["target"]]
    if "channel" in gpu_intervals:
        channels = gpu_intervals.loc[gpu_intervals["target"], "channel"].unique()
        other_intervals = other_intervals[other_intervals["channel"].isin(channels)]
    return [Happening.from_rows(BESIDE, Mechanism.OTHER_PROCESS, other_intervals)]


def _find_wiring(driver_events: pd.DataFrame | None) -> list[Happening]:
    if driver_events is None:
        return []
    rows = wirings(driver_events)
    return [Happening.from_rows("the driver wired memory", Mechanism.WIRING, rows)]


def _find_states(words: str, mechanism: Mechanism, states: pd.DataFrame | None) -> list[Happening]:
    """Return when the machine was in each of its states."""
    if states is None:
        return []
    groups = states.groupby("state", sort=True)
    return [
        Happening.from_rows(f"{words} {state}", mechanism, rows, is_state=True)
        for state, rows in groups
    ]


def _find_spans(spans: pd.DataFrame | None) -> list[Happening]:
    """Return when the workload was in each of its own spans; one span may last for many steps."""
    if spans is None:
        return []
    is_own = ~spans["name"].isin([COMPILE, IDLE, REFERENCE])
    groups = spans[is_own].groupby("name", sort=True)
    return [
        Happening.from_rows(
            f"the workload was in its span “{name}”", Mechanism.PERIODIC_WAIT, rows, is_state=True
        )
        for name, rows in groups
    ]


def _find_idle_causes(gaps: pd.DataFrame | None) -> list[Happening]:
    """Return when the device was idle, by each cause."""
    if gaps is None:
        return []
    words = {str(cause): text for cause, text in CAUSES.items()}
    groups = gaps.groupby("cause", observed=True, sort=True)
    return [
        Happening.from_rows(
            f"the device was idle: {words[str(cause)]}", Mechanism.HOST_ELSEWHERE, rows
        )
        for cause, rows in groups
    ]


def _find_target_work(
    gpu_intervals: pd.DataFrame | None, handover: Handover | None
) -> list[Happening]:
    """Return when the device had no work of the target, and when it had some."""
    if gpu_intervals is None or not _has_work_times(gpu_intervals, handover):
        return []
    target_rows = own_rows(gpu_intervals)
    target_work = Happening.from_rows(LONGER_WORK, Mechanism.UNEVEN_WORK, target_rows)
    work = target_work.when
    if not work.starts.size:
        return []
    idle = gaps_between(work.starts, work.ends, int(work.starts[0]), int(work.ends[-1]))
    without_work = Happening(WITHOUT_WORK, Mechanism.HOST_ELSEWHERE, IntervalSet(*idle))
    return [without_work, target_work]


def _has_work_times(gpu_intervals: pd.DataFrame, handover: Handover | None) -> bool:
    """Return whether intervals are times of work, which a host's clock does not always show."""
    by_a_host = "clock" in gpu_intervals and (gpu_intervals["clock"] == "host").any()
    return handover is not None or not by_a_host
