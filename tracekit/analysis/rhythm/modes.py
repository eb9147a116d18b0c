"""Whether steps swing between two speeds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

_ENDS = (0.05, 0.95)  # quantiles: what lies beyond must not pull the modes apart on its own
_SIGMA = 1.4826
_LEAST_SPREAD = 0.01


@dataclass(frozen=True, eq=False)
class Modes:
    """Two speeds: which steps are slow, what a fast and a slow one takes (ns), how often it turns.

    `separation` is the distance of both over the wider one's robust standard deviation.
    """

    slow: NDArray[np.bool_]
    fast_time: float
    slow_time: float
    changes: int
    separation: float

    @property
    def minority(self) -> float:
        """The share of the rarer of both."""
        share = float(self.slow.mean())
        return min(share, 1 - share)

    @property
    def excess(self) -> float:
        """How much longer a slow step takes, as a share of a fast one."""
        return self.slow_time / self.fast_time - 1


def modes(times: Times) -> Modes:
    """Split the steps in two where both halves are most alike in themselves.

    The split is the one of least squares, as that of k-means for two clusters in one dimension,
    found exactly over the sorted values.
    """
    capped = np.clip(times, *np.quantile(times, _ENDS))
    slow = capped > _border(np.sort(capped).astype(np.float64))
    if not slow.any():
        middle = float(np.median(times))
        return Modes(slow, middle, middle, 0, 0.0)
    fast_time, slow_time = float(np.median(times[~slow])), float(np.median(times[slow]))
    spread = max(_spread(times[~slow]), _spread(times[slow]), _LEAST_SPREAD * fast_time)
    changes = int(np.count_nonzero(np.diff(slow)))
    return Modes(slow, fast_time, slow_time, changes, (slow_time - fast_time) / spread)


def _border(ordered: NDArray[np.float64]) -> float:
    """Return the greatest value of the lower half."""
    count = np.arange(1, ordered.size)
    below = np.cumsum(ordered)[:-1]
    above = ordered.sum() - below
    between = below**2 / count + above**2 / (ordered.size - count)
    return float(ordered[int(np.argmax(between))])


def _spread(times: Times) -> float:
    return _SIGMA * float(np.median(np.abs(times - np.median(times))))
