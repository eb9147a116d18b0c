"""`bubbles`: the device waits for work of the target."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.cause import CAUSES, DOING, Cause
from tracekit.analysis.idle.levers import Habits, by_mechanism, mechanism, second_lever
from tracekit.analysis.idle.sources import name_missing_sources
from tracekit.analysis.idle.sums import (
    gaps_of,
    idle_of_unknown_waits,
    idle_time,
    loaded_time,
    longest_gaps,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.analysis.savings.estimate import Savings
from tracekit.analysis.scope import Device
from tracekit.base import units

_MOST = 0.5  # share of the idle time above which the host's activity is named
_LEAST = 0.05  # share of the idle time above which a cause is named
_UNSEEN = 0.25  # share of the idle time without observed work of the host
_NOTHING = 100_000  # ns: the time to wake a thread
_EITHER = "way back or host"  # in a list of causes
_SAVED_ELSEWHERE = (Cause.COMPILE, Cause.OTHER_PROCESS)  # pipeline-churn, gpu-contended

# Causes that are the round trip of a single request.
_TURNS = (Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING)
# Causes whose levers no replay knows; each counts in full.
_NOT_REPLAYED = (
    Cause.DRIVER,
    Cause.WIRING,
    Cause.POWERING_UP,
    Cause.OTHER_DEVICE,
    Cause.UNATTRIBUTED,
)


def bubbles(
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    device: Device,
    handover: Handover,
    loop: Loop,
    idle_by_cause: dict[Cause, int],
    causes: pd.DataFrame,
    habits: Habits,
    doubtful: int,
    savings: Savings | None,
    *,
    limit: float = 0.05,
) -> Findings:
    """The device had no work from the target.

    What it looks for:
        Gaps between the target's device intervals in the window, however short, including its
        lead-in and tail, except the time in which a server reports by spans `idle` that it had no
        request to serve. It fires when the gaps cover more than `limit` of the rest of the window
        (default 5 %). The rule distinguishes a gap between encoders of one command buffer, a
        boundary between command buffers that had been committed in time, a late start, a host that
        was still encoding, and a host that had waited for all of its work; within a gap, it
        distinguishes compilations, wiring of memory, the driver, other processes, and a device that
        powers up. Time that the recording cannot explain is unattributed; if a table that would
        show one of these causes is missing, the finding names it. Time of compilations counts as a
        saving of pipeline-churn, time of other processes as one of gpu-contended. A finding about
        one of these causes is a part of this one. The possible saving is the time that all levers
        together save in a replay of the recording's own schedule; time that no lever saves is not
        included.

    Why it matters:
        In a steady decode loop the device should never wait for the host. Idle time is the
        difference between the tokens per second that you get and those that the kernel allows.

    What to do:
        Begin with the cause that took the most time; each has a lever of its own.

    When it abstains:
        When the target is not known or has no device intervals, when there was no load in the whole
        window, when a CPU did the work and steps wait or work inside `submit`, so that their work
        cannot be separated from its preparation, and when intervals with an impossible end may have
        filled so much of the idle time that `limit` was not reached. It is silent when something
        outside paces the loop, because the device waits for that; and when single iterations are
        requested now and then, and the idle time is that of their round trips.
    """
    idle = idle_time(gaps)
    load = loaded_time(loaded)
    if idle <= limit * load or loop.paced:
        return
    if idle - doubtful <= limit * load:
        raise _make_doubt(idle, load, doubtful)
    idle_by_lever = by_mechanism(idle_by_cause, habits)
    lever = next(iter(idle_by_lever))  # that of most idle time
    causes_of_lever = [cause for cause in idle_by_cause if mechanism(cause, habits) == lever]
    worst_cause = max(causes_of_lever, key=lambda cause: idle_by_cause[cause])
    if habits.asked_singly and worst_cause in _TURNS:
        return
    # A replay knows the times of the GPU only.
    winnable = _measure_winnable(idle_by_cause, idle, None if device.on_the_host else savings)
    facts = (
        Fact("device", "CPU backend" if device.on_the_host else "GPU"),
        Fact("idle_share", idle / load, "ratio"),
        Fact("idle", idle, "ns"),
        Fact("load", load, "ns"),
        Fact("window", loop.name),
        Fact("paused", loop.length - load, "ns"),
        *_describe_gaps(gaps, idle_by_cause, load),
        Fact("lacking", name_missing_sources(causes)),
        Fact("computing", _measure_computing(handover, idle / load), "ratio"),
        Fact("spans", _name_spans(gaps, idle)),
        Fact("idle_by_lever", idle_by_lever[lever], "ns"),
        Fact("reason", ""),
        Fact("meanwhile", habits.host_activity.strip()),
        Fact("quantum", habits.quantum, "ns"),
        Fact("until_encoding", _until_encoding(idle_by_cause, habits), "ns"),
        Fact("saving_least", winnable.least_time, "ns"),
        Fact("saving_most", winnable.most_time, "ns"),
        *_list_idle_by_cause(idle_by_cause),
    )
    yield finding(
        wording="bubbles",
        facts=facts,
        cause=str(worst_cause),
        lever=lever,
        also=second_lever(lever, idle_by_cause, habits) or "",
        evidence=longest_gaps(gaps),
        saving=winnable.expected,
    )


def _make_doubt(idle: int, load: int, doubtful: int) -> Unavailable:
    """Return the reason why idle time, of which a part is doubtful, cannot be judged."""
    idle_share = units.percent(idle / load)
    doubtful_share = units.percent(min(1.0, doubtful / idle))
    return Unavailable(
        f"the device was idle for {idle_share}, of which intervals whose end cannot be may have "
        f"filled {doubtful_share} (see impossible-rows)."
    )


@dataclass(frozen=True)
class _WinnableTime:
    """The idle time that all levers together can save, as a range; ns."""

    expected: int
    least_time: int
    most_time: int


def _measure_winnable(
    idle_by_cause: dict[Cause, int], idle: int, savings: Savings | None
) -> _WinnableTime:
    """Return the idle time that all levers save; without `savings`, all of it may be saved.

    A replay gives the saving of the levers on waits, starts, boundaries and half of the host's
    work. The rest of round trips and of the host's work has no lever. Other causes count in full.
    """
    highest = idle - sum(idle_by_cause[cause] for cause in _SAVED_ELSEWHERE)
    if savings is None:
        return _WinnableTime(expected=highest, least_time=0, most_time=highest)
    unreplayed = sum(idle_by_cause[cause] for cause in _NOT_REPLAYED)
    replayed = savings.all_levers
    return _WinnableTime(
        expected=min(highest, replayed.saving + unreplayed),
        least_time=min(highest, replayed.least_saving + unreplayed),
        most_time=min(highest, replayed.most_saving + unreplayed),
    )


def _describe_gaps(
    gaps: pd.DataFrame, idle_by_cause: dict[Cause, int], load: int
) -> Iterator[Fact]:
    """Yield the number of the gaps, the longest, their causes, and the share of unknown waits."""
    idle = idle_time(gaps)
    all_gaps = gaps_of(gaps, *Cause)
    unknown_time = idle_of_unknown_waits(gaps)
    yield Fact("gaps", all_gaps.count)
    yield Fact("longest_gap", int(all_gaps.lost_times.max()), "ns")
    yield Fact("causes", _list_causes(idle_by_cause, idle, load, unknown_time))
    yield Fact("unknown_waits", unknown_time / idle, "ratio")


def _until_encoding(idle_by_cause: dict[Cause, int], habits: Habits) -> int:
    """Return the host's typical time without observed work; 0 if it does not matter.

    It lasts from a report, or the host's last commit, until the host encodes again.
    """
    is_little = idle_by_cause[Cause.HOST] < _UNSEEN * sum(idle_by_cause.values())
    if habits.host_activity or is_little or habits.until_encoding < _NOTHING:
        return 0
    return round(habits.until_encoding)


def _measure_computing(handover: Handover, idle: float) -> float:
    """Return the share of computing in `submit` of the steps' time, if most of `idle`; else 0."""
    if handover.computing > _MOST * idle:
        return handover.computing
    return 0.0


