"""Change points as the E-divisive method finds them, each one held against a t-test.

Source: D. S. Matteson, N. A. James, A Nonparametric Approach for Multiple Change Point Analysis
of Multivariate Data, Journal of the American Statistical Association 109 (2014). Programs that
watch benchmarks replace its permutations by a t-test of the stretches on both sides.
"""

import math
from statistics import NormalDist

import numpy as np

from nights.noise import Floats

_QUANTILE = 0.9995  # two-sided 0.001


def change_points(values: Floats, least: float) -> list[int]:
    """Return where stretches begin, from the second on, of one series."""
    count = len(values)
    if count < 3:
        return []
    at = _best(values)
    before, after = values[:at], values[at:]
    moved = float(after.mean() - before.mean())
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = math.sqrt(squares / (count - 2) * (1 / at + 1 / (count - at)))
    if abs(moved) < least or abs(moved) <= quantile(count - 2) * error:
        return []
    later = [at + one for one in change_points(after, least)]
    return [*change_points(before, least), at, *later]


def _best(values: Floats) -> int:
    """Return the split whose sides are furthest apart by the energy distance."""
    count = len(values)
    apart = np.abs(values[:, None] - values[None, :])
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = apart.cumsum(0).cumsum(1)
    at = np.arange(1, count)
    rest = count - at
    own = sums[at, at]
    between = sums[at, count] - own
    other = sums[count, count] - own - 2 * between
    energy = 2 * between / (at * rest) - own / at**2 - other / rest**2
    return int(np.argmax(at * rest / count * energy)) + 1


def quantile(freedom: int) -> float:
    """Return the quantile 0.9995 of Student's t, by its expansion for many degrees of freedom.

    Below three degrees the expansion is none, and nothing is significant. Source: M. Abramowitz,
    I. A. Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    if freedom < 3:
        return math.inf
    x = NormalDist().inv_cdf(_QUANTILE)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / freedom**power for power, term in enumerate(terms, 1))
