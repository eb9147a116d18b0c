"""The tables `loaded`, `gaps` and `causes`: when there was work, why it was not done.

Each moment of idle time goes to one cause, by an order of precedence. Where the table is missing
that would show one of them, its time goes to those behind it; so they are not known either.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.pieces import CAUSES, FEWEST, Cause, State, attributed
from tracekit.analysis.idle.samples import other_thread
from tracekit.analysis.idle.work import NO_WORK, Surroundings, Work, covered, written
from tracekit.analysis.inject import ON_THE_CPU, Unavailable
from tracekit.analysis.intervals import FOREVER, IntervalSet, Times
from tracekit.analysis.intervals import gaps as between
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Evidence
from tracekit.analysis.scope import Device
from tracekit.base import percent
from tracekit.workload import COMPILE

_DRIVEN = ("driver intervals", "driver events")
_EMPTY = ("compiles", *_DRIVEN, "begun", "completions")
# What must have been recorded for a cause's share: its own table and those of what goes first.
_NEEDS: dict[Cause, tuple[str, ...]] = {
    Cause.BETWEEN_ENCODERS: (),
    Cause.BETWEEN_BUFFERS: (*_DRIVEN, "states"),
    Cause.LATE_START: (*_DRIVEN, "states"),
    Cause.ENCODING: _EMPTY,
    Cause.AFTER_WAIT: _EMPTY,
    Cause.HOST_LATE: _EMPTY,
    Cause.COMPILE: ("compiles",),
    Cause.WIRING: ("compiles", "driver events"),
    Cause.DRIVER: ("compiles", *_DRIVEN),
    Cause.OTHER_PROCESS: _DRIVEN,
    Cause.POWERING_UP: (*_DRIVEN, "states"),
    Cause.UNATTRIBUTED: (),
}
_OF_THE_HOST = (Cause.ENCODING, Cause.AFTER_WAIT, Cause.HOST_LATE)
_MISSING = {
    "compiles": "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
    f"did the workload report spans “{COMPILE}”.",
    "driver intervals": "no driver interval of the target (metal-driver-intervals) was recorded.",
    "driver events": "driver events (metal-driver-event-intervals), which show when memory was "
    "wired, were not recorded.",
    "completions": "no completion of a command buffer of the target "
    "(metal-command-buffer-completed) was recorded.",
    "begun": "neither encoders (metal-application-encoders-list) nor submissions of command "
    "buffers (metal-application-command-buffer-submissions), which show when the host encoded, "
    "were recorded.",
    "states": "no performance state of the GPU (gpu-performance-state-intervals) was recorded.",
}
_NO_CALLS = "the calls of the workload, which show when it built its work, were not recorded."


def causes_table(
    gaps: pd.DataFrame,
    device: Device,
    spans: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `causes`: for each `cause` the `reason` why its share is not known, or null.

    Where there is no gap, no cause took any time.
    """
    if device.on_the_host:
        return _table(_on_a_cpu(spans, submissions))
    if gaps.empty:
        return _table({})
    buffers = device.own["command_buffer"].dropna()
    missing = {
        "compiles": compiler_activity is None and not _annotated(spans, COMPILE),
        "driver intervals": driver_intervals is None or not driver_intervals["target"].any(),
        "driver events": driver_events is None,
        "completions": completions is None or not completions["command_buffer"].isin(buffers).any(),
        "begun": written(encoders, submissions).starts.size == 0,
        "states": gpu_performance_states is None or gpu_performance_states.empty,
    }
    reasons = {
        cause: next((_MISSING[source] for source in needed if missing[source]), "")
        for cause, needed in _NEEDS.items()
    }
    return _table(reasons)


def _on_a_cpu(spans: pd.DataFrame | None, submissions: pd.DataFrame | None) -> dict[Cause, str]:
    """Return the reasons where a CPU did the work: only the workload knows what else it did."""
    known = {*_OF_THE_HOST, Cause.COMPILE, Cause.UNATTRIBUTED}
    reasons = {cause: ON_THE_CPU for cause in Cause if cause not in known}
    if not _annotated(spans, COMPILE):
        reasons[Cause.COMPILE] = _MISSING["compiles"]
    if submissions is None or submissions.empty:
        reasons |= dict.fromkeys(_OF_THE_HOST, _NO_CALLS)
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


def doubt(causes: pd.DataFrame, cause: Cause) -> str:
    """Say, with a blank before it, that time of other causes may count for this one; or nothing."""
    reason = why_unknown(causes, cause)
    return f" Time of other causes may count for it: {reason}" if reason else ""


def unsure(causes: pd.DataFrame) -> str:
    """Say what was not recorded, so that its time counts for other causes; "" where all was.

    Of work on a CPU only the workload's calls are missed: other causes are those that it reports.
    """
    reasons = dict.fromkeys(causes["reason"].dropna())
    if ON_THE_CPU in reasons:
        reasons = dict.fromkeys(reason for reason in reasons if reason == _NO_CALLS)
    if not reasons:
        return ""
    listed = "; ".join(reason.rstrip(".") for reason in reasons)
    return f"These shares are not sure, as time of one cause may count for another: {listed}."


def _annotated(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())


