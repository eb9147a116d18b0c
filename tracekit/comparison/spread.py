"""The chance in a difference between runs, as an interval of the change.

Several estimates show how much equal runs differ, and the widest interval counts. At least 6 pairs
of runs that were recorded alternating have an interval of their own (`paired`), which counts alone.

- *within runs*: the standard deviation of blocks of a run. That of the run as a whole would be
  smaller if blocks were independent. They are not: slow changes within a run (clock, heat, other
  work) differ as much from run to run. So a run is assumed to vary as one of its blocks does. If
  reference work takes the machine's pace out of each block, the remainder was found to be
  independent from block to block, and a run varies less than its blocks by the square root of their
  number. A median is not moved by outliers, so its median deviation counts. `between` is added,
  because no run shows by itself how runs differ.
- *within the output of a program*: the standard deviation of its own repetitions, printed or from
  its samples; a run is assumed to vary as one of its repetitions does, as with blocks. They may be
  as few as two, so freedom is that of the sum of such a variance and of `between`, which no
  repetition estimates (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
- *between runs*, if there are several of each side: their own standard deviation, with Student's t
  for few runs, and with 98 %. So few runs often seem to vary far less than they do, and with 95 %
  more than one of a hundred comparisons of equal runs would end as worse.

Changes are on a scale on which they add up: logarithms of values that are compared by ratio, and
plain values if a difference says more, as for shares.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tracekit.base import verdicts

# Quantiles 0.975 of Student's t for 1, 2, 3 … degrees of freedom, from any table of it.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
_NORMAL = 1.96
# Its quantiles 0.99, likewise.
_T_OF_RUNS = (
    *(31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764),
    *(2.718, 2.681, 2.650, 2.624, 2.602, 2.583, 2.567, 2.552, 2.539, 2.528),
)
_NORMAL_OF_RUNS = 2.326
NORMAL_MAD = 1.4826  # a normal deviation over the median one
_ENOUGH = 120  # degrees of freedom from which t is taken for normal

Kind = Literal["block", "mean", "median"]


@dataclass(frozen=True)
class Limits:
    """The limits that a user may set.

    Attributes:
        threshold: The least change that matters, as a ratio: 0.03 is 3 %. Of shares it is the
            difference, in points.
        between: The assumed difference of equal runs beyond their spread within: one standard
            deviation, as a ratio. Several runs of each side show it themselves.
        metrics: Names of the metrics that decide; by default those of speed.
        paced: The upper limit of `between` if reference work takes the machine's pace out.
        doubt: The assumed error of that correction: a share of itself, as a logarithm. Work
            of another kind slows down by more or by less than the reference does.
    """

    threshold: float = 0.03
    between: float = 0.025
    metrics: tuple[str, ...] = ()
    paced: float = 0.016
    doubt: float = 0.5


@dataclass(frozen=True)
class Repetition:
    """The variance of one repetition within a run, with its degrees of freedom."""

    variance: float
    freedom: int


@dataclass(frozen=True)
class SideValues:
    """The runs of one side: each one's value, and the values of its blocks if it has them.

    A run varies as one of its blocks, or as the mean or the median of so many independent blocks,
    according to `kind`. `runs` are the places of the runs that have a value, in order of time;
    empty if all have one. `repetitions` are the variances of each run's own repetitions.
    """

    values: tuple[float, ...]
    blocks: tuple[tuple[float, ...], ...] = ()
    kind: Kind = "block"
    runs: tuple[int, ...] = ()
    repetitions: tuple[Repetition, ...] = ()

    @property
    def middle(self) -> float:
        """The median run."""
        return statistics.median(self.values)

    @property
    def run_variance(self) -> float | None:
        """The mean variance of a run, by that of its blocks; None if a run has none."""
        if not self.blocks or any(len(block) < 2 for block in self.blocks):  # noqa: PLR2004
            return None
        block_variances = map(_VARIANCES[self.kind], self.blocks)
        return statistics.fmean(block_variances)


def _of_median(blocks: Sequence[float]) -> float:
    """Return the variance of the median of as many normal values, by their median deviation."""
    middle = statistics.median(blocks)
    distances = [abs(block - middle) for block in blocks]
    deviation = NORMAL_MAD * statistics.median(distances)
    return deviation**2 * math.pi / 2 / len(blocks)


_VARIANCES: dict[Kind, Callable[[Sequence[float]], float]] = {
    "block": statistics.variance,
    "mean": lambda blocks: statistics.variance(blocks) / len(blocks),
    "median": _of_median,
}


def interval(
    side_before: SideValues, side_after: SideValues, run_deviation: float
) -> verdicts.Interval | None:
    """Return the change between the sides; None if nothing shows its spread."""
    estimates = (
        _measure_blocks(side_before, side_after, run_deviation),
        _measure_repetitions(side_before, side_after, run_deviation),
        _measure_runs(side_before, side_after),
    )
    half_widths = [estimate for estimate in estimates if estimate is not None]
    if not half_widths:
        return None
    half = max(half_widths)
    change = side_after.middle - side_before.middle
    return verdicts.Interval(change, change - half, change + half)


def quantile(freedom: int) -> float:
    """Return the quantile 0.975 of Student's t for one degree of freedom or more.

    Beyond the table it is that of the table's last; from 120 on, that of the normal distribution.
    """
    if freedom <= len(_T):
        return _T[freedom - 1]
    if freedom < _ENOUGH:
        return _T[-1]
    return _NORMAL


def _quantile_of_runs(freedom: int) -> float:
    """Return the quantile 0.99 of Student's t, as `quantile` does that of 0.975."""
    if freedom <= len(_T_OF_RUNS):
        return _T_OF_RUNS[freedom - 1]
    if freedom < _ENOUGH:
        return _T_OF_RUNS[-1]
    return _NORMAL_OF_RUNS