def _list_causes(idle_by_cause: dict[Cause, int], idle: int, load: int, unknown: int) -> str:
    """Return the relevant causes, the longest first, each with its share of the window.

    The `unknown` ns of ways back for which a wait of the host is uncertain are listed separately.
    """
    times = {CAUSES[cause]: idle_by_cause[cause] for cause in idle_by_cause}
    times[CAUSES[Cause.REPORT]] -= unknown
    times[_EITHER] = unknown
    notable_causes = [name for name in times if times[name] >= _LEAST * idle]
    ranked = sorted(notable_causes, key=lambda name: -times[name])
    cause_times = [f"{name} {units.percent(times[name] / load)}" for name in ranked]
    return ", ".join(cause_times)


def _list_idle_by_cause(idle_by_cause: dict[Cause, int]) -> Iterator[Fact]:
    """Yield the idle time of each cause."""
    for cause, time in idle_by_cause.items():
        yield Fact(f"idle_{cause.replace('-', '_')}", time, "ns")


def _name_spans(gaps: pd.DataFrame, idle: int) -> str:
    """Return the name of the workload's spans that cover most of the idle time; "" without any."""
    sums = gaps.groupby("during", observed=True)["duration"].sum()
    span_times = sums.drop(["", *DOING], errors="ignore")
    if span_times.empty or span_times.max() < _MOST * idle:
        return ""
    return str(span_times.idxmax())