def loaded_table(
    loop: Loop, spans: pd.DataFrame | None, pauses: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the table `loaded`: the stretches of the window in which there was load.

    Time in which a server says, by spans `idle`, that it had no request to serve is left out, and
    so is time in which the worker timed its reference work, and pauses in which nobody asked.
    """
    annotated = None if spans is None else spans[spans["name"].isin(NO_WORK)]
    starts, ends = np.empty(0, np.int64), np.empty(0, np.int64)
    for frame in (pauses, annotated):
        if frame is not None:
            begun, ended = bounds(frame)
            starts, ends = np.append(starts, begun), np.append(ends, ended)
    starts, ends = between(starts, ends, loop.start, loop.end)
    if not starts.size:
        raise Unavailable(f"there was no load in {loop.name}.")
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def gaps_table(
    loaded: pd.DataFrame,
    device: Device,
    handover: Handover,
    life: Work,
    around: Surroundings,
    submissions: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `gaps`: pieces of the loaded time in which no work of the target ran.

    A gap, however short, is cut into pieces so that each has one cause; the pieces of a gap are
    disjoint and cover it. Columns: `start`, `duration` (ns), `gap` (the number of the gap),
    `state` (how the gap came about, see `State`), `cause` (see `Cause`), `during` (what the host
    did meanwhile: encoding, driver, wiring memory, compiler, or the name of a span of the
    workload; "" where nothing is known).
    """
    idle, number = _gaps(device.own, loaded), 0 if iterations is None else len(iterations)
    if cpu_profile is not None and len(cpu_profile):
        found = attributed(idle, life, around, FOREVER)
        if other_thread(found, cpu_profile, submissions):
            return found
    return attributed(idle, life, around, max(FEWEST, _OFTEN * number))


def _gaps(own: pd.DataFrame, loaded: pd.DataFrame) -> IntervalSet:
    """Return the parts of the loaded time that no interval covers."""
    load, ran = covered(loaded), covered(own)
    first, last = int(load.starts[0]), int(load.ends[-1])
    absent = between(load.starts, load.ends, first, last)
    starts = np.concatenate((ran.starts, absent[0]))
    ends = np.concatenate((ran.ends, absent[1]))
    return IntervalSet(*between(starts, ends, first, last))


_OFTEN = 2  # boundaries an iteration, from which they are a habit of it
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
    named = gaps["cause"].astype("category").cat
    names = [str(name) for name in named.categories]
    sums = np.bincount(named.codes, weights=gaps["duration"], minlength=len(names))
    by_name = dict(zip(names, sums.tolist(), strict=True))
    return {cause: round(by_name.get(str(cause), 0)) for cause in Cause}


@dataclass(frozen=True, eq=False)
class Gaps:
    """Some of the gaps, in order; ns.

    `lost` is the time in each that has the cause for which they were chosen.
    """

    starts: Times
    ends: Times
    lost: Times

    @property
    def count(self) -> int:
        """How many there are."""
        return self.starts.size

    @property
    def time(self) -> int:
        """What is lost in all of them."""
        return int(self.lost.sum())

    @property
    def median(self) -> float:
        """What is lost in a typical one; 0 without any."""
        return float(np.median(self.lost)) if self.lost.size else 0.0


def gaps_of(gaps: pd.DataFrame, *causes: Cause) -> Gaps:
    """Return the gaps in which time was lost by one of the causes."""
    starts, ends, first = _whole(gaps)
    chosen = gaps["cause"].isin([str(cause) for cause in causes]).to_numpy()
    lengths = np.where(chosen, gaps["duration"].to_numpy(dtype=np.int64), 0)
    lost = np.add.reduceat(lengths, first) if first.size else lengths
    return Gaps(starts[lost > 0], ends[lost > 0], lost[lost > 0])


def gaps_in(gaps: pd.DataFrame, state: State) -> Gaps:
    """Return the gaps that came about in one way; all of each is lost."""
    starts, ends, first = _whole(gaps)
    chosen = (gaps["state"] == str(state)).to_numpy()[first]
    return Gaps(starts[chosen], ends[chosen], (ends - starts)[chosen])


def _whole(gaps: pd.DataFrame) -> tuple[Times, Times, NDArray[np.intp]]:
    """Return when each gap starts and ends, and where its first piece is; pieces are in order."""
    starts = gaps["start"].to_numpy(dtype=np.int64)
    ends = starts + gaps["duration"].to_numpy(dtype=np.int64)
    first = np.flatnonzero(np.diff(gaps["gap"].to_numpy(dtype=np.int64), prepend=-1))
    return starts[first], ends[np.append(first[1:], starts.size)[: first.size] - 1], first


def longest_gaps(gaps: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the longest gaps, longest first, at most twenty, each with its causes in words."""
    starts, ends, _ = _whole(gaps)
    shown = gaps["gap"].unique()[(starts - ends).argsort(kind="stable")[:_SHOWN]]
    rows = dict(list(gaps[gaps["gap"].isin(shown)].groupby("gap")))
    return tuple(_evidence(rows[gap]) for gap in shown)


def _evidence(pieces: pd.DataFrame) -> Evidence:
    start, length = int(pieces["start"].iloc[0]), idle_time(pieces)
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
