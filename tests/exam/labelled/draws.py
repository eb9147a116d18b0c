"""Random numbers that stay the same for the rest of a trace when one thing in it is changed."""

import zlib

import numpy as np
from numpy.typing import NDArray

_WIDE = 512
_RARE = 1.88  # standard deviations: 3 % of all draws are beyond
_LONGEST = 3_000_000  # ns by which the system delays anything


class Draws:
    """Numbers by stream, step and place, all from one seed.

    What one stream gives does not depend on how often another is asked: so the same seed
    without a fault is the same trace without it, up to the fault's own consequences.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._seed, self._steps = seed, steps
        self._normal: dict[str, NDArray[np.float64]] = {}

    def random(self, stream: str) -> np.random.Generator:
        """Return a generator of its own for a stream."""
        return np.random.default_rng([self._seed, zlib.crc32(stream.encode())])

    def normal(self, stream: str, step: int, place: int = 0) -> float:
        """Return a standard normal number."""
        known = self._normal.get(stream)
        if known is None:
            known = self.random(stream).standard_normal((self._steps, _WIDE))
            self._normal[stream] = known
        return float(known[step, place % _WIDE])

    def rough(self, stream: str, mean: float, spread: float, step: int, place: int = 0) -> int:
        """Return such a time, but one in 30 takes some times as long, and one in 1,000 far longer.

        So it is with all that a host does: in recordings of an M1 the 99th percentile of times
        to encode, in the driver and until a start is three times the median, the longest of
        1,000 ten to a hundred times.
        """
        took = self.about(stream, mean, spread, step, place)
        beyond = self.normal(f"{stream}, rarely", step, place) - _RARE
        if beyond <= 0:
            return took
        return took + min(_LONGEST, round(took * (np.exp(0.7 + 2.5 * beyond) - 1)))

    def about(self, stream: str, mean: float, spread: float, step: int, place: int = 0) -> int:
        """Return a time around `mean`, log-normal, with `spread` for its logarithm."""
        if mean <= 0:
            return 0
        drawn = self.normal(stream, step, place) * spread - spread * spread / 2
        return round(mean * float(np.exp(drawn)))
