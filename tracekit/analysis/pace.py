"""External pace of a loop: a display, a sound device, a timer."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import IntervalSet, Times
from tracekit.analysis.structure import FEWEST, begins_of, reported_ends
from tracekit.base import units

_FREE = 0.05  # least unused share of a period of a paced loop
_EVEN = 0.05  # coefficient of variation of the periods, at most
_ON_A_GRID = 0.35  # largest share of a random walk's distance from a line
_EXACT = 1_000.0  # ns from a grid; no free-running host is that exact
_WALK = 15.0  # variance of a random walk about its line, as a part of steps times their variance
_SLOPE, _SURE = 0.25, 0.15  # distance from -1, and its standard error
_ALIKE = 0.01  # share of a period; smaller variations of work cannot show that the rest shrinks
# Hz: Apple's list of adaptive displays, other common displays, and buffers of sound.
_ADAPTIVE = (120.0, 80.0, 60.0, 48.0, 40.0, 30.0, 24.0, 20.0, 16.0, 15.0, 12.0, 10.0)
_DISPLAYS = (*_ADAPTIVE, 144.0, 100.0, 90.0, 75.0, 72.0, 50.0, 25.0)
_SOUND = tuple(rate / 2**power for rate in (48_000.0, 44_100.0) for power in range(7, 14))
_NEAR_A_RATE = 0.005  # distance of a period from one of these
_NEAR_A_TIMER = 0.02  # ms: distance of a period from whole milliseconds
_OUTSIDE = 3.0  # times the median distance from the median
_MOSTLY = 0.5  # share of the rest in which the host is observed at work
_MOSTLY_ALIKE = 0.9  # share of iterations with the most common number of command buffers
_SEVERAL_STRETCHES = 4  # that are judged together, even if each is short
_TOLERANCE = 1.2  # ratio to the distance that jitter about a grid has on average
_LIKE_A_WALK = 0.65  # share of a random walk's distance above which nothing is a grid
_BREAK = 15.0  # periods: a quarter of a second of a display of 60 Hz
_MOST_REFRESHES = 4  # refreshes from one frame to the next, for which a display still paces them
_NEAR_A_REFRESH = 0.04  # distance of a period from whole refreshes; of one refresh
_FAST = 0.05  # quantile of the refreshes of a frame
_RARER = 0.15  # share of the frames that take another number of refreshes than the others


def count_presents(
    commits: pd.DataFrame | None, presents: pd.DataFrame | None, start: int, end: int
) -> int:
    """Return the number of the target's presents to a display in the window."""
    times = [np.empty(0, np.int64)]
    if commits is not None and "presents" in commits:
        times.append(_find_presenting_commits(commits))
    if presents is not None:
        times.append(presents.loc[presents["target"], "time"].to_numpy(dtype=np.int64))
    return max(int(((moments >= start) & (moments < end)).sum()) for moments in times)


def _find_presenting_commits(commits: pd.DataFrame) -> Times:
    """Return the times of the target's commits that present to a display; ns."""
    is_presenting = commits["presents"].fillna(value=False).astype(bool) & commits["target"]
    return commits.loc[is_presenting, "time"].to_numpy(dtype=np.int64)


def find_frames(
    timeline: pd.DataFrame, commits: pd.DataFrame | None, start: int, end: int
) -> Times:
    """Return when the host began each frame from `start` to `end`; empty if presents are unknown.

    A frame ends with the commit that presents it.
    """
    if commits is None or "presents" not in commits:
        return np.empty(0, np.int64)
    presents = np.sort(_find_presenting_commits(commits))
    presents = presents[(presents >= start) & (presents < end)]
    begins = np.sort(begins_of(timeline))
    places = np.unique(np.searchsorted(begins, presents, side="right"))
    frames = begins[places[places < begins.size]]
    return np.append(begins[begins >= start][:1], frames[frames < end])[: presents.size]


