"""The tables `iterations` and `pauses`, and the loop: what repeats, and the time that is judged.

Iterations come from the first of these that has them: the steps of a workload of tracekit; the
target's own signposts of one name, of any subsystem; the structure of its command buffers.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import (
    FOREVER,
    IntervalSet,
    Times,
    Window,
    marked_window,
    spans,
    steady_window,
)
from tracekit.analysis.scope import Device, steady_steps
from tracekit.analysis.structure import FEWEST, OF_WORK, repeating
from tracekit.analysis.upkeep import wirings
from tracekit.base import duration
from tracekit.tables import PHASES

QUIET = 250_000_000
"""The device was not asked for work where nothing was active for longer than this; ns."""
_MANY_STEPS = 10
_ACTIVE = 0.2  # of a pause, in which the host was seen at work


def iterations_table(
    steps: pd.DataFrame | None,
    signpost_intervals: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `iterations`: one row for each repetition of the loop that is judged.

    Columns: `start`, `duration` (ns), `source` (steps, signposts, structure), and those of steps:
    `phase`, which is steady, and `variant` and `tokens`, null where only a workload could tell.
    An iteration ends where the next one begins, or where all of its work is reported complete if
    nobody asked for the next. It has no rows where nothing repeats often enough.
    """
    if steps is not None and not steps.empty:
        return steady_steps(steps).assign(source="steps")
    if timeline is None:
        raise Unavailable("the workload marks no steps, and its command buffers are not known.")
    if signpost_intervals is not None:
        found = _signposts(signpost_intervals, timeline)
        if found is not None:
            return _table(*found, "signposts")
    found = repeating(timeline)
    if found is None:
        none = np.empty(0, np.int64)
        return _table(none, none, "structure")
    starts, ends = found
    reported = _reported(timeline, starts, ends)
    asked = _host(compiler_activity, driver_events, cpu_profile)
    quiet = starts[1:] - reported[:-1] > QUIET
    quiet &= asked.within(reported[:-1], starts[1:]) < _ACTIVE * (starts[1:] - reported[:-1])
    ends[:-1] = np.where(quiet, reported[:-1], ends[:-1])
    return _table(starts, ends, "structure")


def quiet_limit(starts: Times) -> float:
    """Return how long a pause between marked steps is out of all proportion to them; ns."""
    usual = float(np.median(np.diff(starts))) if starts.size > 1 else 0.0
    return max(QUIET, _MANY_STEPS * usual)


def _reported(timeline: pd.DataFrame, starts: Times, ends: Times) -> Times:
    """Return when all work that began in each stretch was reported complete."""
    at = timeline["started"].to_numpy(dtype=np.int64)
    done = timeline["completed"].fillna(timeline["ended"]).to_numpy(dtype=np.int64)
    latest = np.maximum.accumulate(np.maximum(done, timeline["ended"].to_numpy(np.int64)))
    last = np.searchsorted(at, ends, side="left") - 1
    return np.where(last >= 0, latest[np.maximum(last, 0)], starts)


def _host(
    activity: pd.DataFrame | None, events: pd.DataFrame | None, samples: pd.DataFrame | None
) -> IntervalSet:
    """Return when the host is seen at work for the target beside its encoding."""
    seen = [] if activity is None else [spans(activity)]
    if events is not None:
        seen.append(spans(wirings(events)))
    if samples is not None:
        own = samples[samples["target"]]
        times = own["time"].to_numpy(dtype=np.int64)
        seen.append((times, times + own["weight"].fillna(0).to_numpy(dtype=np.int64)))
    if not seen:
        return IntervalSet.empty()
    return IntervalSet.of(*(np.concatenate(each) for each in zip(*seen, strict=True)))


