"""The tables `loaded`, `gaps` and `causes`: when there was work, why it was not done.

Each moment of idle time goes to one cause, by an order of precedence. Where the table is missing
that would show one of them, its time goes to those behind it; so they are not known either.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracekit.analysis.idle.pieces import CAUSES, DOING, Cause, Drained, attributed
from tracekit.analysis.idle.work import (
    covered,
    surroundings,
    without_load,
    work_of,
    written,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet
from tracekit.analysis.intervals import gaps as between
from tracekit.analysis.rule import Evidence
from tracekit.analysis.scope import ON_THE_CPU, of_target, window_of_target
from tracekit.base import percent
from tracekit.workload import COMPILE, READBACK

_DRIVEN = ("driver intervals", "driver events")
# What must have been recorded for a cause's share: its own table and those of what goes first.
_NEEDS: dict[Cause, tuple[str, ...]] = {
    Cause.HOST_LATE: ("compiles", *_DRIVEN, "completions"),
    Cause.START_LATENCY: (*_DRIVEN, "states"),
    Cause.DRIVER: ("compiles", *_DRIVEN),
    Cause.COMPILE: ("compiles",),
    Cause.READBACK: ("compiles", *_DRIVEN, "completions"),
    Cause.OTHER_PROCESS: _DRIVEN,
    Cause.DOWN_CLOCKED: (*_DRIVEN, "states"),
    Cause.UNATTRIBUTED: (),
}
_ON_A_GPU: tuple[Cause, ...] = (
    Cause.START_LATENCY,
    Cause.DRIVER,
    Cause.OTHER_PROCESS,
    Cause.DOWN_CLOCKED,
)
_NO_COMPILES = (
    "neither compiler activity (graphics-compiler-activity-intervals) was exported nor did the "
    f"workload report spans “{COMPILE}”"
)


def causes_table(  # noqa: PLR0917  a derived table's sources are its parameters
    gaps: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    spans: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `causes`: for each `cause` the `reason` why its share is not known, or null.

    Where there is no gap, no cause took any time.

    Raises:
        Unavailable: As for `gaps`.
    """
    own = of_target(gpu_intervals, targets)
    if (own["clock"] == "host").any():
        return _table(_on_a_cpu(spans))
    if gaps.empty:
        return _table({})
    missing: dict[str, str] = {}
    if compiler_activity is None and not _annotated(spans, COMPILE):
        missing["compiles"] = _NO_COMPILES
    if driver_intervals is None or not driver_intervals["target"].any():
        missing["driver intervals"] = (
            "no driver interval of the target (metal-driver-intervals) was recorded"
        )
    if driver_events is None:
        missing["driver events"] = (
            "driver events (metal-driver-event-intervals), which show when memory was wired, were "
            "not recorded"
        )
    if completions is None or not _of(completions, own).any():
        missing["completions"] = (
            "no completion of a command buffer of the target (metal-command-buffer-completed) was "
            "recorded"
        )
    if gpu_performance_states is None or gpu_performance_states.empty:
        missing["states"] = (
            "no performance state of the GPU (gpu-performance-state-intervals) was recorded"
        )
    reasons = {
        cause: next((f"{missing[source]}." for source in needed if source in missing), "")
        for cause, needed in _NEEDS.items()
    }
    return _table(reasons)


def _on_a_cpu(spans: pd.DataFrame | None) -> dict[Cause, str]:
    """Return the reasons where a CPU did the work: only the workload knows what else it did."""
    reasons = dict.fromkeys(_ON_A_GPU, ON_THE_CPU)
    if not _annotated(spans, COMPILE):
        reasons[Cause.COMPILE] = f"{_NO_COMPILES}."
    if not _annotated(spans, READBACK):
        reasons[Cause.READBACK] = f"the workload did not report spans “{READBACK}”."
    return reasons


def _table(reasons: dict[Cause, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cause": pd.array([str(cause) for cause in Cause], dtype="string"),
            "reason": pd.array([reasons.get(cause) or None for cause in Cause], dtype="string"),
        }
    )