def find_pace(starts: Times, timeline: pd.DataFrame, host_work: IntervalSet, *, shows: bool) -> str:
    """Return the external pace of iterations: a display, a timer, a requester; "" without one.

    All of these conditions must hold: iterations have equally many command buffers, all committed
    without a wait in between; their periods are even and equal those of a display, a sound buffer
    or a timer; commits stay on a grid, while those of a free-running host would drift like a random
    walk; and the rest of a period, from the report of all its work to the next encoding, shrinks
    one for one as the work grows. If the work hardly varies, that is not visible, and only the rate
    of a display or a sound device is evidence. A rest in which the host is observed at work does
    not count. Iterations of several threads that begin out of order have no pace.
    """
    if len(starts) <= FEWEST or (np.diff(starts) <= 0).any():
        return ""
    bounds = np.searchsorted(timeline["started"].to_numpy(dtype=np.int64), starts)
    reported = np.minimum(reported_ends(timeline, starts[:-1], starts[1:]), starts[1:])
    beats = _usual_beats(timeline, starts, bounds, reported)
    host_time = host_work.measure_within(reported, starts[1:]).sum()
    if host_time > _MOSTLY * (starts[1:] - reported).sum() or not beats.is_free:
        return ""
    regular = _is_regular(np.diff(bounds)) and _keep_grids(starts, beats.usual_period)
    if not regular or not _commits_at_once(timeline, bounds) or not beats.is_even:
        return ""
    return f"by a {'display' if shows else 'clock'}, every {units.duration(beats.usual_period)}"


@dataclass(frozen=True, eq=False)
class Refreshes:
    """The `period` (ns) of a display's refreshes, and the `counts` from each frame to the next."""

    period: float
    counts: Times

    @property
    def usual_count(self) -> int:
        """The number of refreshes that fast frames take."""
        return int(np.quantile(self.counts, _FAST, method="lower"))

    @property
    def missed_share(self) -> float:
        """The share of the frames that take more refreshes than fast ones."""
        return float((self.counts > self.usual_count).mean())


def find_refreshes(starts: Times) -> Refreshes | None:
    """Return the refreshes of frames that take now fewer, now more of them; None without a grid.

    Nearly all frames begin whole refreshes of a common display apart, one to four of them, and
    neither few take more than the others nor few take less. The begin of a frame, unlike its end,
    is exact if the program waits for the display and then commits.
    """
    if starts.size <= FEWEST:
        return None
    steps = np.diff(starts).astype(np.float64)
    for rate in sorted(_DISPLAYS):
        period = 1e9 / rate
        counts = np.round(steps / period).astype(np.int64)
        near = np.abs(steps - counts * period) <= _NEAR_A_REFRESH * period
        is_on_grid = near & (counts >= 1) & (counts <= _MOST_REFRESHES)
        if is_on_grid.mean() < _MOSTLY_ALIKE:
            continue
        refreshes = Refreshes(period, counts[is_on_grid])
        if _RARER <= refreshes.missed_share <= 1 - _RARER:
            return refreshes
    return None


@dataclass(frozen=True, eq=False)
class _PacedBeats:
    """The periods of a loop that are near the `usual_period`, with their work and rest; ns."""

    usual_period: float
    periods: Times
    work: Times
    rest_times: Times

    @property
    def is_free(self) -> bool:
        """Whether each period has some unused time."""
        enough = self.periods.size >= FEWEST
        return enough and float(np.median(self.rest_times)) >= _FREE * self.usual_period

    @property
    def is_even(self) -> bool:
        """Whether the periods are a display's or a timer's, independent of the work's length."""
        is_display_rate = _has_a_displays_rate(self.usual_period)
        if not is_display_rate and not _has_a_timers_rate(self.usual_period):
            return False
        if float(self.periods.std()) > _EVEN * self.usual_period:
            return False
        is_work_even = float(self.work.std()) <= _ALIKE * self.usual_period
        return _falls(self.work, self.rest_times) or (is_display_rate and is_work_even)


