"""`bubbles`: the device waits for work of the target."""

import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.gaps import gaps_of, idle_time, loaded_time, longest_gaps, unsure
from tracekit.analysis.idle.levers import Habits, advice
from tracekit.analysis.idle.pieces import CAUSES, DOING, Cause
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, finding
from tracekit.analysis.scope import Device
from tracekit.base import duration, percent

_MOST = 0.5  # of the idle time, for what the host did to be named
_LEAST = 0.001  # of the idle time, for a cause to be named
_SAVED_ELSEWHERE = (Cause.COMPILE, Cause.OTHER_PROCESS)  # pipeline-churn, gpu-contended


def bubbles(
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    device: Device,
    handover: Handover,
    loop: Loop,
    shares: dict[Cause, int],
    causes: pd.DataFrame,
    habits: Habits,
    *,
    limit: float = 0.05,
) -> Findings:
    """The device had nothing of the target to do.

    What it looks for:
        Gaps between the target's device intervals in the window, however short, its lead-in and
        tail included, but for the time in which a server says by spans `idle` that it had no
        request to serve. It fires when they cover more than `limit` of the window without that
        time (default 5 %). A gap between encoders of one command buffer, a boundary between command
        buffers that had been committed in time, a late start, a host that was still encoding, and
        a host that had waited for all of its work are distinguished; within a gap, compilations,
        wiring of memory, the driver, other processes and a device that powers up are. What the
        recording cannot tell is unattributed; where a table is missing that would show one of
        these causes, it says so. Time of compilations counts as a saving of pipeline-churn, time
        of other processes as one of gpu-contended. A finding about one of these causes is a part
        of this one.

    Why it matters:
        In a steady decode loop the device should never wait for the host. Idle time is the
        distance between the tokens per second that you get and those the kernel allows.

    What to do:
        Begin with the cause that took most; each has a lever of its own.

    When it abstains:
        When the target is not known or has no device intervals, or when there was no load in the
        whole window; where a CPU did the work, when steps wait or work inside `submit`, so that
        nothing tells their work from its preparation. It is silent where something outside paces
        the loop: the device waits for it.
    """
    idle, load = idle_time(gaps), loaded_time(loaded)
    if idle <= limit * load or loop.paced:
        return
    doubt = unsure(causes)
    who = "CPU backend" if device.on_the_host else "GPU"
    yield finding(
        message=(
            f"The {who} had nothing of the target to do for {percent(idle / load)} of "
            f"{_name(loop, load)} ({duration(idle)} of {duration(load)}), in "
            f"{_counted(gaps)}. By cause: {_listed(shares, idle)}."
            f"{doubt and f' {doubt}'}{_computing(handover, idle / load)}"
            f"{_meanwhile(gaps, idle)}{habits.meanwhile}"
        ),
        advice=advice(shares, habits),
        evidence=longest_gaps(gaps),
        saving=idle - sum(shares[cause] for cause in _SAVED_ELSEWHERE),
    )


def _computing(handover: Handover, idle: float) -> str:
    """Say that the thread which hands over computed for most of the idle time, if it did."""
    if handover.computing <= _MOST * idle:
        return ""
    return (
        f" For {percent(handover.computing)} of the steps' time the thread that calls `submit` "
        "computed in it: that counts as preparation, and is no idle time if it is the step's work."
    )


def _name(loop: Loop, load: int) -> str:
    """Name the window, less the time without load."""
    without = loop.length - load
    return f"{loop.name} less {duration(without)} without load" if without else loop.name


def _counted(gaps: pd.DataFrame) -> str:
    whole = gaps_of(gaps, *Cause)
    return (
        f"{whole.count:,} gap{'s' if whole.count > 1 else ''}; "
        f"the longest lasted {duration(int(whole.lost.max()))}"
    )


def _listed(shares: dict[Cause, int], idle: int) -> str:
    """Name the causes from a thousandth of the time on, the most first; the unattributed last."""
    unknown = shares.get(Cause.UNATTRIBUTED, 0)
    known = [cause for cause in shares if cause is not Cause.UNATTRIBUTED]
    shown = [cause for cause in known if shares[cause] >= _LEAST * idle]
    ranked = sorted(shown, key=lambda cause: (-shares[cause], list(CAUSES).index(cause)))
    named = ", ".join(f"{CAUSES[cause]} {percent(shares[cause] / idle)}" for cause in ranked)
    rest = f"unattributed {percent(unknown / idle)}" if unknown else "nothing is unattributed"
    return f"{named}; {rest}" if named else rest


def _meanwhile(gaps: pd.DataFrame, idle: int) -> str:
    """Say which spans of the workload cover most of the idle time."""
    sums = gaps.groupby("during", observed=True)["duration"].sum()
    named = sums.drop(["", *DOING], errors="ignore")
    if named.empty or named.max() < _MOST * idle:
        return ""
    part = "All" if named.max() > (1 - _LEAST) * idle else percent(named.max() / idle)
    return f" {part} of that time lies within spans named “{named.idxmax()}”."