def why_unknown(causes: pd.DataFrame, cause: Cause) -> str:
    """Return the reason why a cause's share is not known; "" where it is known."""
    [reason] = causes.loc[causes["cause"] == str(cause), "reason"]
    return "" if pd.isna(reason) else str(reason)


def unsure(causes: pd.DataFrame) -> str:
    """Say what was not recorded, so that its time counts for other causes; "" where all was.

    Of work on a CPU nothing is said: its causes are those that the workload reports.
    """
    reasons = dict.fromkeys(causes["reason"].dropna())
    if not reasons or ON_THE_CPU in reasons:
        return ""
    listed = "; ".join(reason.rstrip(".") for reason in reasons)
    return f"These shares are not sure, as time of one cause may count for another: {listed}."


def _annotated(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())


def _of(completions: pd.DataFrame, own: pd.DataFrame) -> pd.Series:
    buffers = own["command_buffer"].dropna()
    return completions["command_buffer"].isin(buffers)


SHORTEST = 10_000
"""Gaps shorter than this, in ns, are no gaps: a device needs some time between two pieces."""


def loaded_table(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    spans: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `loaded`: the stretches of the steady window in which there was load.

    Time in which a server says, by spans `idle`, that it had no request to serve is left out, and
    so is time in which the worker timed its reference work.

    Raises:
        Unavailable: The target is not known or has no rows, the window has no length, or there
            was no load in all of it.
    """
    window = window_of_target(gpu_intervals, targets, phases)
    waits = without_load(spans)
    starts, ends = between(waits.starts, waits.ends, window.start, window.end)
    if not starts.size:
        raise Unavailable(f"there was no load in {window.name}.")
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def gaps_table(  # noqa: PLR0917  a derived table's sources are its parameters
    loaded: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    spans: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `gaps`: pieces of the loaded time in which no work of the target ran.

    Gaps below `SHORTEST` are left out. A gap is cut into pieces so that each has one cause; the
    pieces of a gap are disjoint and cover it. Columns: `start`, `duration` (ns), `gap` (the
    number of the gap), `cause` (see `Cause`), `drained` (whether the queue ran empty because
    the host waited for all its work: yes, no, unknown), `during` (what the host did meanwhile:
    encoding, driver, compiler, waiting, or the name of a span of the workload; "" where
    nothing is known).

    Raises:
        Unavailable: As for `loaded`.
    """
    own = of_target(gpu_intervals, targets)
    work = work_of(own, commits, submissions, encoders, completions)
    around = surroundings(
        written(encoders, submissions),
        _rivals(gpu_intervals, own),
        driver_intervals,
        compiler_activity,
        gpu_performance_states,
        spans,
        driver_events,
    )
    return attributed(_long_gaps(own, loaded), work, around)


def _rivals(gpu_intervals: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return the work of other processes on the target's channels.

    Channels run beside each other, so that work on another one keeps nothing from starting.
    """
    others = gpu_intervals[~gpu_intervals["target"]]
    return others[others["channel"].isin(own["channel"].unique())]


def _long_gaps(own: pd.DataFrame, loaded: pd.DataFrame) -> IntervalSet:
    """Return the parts of the loaded time that no interval covers, without the shortest."""
    load, ran = covered(loaded), covered(own)
    first, last = int(load.starts[0]), int(load.ends[-1])
    absent = between(load.starts, load.ends, first, last)
    starts = np.concatenate((ran.starts, absent[0]))
    ends = np.concatenate((ran.ends, absent[1]))
    starts, ends = between(starts, ends, first, last)
    long = ends - starts >= SHORTEST
    return IntervalSet(starts[long], ends[long])


_SHOWN = 20
_NAMED = 0.2  # share of a gap from which a second cause is named


def idle_time(gaps: pd.DataFrame) -> int:
    """Return all idle time, in ns."""
    return int(gaps["duration"].sum())


def loaded_time(loaded: pd.DataFrame) -> int:
    """Return how long there was work to do in the steady window, in ns."""
    return int(loaded["duration"].sum())


def by_cause(gaps: pd.DataFrame) -> dict[Cause, int]:
    """Return the idle time of each cause, in ns, of those without any too; the sum is all of it."""
    sums = gaps.groupby("cause", observed=False)["duration"].sum()
    return {cause: int(sums.get(str(cause), 0)) for cause in Cause}


def drained_time(gaps: pd.DataFrame) -> int:
    """Return the time of the gaps before which the host had waited for all of its work, in ns."""
    return idle_time(gaps[gaps["drained"] == Drained.YES])


def most_annotated(gaps: pd.DataFrame) -> tuple[str, int]:
    """Return the name of the workload's spans that cover most idle time, and how much: "", 0."""
    sums = gaps.groupby("during", observed=True)["duration"].sum()
    named = sums.drop(["", *DOING], errors="ignore")
    return (str(named.idxmax()), int(named.max())) if len(named) else ("", 0)


def longest_gaps(gaps: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the longest gaps, longest first, at most twenty, each with its causes in words."""
    lengths = gaps.groupby("gap")["duration"].sum().sort_values(ascending=False, kind="stable")
    shown = lengths.index[:_SHOWN]
    rows = dict(list(gaps[gaps["gap"].isin(shown)].groupby("gap")))
    return tuple(_evidence(rows[gap], int(lengths[gap])) for gap in shown)


def _evidence(pieces: pd.DataFrame, length: int) -> Evidence:
    start = int(pieces["start"].iloc[0])
    return Evidence("gpu_intervals", start, start + length, _words(by_cause(pieces), length))


def _words(shares: dict[Cause, int], length: int) -> str:
    """Name the cause of a gap, and the second one where it matters, with their shares."""
    ranked = sorted(shares, key=lambda cause: -shares[cause])
    first, second = ranked[:2]
    if shares[second] < _NAMED * length:
        return CAUSES[first]
    return ", ".join(
        f"{CAUSES[cause]} {percent(shares[cause] / length)}" for cause in (first, second)
    )


_MATTERS = 0.1  # share of the idle time from which a cause is spoken of
_MOST = 2  # causes: who updates these records again

_ADVICE = {
    Cause.HOST_LATE: (
        "The host hands work over too late: queue the next step before this one is done (in MLX "
        "by mx.async_eval), make arguments, block tables and masks outside the loop or once for "
        "all layers, and put several small steps into one."
    ),
    Cause.READBACK: (
        "The host waits until work is reported complete: evaluate and read results back less "
        "often, keep what decides the next step on the device, and look at the last step's "
        "result while the next one runs."
    ),
    Cause.START_LATENCY: (
        "Work was queued and did not begin: keep more than one command buffer in flight, so "
        "that this time passes while earlier work runs, and put more work into each."
    ),
    Cause.DRIVER: (
        "The driver prepared work while the device waited: fewer and larger command buffers and "
        "encoders, fewer buffers bound to each, and memory that is allocated once and kept."
    ),
    Cause.COMPILE: (
        "A pipeline was compiled: see pipeline-churn, and make every pipeline before the loop."
    ),
    Cause.OTHER_PROCESS: (
        "Another process had the GPU: close what else draws or computes, and record again."
    ),
    Cause.DOWN_CLOCKED: (
        "The GPU had been powered down and had to wake: shorter pauses keep it awake; in a "
        "benchmark let steps follow each other without one."
    ),
    Cause.UNATTRIBUTED: (
        "The recording does not tell why: export when work was handed over (`tracekit tables` "
        "lists what is there), or tell by spans what the host does, and look at the longest gaps."
    ),
}


def advice(shares: Mapping[Cause, int]) -> str:
    """Return what to do about the one or two causes that matter, the one that took most first.

    Args:
        shares: The idle time of each cause, in ns; not all of them zero.
    """
    least = _MATTERS * sum(shares.values())
    ranked = sorted(shares, key=lambda cause: -shares[cause])
    return " ".join(_ADVICE[cause] for cause in ranked[:_MOST] if shares[cause] >= least)