def _usual_beats(
    timeline: pd.DataFrame, starts: Times, bounds: Times, reported: Times
) -> _PacedBeats:
    sums = np.concatenate(([0], np.cumsum(timeline["busy"].to_numpy(dtype=np.int64))))
    work = np.diff(sums[bounds])
    periods = np.diff(starts)
    usual_period = float(np.median(periods))
    deviations = np.abs(periods - usual_period)
    near = deviations <= _OUTSIDE * max(float(np.median(deviations)), _EVEN * usual_period)
    return _PacedBeats(usual_period, periods[near], work[near], (starts[1:] - reported)[near])


def _is_regular(counts: Times) -> bool:
    """Return whether nearly all iterations have the same number of command buffers."""
    mode_count = np.bincount(counts).max()
    return bool(mode_count >= _MOSTLY_ALIKE * counts.size)


def _commits_at_once(timeline: pd.DataFrame, bounds: Times) -> bool:
    """Return whether nearly all iterations commit all of their work without a wait in between."""
    begins = begins_of(timeline)
    done = timeline["completed"].fillna(timeline["ended"]).to_numpy(dtype=np.int64)
    waited = np.append(False, begins[1:] >= np.maximum.accumulate(done)[:-1])
    waited[bounds[bounds < waited.size]] = False
    sums = np.concatenate(([0], np.cumsum(waited)))
    return bool((np.diff(sums[bounds]) == 0).mean() >= _MOSTLY_ALIKE)


def _keep_grids(starts: Times, usual_period: float) -> bool:
    """Return whether the starts between long breaks lie on a grid; a start may skip some lines.

    The distance from the line of best fit is compared with that of a random walk of as many steps
    with the same spread, whose variance about its line is a fifteenth of the sum of its steps'.
    Behind a break, such as a pause of a person, a grid begins anew. Short stretches are less
    distinct from a random walk, but several of them are together.
    """
    breaks = np.flatnonzero(np.diff(starts) > _BREAK * usual_period) + 1
    stretches = [part for part in np.split(starts, breaks) if part.size > FEWEST]
    number = sum(part.size for part in stretches)
    if number < _MOSTLY_ALIKE * starts.size:
        return False
    fits = np.array([_fit_grid(part, usual_period) for part in stretches])
    residual, walk = np.sqrt(np.mean(fits**2, axis=0)).tolist()
    limit = _ON_A_GRID
    if len(stretches) >= _SEVERAL_STRETCHES:
        of_noise = np.sqrt(_WALK * len(stretches) / number / 2)
        limit = max(limit, min(_LIKE_A_WALK, _TOLERANCE * of_noise))
    return residual <= max(_EXACT, limit * walk)


def _fit_grid(starts: Times, usual_period: float) -> tuple[float, float]:
    """Return the distance of the starts from a line, and that of a random walk from its own; ns."""
    lines = np.concatenate(([0], np.cumsum(np.round(np.diff(starts) / usual_period))))
    slope, level = np.polyfit(lines, starts - starts[0], 1)
    residual = float((starts - starts[0] - slope * lines - level).std())
    steps = np.diff(starts) - slope * np.diff(lines)
    return residual, float(steps.std()) * np.sqrt(starts.size / _WALK)


def _has_a_displays_rate(period: float) -> bool:
    """Return whether a display or a sound buffer has this period; ns."""
    return min(abs(period * rate / 1e9 - 1) for rate in (*_DISPLAYS, *_SOUND)) <= _NEAR_A_RATE


def _has_a_timers_rate(period: float) -> bool:
    """Return whether a period is a whole number of milliseconds; ns."""
    milliseconds = period / 1e6
    return milliseconds > _MOSTLY and abs(milliseconds - round(milliseconds)) <= _NEAR_A_TIMER


def _falls(work: Times, rest_times: Times) -> bool:
    """Return whether the rest shrinks one for one as the work grows."""
    x, y = work - work.mean(), rest_times - rest_times.mean()
    squares = float((x * x).sum())
    if squares == 0:
        return False
    slope = float((x * y).sum()) / squares
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / max(1, x.size - 2) / squares))
    return abs(slope + 1) <= _SLOPE and error <= _SURE