def _measure_blocks(
    side_before: SideValues, side_after: SideValues, run_deviation: float
) -> float | None:
    """Return half the width of the interval by the blocks of runs; None if a run has too few."""
    run_variance_before = side_before.run_variance
    run_variance_after = side_after.run_variance
    if run_variance_before is None or run_variance_after is None:
        return None
    freedom = sum(len(blocks) - 1 for blocks in (*side_before.blocks, *side_after.blocks))
    between_variance = run_deviation**2
    variance_before = (run_variance_before + between_variance) / len(side_before.values)
    variance_after = (run_variance_after + between_variance) / len(side_after.values)
    return quantile(freedom) * math.sqrt(variance_before + variance_after)


def _measure_repetitions(
    side_before: SideValues, side_after: SideValues, run_deviation: float
) -> float | None:
    """Return half the width of the interval by the repetitions within runs; None without any.

    The variance of the difference is a sum of parts: of each run's repetitions, each with its own
    degrees of freedom, and of the difference between runs. By Satterthwaite, the sum has as many
    degrees of freedom as its square over the sum of each part's square over its freedom.
    """
    if not side_before.repetitions or not side_after.repetitions:
        return None
    variance = 0.0
    square_over_freedom = 0.0
    for side in (side_before, side_after):
        count = len(side.values)
        for repetition in side.repetitions:
            part = repetition.variance / count**2
            variance += part
            square_over_freedom += part**2 / repetition.freedom
        variance += run_deviation**2 / count
    freedom = float(_ENOUGH)
    if square_over_freedom:
        freedom = min(freedom, max(1.0, variance**2 / square_over_freedom))
    return _interpolate_quantile(freedom) * math.sqrt(variance)


def _interpolate_quantile(freedom: float) -> float:
    """Return the quantile for a number of degrees that is not whole, linear in its reciprocal."""
    whole_freedom = math.floor(freedom)
    lower = quantile(whole_freedom)
    upper = quantile(whole_freedom + 1)
    # The step from 1/n to 1/(n + 1) is 1/(n (n + 1)).
    share = (1 / whole_freedom - 1 / freedom) * whole_freedom * (whole_freedom + 1)
    return lower + share * (upper - lower)


def _measure_runs(side_before: SideValues, side_after: SideValues) -> float | None:
    """Return half the width of the interval by runs, with a pooled variance; None for one run."""
    count_before = len(side_before.values)
    count_after = len(side_after.values)
    if min(count_before, count_after) < 2:  # noqa: PLR2004  one run shows nothing of its like
        return None
    freedom = count_before + count_after - 2
    squares_before = (count_before - 1) * statistics.variance(side_before.values)
    squares_after = (count_after - 1) * statistics.variance(side_after.values)
    run_variance = (squares_before + squares_after) / freedom
    variance = run_variance * (1 / count_before + 1 / count_after)
    return _quantile_of_runs(freedom) * math.sqrt(variance)


def pair_changes(side_before: SideValues, side_after: SideValues) -> dict[int, float]:
    """Return the change within each pair of runs, by its place in order of time.

    Both sides are in order of time and were recorded alternating, so that the n-th run of one was
    recorded next to the n-th of the other. A run without a value takes its neighbour out.
    """
    old = _values_by_place(side_before)
    new = _values_by_place(side_after)
    return {place: new[place] - old[place] for place in sorted(old) if place in new}


def _values_by_place(side: SideValues) -> dict[int, float]:
    places = side.runs or range(len(side.values))
    return dict(zip(places, side.values, strict=True))
