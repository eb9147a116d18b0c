"""`bubbles`: the device waits for work of the target."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.gaps import (
    gaps_of,
    idle_of_unknown_waits,
    idle_time,
    loaded_time,
    longest_gaps,
    name_missing_sources,
)
from tracekit.analysis.idle.levers import Habits, by_mechanism, mechanism, second_lever
from tracekit.analysis.idle.pieces import CAUSES, DOING, Cause
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
_EITHER = "way back or host"
_SAVED_ELSEWHERE = (Cause.COMPILE, Cause.OTHER_PROCESS)  # pipeline-churn, gpu-contended

_TURNS = (Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING)
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
    shares: dict[Cause, int],
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
        waiting_share = idle / load
        idle_text = units.percent(waiting_share)
        doubtful_share = min(1.0, doubtful / idle)
        doubtful_text = units.percent(doubtful_share)
        raise Unavailable(
            f"the device was idle for {idle_text}, of which intervals "
            f"whose end cannot "
            f"be may have filled {doubtful_text} (see impossible-rows)."
        )
    levers = by_mechanism(shares, habits)
    name, by_lever = next(iter(levers.items()))
    all_gaps = gaps_of(gaps, *Cause)
    explained_causes = [cause for cause in shares if mechanism(cause, habits) == name]
    worst = max(explained_causes, key=lambda cause: shares[cause])
    if habits.asked_singly and worst in _TURNS:
        return
    replayed_savings = savings
    if device.on_the_host:
        replayed_savings = None
    won = _winnable(shares, idle, replayed_savings)
    unknown = idle_of_unknown_waits(gaps)
    device_name = "GPU"
    if device.on_the_host:
        device_name = "CPU backend"
    paused_time = loop.length - load
    longest_gap = int(all_gaps.lost_times.max())
    cause_list = _list_causes(shares, idle, load, unknown)
    computing = _computing(handover, idle / load)
    spans = _spans(gaps, idle)
    host_activity = habits.host_activity.strip()
    encoding_delay = _until_encoding(shares, habits)
    idle_share = idle / load
    unknown_share = unknown / idle
    missing_sources = name_missing_sources(causes)
    least_saving = won["least"]
    most_saving = won["most"]
    facts = (
        Fact("device", device_name),
        Fact("idle_share", idle_share, "ratio"),
        Fact("idle", idle, "ns"),
        Fact("load", load, "ns"),
        Fact("window", loop.name),
        Fact("paused", paused_time, "ns"),
        Fact("gaps", all_gaps.count),
        Fact("longest_gap", longest_gap, "ns"),
        Fact("causes", cause_list),
        Fact("unknown_waits", unknown_share, "ratio"),
        Fact("lacking", missing_sources),
        Fact("computing", computing, "ratio"),
        Fact("spans", spans),
        Fact("idle_by_lever", by_lever, "ns"),
        Fact("reason", ""),
        Fact("meanwhile", host_activity),
        Fact("quantum", habits.quantum, "ns"),
        Fact("until_encoding", encoding_delay, "ns"),
        Fact("saving_least", least_saving, "ns"),
        Fact("saving_most", most_saving, "ns"),
        *_of_causes(shares),
    )
    other_lever = second_lever(name, shares, habits) or ""
    evidence = longest_gaps(gaps)
    worst_cause = str(worst)
    saving = won["saving"]
    yield finding(
        wording="bubbles",
        facts=facts,
        cause=worst_cause,
        lever=name,
        also=other_lever,
        evidence=evidence,
        saving=saving,
    )


def _winnable(shares: dict[Cause, int], idle: int, savings: Savings | None) -> dict[str, int]:
    """Return the `saving`, the `least` and the `most` that all levers save of the idle time.

    A replay gives the saving of the levers on waits, starts, boundaries and half of the host's
    work. The rest of round trips and of the host's work has no lever. Other causes count in full.
    """
    saved_elsewhere_time = [shares[cause] for cause in _SAVED_ELSEWHERE]
    saved_elsewhere = sum(saved_elsewhere_time)
    winnable_time = idle - saved_elsewhere
    if savings is None:
        return {"saving": winnable_time, "least": 0, "most": winnable_time}
    unreplayed_times = [shares[cause] for cause in _NOT_REPLAYED]
    unreplayed_time = sum(unreplayed_times)
    won = savings.all_levers
    won_times = {"saving": won.saving, "least": won.least_saving, "most": won.most_saving}
    return {name: min(winnable_time, time + unreplayed_time) for name, time in won_times.items()}


def _until_encoding(shares: dict[Cause, int], habits: Habits) -> int:
    """Return the host's typical time without observed work; 0 if it does not matter.

    It lasts from a report, or the host's last commit, until the host encodes again.
    """
    is_host_seen = bool(habits.host_activity) or shares[Cause.HOST] < _UNSEEN * sum(shares.values())
    if is_host_seen or habits.until_encoding < _NOTHING:
        return 0
    return round(habits.until_encoding)


def _computing(handover: Handover, idle: float) -> float:
    """Return the share of computing in `submit` of the steps' time, if most of `idle`; else 0."""
    if handover.computing > _MOST * idle:
        return handover.computing
    return 0.0


def _list_causes(shares: dict[Cause, int], idle: int, load: int, unknown: int) -> str:
    """Return the relevant causes, the longest first, each with its share of the window.

    The `unknown` ns of ways back for which a wait of the host is uncertain are listed separately.
    """
    times = {CAUSES[cause]: shares[cause] for cause in shares}
    times[CAUSES[Cause.REPORT]] -= unknown
    times[_EITHER] = unknown
    notable_causes = [name for name in times if times[name] >= _LEAST * idle]
    ranked = sorted(notable_causes, key=lambda name: -times[name])
    cause_times = [f"{name} {units.percent(times[name] / load)}" for name in ranked]
    return ", ".join(cause_times)


def _of_causes(shares: dict[Cause, int]) -> Iterator[Fact]:
    """Yield the idle time of each cause."""
    for cause, time in shares.items():
        cause_name = cause.replace("-", "_")
        yield Fact(f"idle_{cause_name}", time, "ns")


def _spans(gaps: pd.DataFrame, idle: int) -> str:
    """Return the name of the workload's spans that cover most of the idle time; "" without any."""
    durations = gaps.groupby("during", observed=True)["duration"]
    sums = durations.sum()
    span_times = sums.drop(["", *DOING], errors="ignore")
    if span_times.empty or span_times.max() < _MOST * idle:
        return ""
    return str(span_times.idxmax())