def pauses_table(
    iterations: pd.DataFrame,
    phases: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `pauses`: stretches of the loop in which nobody asked for an iteration.

    That is, everything had been reported, the device was not asked for a quarter of a second, and
    the host was not seen to do anything for the target. Without samples a pause and long work of
    the host look alike. A workload that marks its steps or its steady phase says itself when it
    had no load.
    """
    marked = marked_window(phases) is not None
    if not iterations.empty and (iterations["source"] == "steps").all():
        marked = True
    if marked or timeline is None:
        return pd.DataFrame({"start": np.empty(0, np.int64), "duration": np.empty(0, np.int64)})
    asked = _host(compiler_activity, driver_events, cpu_profile)
    starts, ends = _unasked(timeline, asked)
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def _unasked(timeline: pd.DataFrame, asked: IntervalSet) -> tuple[Times, Times]:
    """Return when the device had been reported done and was not asked for a quarter of a second."""
    begun = timeline["begun"].fillna(timeline["committed"]).fillna(timeline["started"])
    begins = begun.to_numpy(dtype=np.int64)[1:]
    starts = timeline["started"].to_numpy(dtype=np.int64)
    done = _reported(timeline, starts, np.append(starts[1:], FOREVER))[:-1]
    quiet = begins - done > QUIET
    quiet &= asked.within(done, np.maximum(begins, done)) < _ACTIVE * (begins - done)
    return done[quiet], begins[quiet]


def steady_iterations(iterations: pd.DataFrame | None) -> pd.DataFrame:
    """Return the iterations; raise Unavailable where there are none."""
    if iterations is None or iterations.empty:
        raise Unavailable(
            "no repeating structure was found: the workload marks no steps, no signpost of the "
            "target repeats, and its command buffers do not come in groups alike."
        )
    return steady_steps(iterations)


def unit(iterations: pd.DataFrame) -> str:
    """Return what an iteration is called: a step where a workload marks them."""
    steps = "source" not in iterations or (iterations["source"] == "steps").all()
    return "step" if steps else "iteration"


def _table(starts: Times, ends: Times, source: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array(ends - starts, dtype="Int64"),
            "phase": pd.array(["steady"] * starts.size, dtype="string"),
            "variant": pd.array([None] * starts.size, dtype="string"),
            "tokens": pd.array([None] * starts.size, dtype="Int64"),
            "source": pd.array([source] * starts.size, dtype="string"),
        }
    )


@dataclass(frozen=True)
class Loop(Window):
    """The one stretch of the recording that is judged; `paced` says by what from outside, or ""."""

    paced: str = ""


def loop_of(
    device: Device,
    phases: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    present_requests: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> Loop:
    """Return the loop: the workload's own steady phase, or from the first iteration to the last.

    Without either it is the time from the target's first interval to its last. Unavailable where
    no phase is steady, nothing tells of command buffers, or it has no length.
    """
    marked = marked_window(phases)
    if marked is None and phases is not None and not phases.empty:
        raise Unavailable("the workload did not come to its steady phase.")
    if marked is None and iterations is None:
        raise Unavailable("which part is the loop is not known, as its command buffers are not.")
    window = marked or steady_window(None, device.own)
    assert window is not None
    found = Loop(window.start, window.end, window.name)
    if marked is None and iterations is not None and not iterations.empty:
        starts, ends = spans(iterations)
        start, end, paced = int(starts.min()), int(ends.max()), ""
        if timeline is not None:
            shows = _shown(commits, present_requests, start, end) >= len(starts) // 2
            paced = _paced(starts, timeline, _host(None, None, cpu_profile), shows=shows)
        found = Loop(start, end, f"the loop of {len(starts):,} iterations", paced)
    if found.length == 0:
        raise Unavailable(f"{found.name} has no length.")
    return found


_FREE = 0.05  # of a period, for which a paced loop has nothing to do at least
_EVEN = 0.05  # coefficient of variation of the periods, at most
_ON_A_GRID = 0.35  # of the distance from a line that a random walk of such periods has, at most
_EXACT = 1_000.0  # ns from a grid, which no host keeps to by itself
_WALK = 15.0  # variance of a random walk about its line, as a part of steps times their variance
_SLOPE, _SURE = 0.25, 0.15  # distance from -1, and its standard error
_ALIKE = 0.01  # of a period: work that varies less cannot show that the rest falls with it
# Hz: what Apple lists for adaptive displays, other common displays, and buffers of sound.
_ADAPTIVE = (120.0, 80.0, 60.0, 48.0, 40.0, 30.0, 24.0, 20.0, 16.0, 15.0, 12.0, 10.0)
_DISPLAYS = (*_ADAPTIVE, 144.0, 100.0, 90.0, 75.0, 72.0, 50.0, 25.0)
_SOUND = tuple(rate / 2**power for rate in (48_000.0, 44_100.0) for power in range(7, 14))
_NEAR_A_RATE = 0.005  # distance of a period from one of these
_NEAR_A_TIMER = 0.02  # ms: distance of a period from whole milliseconds
_OUTSIDE = 3.0  # times the median distance from the median
_MOSTLY = 0.5  # of the rest, in which the host is seen at work
_MOSTLY_ALIKE = 0.9  # of the iterations have as many command buffers as most have


def _shown(
    commits: pd.DataFrame | None, presents: pd.DataFrame | None, start: int, end: int
) -> int:
    """Return how often the target presented something to a display in the window."""
    times = [np.empty(0, np.int64)]
    if commits is not None and "presents" in commits:
        shown = commits["presents"].fillna(value=False).astype(bool) & commits["target"]
        times.append(commits.loc[shown, "time"].to_numpy(dtype=np.int64))
    if presents is not None:
        times.append(presents.loc[presents["target"], "time"].to_numpy(dtype=np.int64))
    return max(int(((each >= start) & (each < end)).sum()) for each in times)


def _paced(starts: Times, timeline: pd.DataFrame, asked: IntervalSet, *, shows: bool) -> str:
    """Say by what iterations are paced from outside: by a display, a timer, whoever asks.

    All of this has to hold: iterations have as many command buffers each; their periods are even
    and those of a display, a buffer of sound or a timer; commits stay on a grid, where those of a
    host that goes on by itself would wander off like a random walk; and the rest of a period, from
    the report of all its work to the next encoding, falls one for one as the work grows. Where the
    work hardly varies, that cannot be seen, and only a display's or a sound's rate tells. A rest in
    which the host is seen at work is none. Iterations of several threads that begin out of turn
    keep no pace.
    """
    if len(starts) <= FEWEST or (np.diff(starts) <= 0).any():
        return ""
    at = timeline["started"].to_numpy(dtype=np.int64)
    sums = np.concatenate(([0], np.cumsum(timeline["busy"].to_numpy(dtype=np.int64))))
    bounds = np.searchsorted(at, starts)
    work = np.diff(sums[bounds])
    periods = np.diff(starts)
    reported = np.minimum(_reported(timeline, starts[:-1], starts[1:]), starts[1:])
    rest = starts[1:] - reported
    usual = float(np.median(periods))
    away = np.abs(periods - usual)
    near = away <= _OUTSIDE * max(float(np.median(away)), _EVEN * usual)
    seen = asked.within(reported, starts[1:]).sum()
    work, rest, periods = (each[near] for each in (work, rest, periods))
    free = periods.size >= FEWEST and float(np.median(rest)) >= _FREE * usual
    regular = _is_regular(np.diff(bounds)) and _keeps_a_grid(starts, usual)
    if not (regular and free) or seen > _MOSTLY * (starts[1:] - reported).sum():
        return ""
    known = _has_a_displays_rate(usual)
    even = float(periods.std()) <= _EVEN * usual and (known or _has_a_timers_rate(usual))
    told = _falls(work, rest) or (known and float(work.std()) <= _ALIKE * usual)
    if not (even and told):
        return ""
    return f"by a {'display' if shows else 'clock'}, every {duration(usual)}"


def _is_regular(counts: Times) -> bool:
    """Tell whether nearly all iterations have the same number of command buffers."""
    usual = np.bincount(counts).max()
    return bool(usual >= _MOSTLY_ALIKE * counts.size)


def _keeps_a_grid(starts: Times, usual: float) -> bool:
    """Tell whether the starts lie on a grid; a start that skips some of its lines may.

    The distance from the line of best fit is compared with that of a random walk of as many steps
    with the same spread, whose variance about its line is a fifteenth of its steps' together.
    """
    lines = np.concatenate(([0], np.cumsum(np.round(np.diff(starts) / usual))))
    slope, level = np.polyfit(lines, starts - starts[0], 1)
    residual = float((starts - starts[0] - slope * lines - level).std())
    steps = np.diff(starts) - slope * np.diff(lines)
    walk = float(steps.std()) * np.sqrt(starts.size / _WALK)
    return residual <= max(_EXACT, _ON_A_GRID * walk)


def _has_a_displays_rate(period: float) -> bool:
    """Tell whether a display or a buffer of sound has this period; ns."""
    return min(abs(period * rate / 1e9 - 1) for rate in (*_DISPLAYS, *_SOUND)) <= _NEAR_A_RATE


def _has_a_timers_rate(period: float) -> bool:
    """Tell whether a period is one of whole milliseconds; ns."""
    milliseconds = period / 1e6
    return milliseconds > _MOSTLY and abs(milliseconds - round(milliseconds)) <= _NEAR_A_TIMER


def _falls(work: Times, rest: Times) -> bool:
    """Tell whether the rest falls one for one as the work grows."""
    x, y = work - work.mean(), rest - rest.mean()
    squares = float((x * x).sum())
    if squares == 0:
        return False
    slope = float((x * y).sum()) / squares
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / max(1, x.size - 2) / squares))
    return abs(slope + 1) <= _SLOPE and error <= _SURE


def _signposts(signposts: pd.DataFrame, timeline: pd.DataFrame) -> tuple[Times, Times] | None:
    """Return the intervals of the name that holds most device work, or lasts longest."""
    own = signposts[signposts["target"] & signposts["duration"].notna()]
    own = own[(own["subsystem"] != PHASES[0]).fillna(value=True)]
    best, most = None, 0
    for _, rows in own.groupby(["subsystem", "category", "name"], dropna=False):
        starts, ends = spans(rows.sort_values("start", kind="stable"))
        if starts.size < FEWEST or (starts[1:] < ends[:-1]).any():
            continue
        # Work that is queued ahead runs after its iteration: what is judged is the whole row.
        whole = (timeline["started"] >= starts[0]) & (timeline["started"] <= ends[-1])
        held = int(timeline["busy"][whole].sum())
        if held >= OF_WORK * int(timeline["busy"].sum()) and held > most:
            best, most = (starts, ends), held
    return best
