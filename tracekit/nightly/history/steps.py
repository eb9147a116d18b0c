"""One metric over nights, and its change points: from which night on it lies elsewhere.

The series is cut into stretches so that what nights lie away from their stretch's median, summed
up, and a penalty for each cut are least together. Sums of plain distances, not of squares, keep a
single odd night from being two cuts. Source of the criterion, known as the Potts functional with
absolute deviations: M. Storath and others, Jump-penalized least absolute values estimation of
scalar or circle-valued signals, Information and Inference 6 (2017).

The penalty and the rest were chosen by `bench/gate_simulation.py`.
"""

import heapq
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracekit.compare import NORMAL_MAD, Scale, Shown, shift
from tracekit.nightly.history.night import Outcome


@dataclass(frozen=True)
class Point:
    """What one night says of a series, which began `at`, ISO 8601 in UTC.

    `value` is the median of the candidate's pairs that count, `least` and `most` are the extreme
    ones; `change` is the candidate from the `reference` of that night, on the series' scale, with
    its 95 % interval; what is expected is not taken off. Each is None where it is not known.
    `outcome` is None where the metric is followed only. `commit` is the candidate's.
    """

    night: str
    at: str
    value: float | None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None
    pairs: int = 0
    outcome: Outcome | None = None
    reason: str = ""
    night_outcome: Outcome | None = None
    commit: str = ""
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    folder: str = ""
    reference_commit: str = ""


@dataclass(frozen=True)
class Series:
    """One metric of one capture on one machine, oldest night first.

    Its nights did the same work against the same reference; a plan that changes either begins
    another series. `threshold` and `gated` are those of the last night.
    """

    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    scale: Scale = "ratio"
    threshold: float = 0.03
    gated: bool = True
    points: tuple[Point, ...] = ()

    @property
    def shown(self) -> Shown:
        """How its changes are put into words."""
        return Shown(self.scale, self.unit)


SHORTEST = 3  # nights of a stretch; of fewer an odd night or two are half of it
PENALTY = 5.0  # in deviations of a night
_PLAUSIBLE = 2.0  # a cut elsewhere that costs as many deviations more is not ruled out
_FLOOR = 0.5  # of the least change that matters: nights that are more alike than this do not count

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A change that stayed, from the night `index` on: a place in the series, gaps included.

    `before` and `after` are medians of the stretches on both sides, of the candidate's values or of
    its changes from the reference, as `of` says. `change` is a ratio less one, or a difference; its
    95 % interval takes the night as known, and is None where stretches are too short. The stretch
    may have begun between `earliest` and `latest`.
    """

    index: int
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    earliest: int = 0
    latest: int = 0
    of: Literal["value", "change"] = "value"


def is_searched(series: Series) -> bool:
    """Tell whether a series has enough nights with a value for a step to be found."""
    usable = [point for point in series.points if (point.change, point.value) != (None, None)]
    return len(usable) >= 2 * SHORTEST


def steps(
    values: Sequence[float | None], *, scale: Scale = "ratio", least: float = 0.015
) -> tuple[Step, ...]:
    """Find the steps in values of one night each, oldest first, of at least `least`.

    None, a value that is no number, and one of which there is no ratio where ratios are asked for,
    are gaps. `least` is a ratio less one, or a difference, above 0.
    """
    places = [place for place, value in enumerate(values) if _usable(value, scale)]
    known = [float(value) for value in values if value is not None and _usable(value, scale)]
    if len(known) < 2 * SHORTEST:
        return ()
    scaled = np.log(known) if scale == "ratio" else np.asarray(known, float)
    limit = math.log1p(least) if scale == "ratio" else least
    costs = _costs(scaled.tolist()) / _deviation(scaled, limit)
    ends = _merged(scaled, _cut(costs), limit)
    return tuple(
        _step(scaled, costs, places, ends[at - 1 : at + 2], scale) for at in range(1, len(ends) - 1)
    )


def _usable(value: float | None, scale: Scale) -> bool:
    return value is not None and math.isfinite(value) and (scale == "difference" or value > 0)


def _deviation(values: Floats, limit: float) -> float:
    """Return how far a night deviates, by how near ones differ, which a step hardly touches.

    Nights up to three apart are taken, for next to each other they may be alike.
    """
    found = [_FLOOR * limit]
    for lag in range(1, SHORTEST + 1):
        apart = values[lag:] - values[:-lag]
        middle = float(np.median(np.abs(apart - np.median(apart))))
        found.append(NORMAL_MAD * middle / math.sqrt(2))
    return max(found)


def _costs(values: Sequence[float]) -> Floats:
    """Return what values lie away from their median, summed up, for each stretch [first, end)."""
    costs = np.zeros((len(values) + 1, len(values) + 1))
    for first in range(len(values)):
        below: list[float] = []  # the lower half, negative: heaps have the least on top
        above: list[float] = []
        low = high = 0.0
        for end, value in enumerate(values[first:], first + 1):
            if len(below) > len(above):
                moved = -heapq.heappushpop(below, -value)
                heapq.heappush(above, moved)
                low, high = low + value - moved, high + moved
                costs[first, end] = max(high - low, 0.0)
            else:
                moved = heapq.heappushpop(above, value)
                heapq.heappush(below, -moved)
                low, high = low + moved, high + value - moved
                costs[first, end] = max(high - low - below[0], 0.0)
    return costs


def _cut(costs: Floats) -> list[int]:
    """Return the ends of the stretches that cost least together, 0 first."""
    nights = len(costs) - 1
    best = np.full(nights + 1, np.inf)
    best[0] = -PENALTY
    begun = [0] * (nights + 1)
    for end in range(SHORTEST, nights + 1):
        totals = best[: end - SHORTEST + 1] + costs[: end - SHORTEST + 1, end] + PENALTY
        begun[end] = int(np.argmin(totals))
        best[end] = totals[begun[end]]
    ends = [nights]
    while ends[0]:
        ends.insert(0, begun[ends[0]])
    return ends


def _merged(values: Floats, ends: list[int], limit: float) -> list[int]:
    """Join stretches until all neighbours are apart by the limit, the most alike ones first."""
    ends = list(ends)
    while len(ends) > 2:  # noqa: PLR2004  a single stretch has two ends
        middles = [float(np.median(values[a:b])) for a, b in itertools.pairwise(ends)]
        apart = [abs(after - before) for before, after in itertools.pairwise(middles)]
        least = min(range(len(apart)), key=apart.__getitem__)
        if apart[least] >= limit:
            break
        del ends[least + 1]
    return ends


def _step(
    values: Floats, costs: Floats, places: Sequence[int], ends: Sequence[int], scale: Scale
) -> Step:
    """Make the step at the second of three ends."""
    begin, at, end = ends
    before, after = values[begin:at].tolist(), values[at:end].tolist()
    old, new = statistics.median(before), statistics.median(after)
    found = shift(after, before)
    ratio = scale == "ratio"
    plain, moved = (math.exp, math.expm1) if ratio else (float, float)
    cuts = range(begin + 1, end)
    dated = [
        cut
        for cut in cuts
        if costs[begin, cut] + costs[cut, end] <= costs[begin, at] + costs[at, end] + _PLAUSIBLE
    ]
    return Step(
        index=places[at],
        before=plain(old),
        after=plain(new),
        change=moved(new - old),
        low=moved(found.low) if found else None,
        high=moved(found.high) if found else None,
        earliest=places[min(dated)],
        latest=places[max(dated)],
    )
