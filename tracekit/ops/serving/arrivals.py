"""When requests arrive: drawn before the run begins, so that nothing in it can change them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import UsageError

Floats = NDArray[np.float64]
Times = NDArray[np.int64]

_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Spike:
    """A stretch of seconds in which requests come at a rate of its own, per second."""

    at: float
    length: float
    rate: float

    @property
    def end(self) -> float:
        """When it is over, in seconds."""
        return self.at + self.length


@dataclass(frozen=True)
class Rate:
    """Requests per second over time: a linear climb from none, then a level, and spikes.

    Attributes:
        level: Requests per second after the climb.
        ramp: Seconds that the climb takes.
        spikes: Where another rate holds.

    Raises:
        UsageError: A number is out of bounds, or spikes overlap.
    """

    level: float
    ramp: float = 0.0
    spikes: tuple[Spike, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what has no schedule."""
        if not 0 < self.level < float("inf"):
            raise UsageError(f"--rate must be more than 0 requests/s; it is {self.level:g}.")
        if not 0 <= self.ramp < float("inf"):
            raise UsageError(f"--ramp must be at least 0 s; it is {self.ramp:g}.")
        for one in self.spikes:
            if not (one.at >= 0 and one.length > 0 and one.rate > 0):
                raise UsageError(
                    f"A spike of {one.rate:g} requests/s at {one.at:g} s cannot be made.",
                    hint="--spike-at must be at least 0, --spike-rate and --spike-length above 0.",
                )
        ordered = sorted(self.spikes, key=lambda one: one.at)
        for one, following in pairwise(ordered):
            if following.at < one.end:
                raise UsageError(f"The spikes at {one.at:g} s and {following.at:g} s overlap.")

    def expected(self, until: float) -> float:
        """Return how many requests come in the first `until` seconds: the rate's integral."""
        starts, rates, slopes, before = self._pieces
        piece = int(np.searchsorted(starts, until, side="right")) - 1
        since = until - float(starts[piece])
        return float(before[piece] + since * (rates[piece] + slopes[piece] * since / 2))

    def moments(self, counts: Floats) -> Floats:
        """Return the seconds after which so many requests have come, each count above 0."""
        starts, rates, slopes, before = self._pieces
        piece = np.searchsorted(before, counts, side="left") - 1
        rest, rate = counts - before[piece], rates[piece]
        return starts[piece] + 2 * rest / (rate + np.sqrt(rate**2 + 2 * slopes[piece] * rest))

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Where linear pieces start, their rate there, its slope, and the requests before."""
        bounds = {0.0, self._climb, *(at for one in self.spikes for at in (one.at, one.end))}
        starts = np.array(sorted(bounds))
        pieces = [self._piece(float(at)) for at in starts]
        rates, slopes = (np.array(column) for column in zip(*pieces, strict=True))
        lengths = np.diff(starts)
        within = lengths * (rates[:-1] + slopes[:-1] * lengths / 2)
        return starts, rates, slopes, np.concatenate(([0.0], np.cumsum(within)))

    def _piece(self, start: float) -> tuple[float, float]:
        for one in self.spikes:
            if one.at <= start < one.end:
                return one.rate, 0.0
        if start < self._climb:
            return self.level * start / self._climb, self.level / self._climb
        return self.level, 0.0

    @property
    def _climb(self) -> float:
        """The ramp; none where it is shorter than times are told apart."""
        return self.ramp if self.ramp * _SECOND >= 1 else 0.0


def draw_arrivals(
    rate: Rate, *, duration: float, count: int | None, burstiness: float, seed: int
) -> Times:
    """Draw when requests arrive, in ns from the start of the run.

    Intervals are drawn from a gamma distribution of shape `burstiness` and mean 1, and are then
    rescaled so that the last request arrives exactly when the schedule ends, as vLLM's serving
    benchmark does; last of all the rate says which moment each sum of intervals is. A schedule
    of N requests at a constant rate thus lasts exactly N / rate seconds.

    Args:
        rate: Requests per second over time.
        duration: Seconds of the schedule; it has as many requests as the rate brings in them.
        count: Requests of the schedule, whatever time they take; None to go by `duration`.
        burstiness: 1 draws a Poisson process; less is burstier, more is more even.
        seed: Equal seeds draw equal arrivals.

    Raises:
        UsageError: The schedule would hold no request.
    """
    total = float(count) if count is not None else rate.expected(duration)
    number = round(total)
    if number < 1:
        raise UsageError(
            f"At this rate no request arrives within {duration:g} s.",
            hint="Raise --rate or --duration, or give --requests.",
        )
    gaps = np.random.default_rng([seed, 0]).gamma(burstiness, 1 / burstiness, number)
    # A gap of a very bursty process can be nought in float64; the first must come after 0.
    sums = np.cumsum(np.maximum(gaps, np.finfo(np.float64).tiny))
    seconds = rate.moments(np.minimum(sums * (total / sums[-1]), total))
    return np.round(seconds * _SECOND).astype(np.int64)
