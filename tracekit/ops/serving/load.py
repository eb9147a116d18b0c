"""The load: every request of a run, its arrival and its lengths, drawn before the run starts."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracekit.base import UsageError

Distribution = Literal["fixed", "uniform", "lognormal"]

SIGMA = 0.6
"""Standard deviation of the logarithm: two thirds lie within a factor of 1.8 of the median."""


@dataclass(frozen=True)
class Lengths:
    """A distribution of lengths, in tokens.

    "fixed": all are `typical`. "uniform": all from `shortest` to `longest` are equally likely.
    "lognormal": the median is `typical` before the distribution is cut at the bounds. `name` is the
    word for the lengths in options: "prompt" or "output".
    """

    name: str
    distribution: Distribution
    typical: int
    shortest: int
    longest: int

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing."""
        if self.distribution == "fixed":
            fits = self.typical >= 1
        elif self.distribution == "uniform":
            fits = 1 <= self.shortest <= self.longest
        else:
            fits = 1 <= self.shortest <= self.typical <= self.longest
        if not fits:
            raise UsageError(
                f"There are no {self.distribution} lengths around {self.typical} tokens from "
                f"{self.shortest} to {self.longest}.",
                hint=f"--{self.name}-shortest must not exceed --{self.name}-tokens, nor that "
                f"--{self.name}-longest.",
            )

    @property
    def most_tokens(self) -> int:
        """Tokens that no length exceeds."""
        if self.distribution == "fixed":
            return self.typical
        return self.longest

    def draw(self, count: int, rng: np.random.Generator) -> list[int]:
        """Draw `count` lengths."""
        if self.distribution == "fixed":
            return [self.typical] * count
        if self.distribution == "uniform":
            lengths = rng.integers(self.shortest, self.longest, count, endpoint=True)
            return lengths.tolist()
        # by the inverse of the distribution function, cut at both bounds
        normal = NormalDist(math.log(self.typical), SIGMA)
        lower_bound = normal.cdf(math.log(self.shortest - 0.5))
        upper_bound = normal.cdf(math.log(self.longest + 0.5))
        drawn_shares = rng.uniform(lower_bound, upper_bound, count)
        shares = np.clip(drawn_shares, 1e-300, 1 - 1e-16).tolist()
        drawn = [round(math.exp(normal.inv_cdf(share))) for share in shares]
        return [min(max(length, self.shortest), self.longest) for length in drawn]


Floats = NDArray[np.float64]
Times = NDArray[np.int64]

_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Spike:
    """A stretch of seconds in which requests come at another rate, per second."""

    start: float
    length: float
    rate: float

    @property
    def end(self) -> float:
        """When it is over, in seconds."""
        return self.start + self.length


@dataclass(frozen=True)
class Rate:
    """Requests per second over time: a linear climb from none in `ramp` seconds, then a `level`.

    In spikes, which must not overlap, another rate holds.
    """

    level: float
    ramp: float = 0.0
    spikes: tuple[Spike, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rates without a schedule."""
        climbs = 0 < self.level < float("inf") and 0 <= self.ramp < float("inf")
        if not climbs or not all(_has_schedule(spike) for spike in self.spikes):
            raise UsageError(
                "--rate, --spike-rate and --spike-length must be above 0, --ramp and --spike-at "
                "at least 0."
            )
        ordered = sorted(self.spikes, key=lambda spike: spike.start)
        for spike, following in pairwise(ordered):
            if following.start < spike.end:
                raise UsageError(
                    f"The spikes at {spike.start:g} and {following.start:g} s overlap."
                )

    def count_requests(self, until: float) -> float:
        """Return how many requests come in the first `until` seconds: the rate's integral."""
        starts, rates, slopes, requests_before = self._pieces
        next_piece = int(np.searchsorted(starts, until, side="right"))
        piece = next_piece - 1
        since = until - float(starts[piece])
        mean_rate = rates[piece] + slopes[piece] * since / 2
        return float(requests_before[piece] + since * mean_rate)

    def moments(self, counts: Floats) -> Floats:
        """Return the seconds after which these counts of requests have come, each above 0."""
        starts, rates, slopes, requests_before = self._pieces
        piece = np.searchsorted(requests_before, counts, side="left") - 1
        remaining_counts = counts - requests_before[piece]
        rate = rates[piece]
        root = np.sqrt(rate**2 + 2 * slopes[piece] * remaining_counts)
        time_since = 2 * remaining_counts / (rate + root)
        return starts[piece] + time_since

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The starts of linear pieces, their rates there, slopes, and the requests before."""
        bounds = {0.0, self._climb}
        for spike in self.spikes:
            bounds.add(spike.start)
            bounds.add(spike.end)
        starts = np.array(sorted(bounds))
        piece_numbers = [self._piece(float(start)) for start in starts]
        pieces = np.array(piece_numbers)
        rates = pieces[:, 0]
        slopes = pieces[:, 1]
        lengths = np.diff(starts)
        mean_rates = rates[:-1] + slopes[:-1] * lengths / 2
        requests_within = lengths * mean_rates
        summed_requests = np.cumsum(requests_within)
        return starts, rates, slopes, np.concatenate(([0.0], summed_requests))

    def _piece(self, start: float) -> tuple[float, float]:
        for spike in self.spikes:
            if spike.start <= start < spike.end:
                return spike.rate, 0.0
        if start < self._climb:
            return self.level * start / self._climb, self.level / self._climb
        return self.level, 0.0

    @property
    def _climb(self) -> float:
        """The ramp; 0 if it is shorter than the resolution of times."""
        if self.ramp * _SECOND < 1:
            return 0.0
        return self.ramp


def _has_schedule(spike: Spike) -> bool:
    return spike.start >= 0 and min(spike.length, spike.rate) > 0


_CONTENTS = 2**31


@dataclass(frozen=True)
class ServerLoad:
    """The requests to a server, as a user chooses them.

    The schedule has as many requests as the rate brings in `duration` seconds, or `count` of them,
    whatever time they take, or as many as reach a `token_budget` of outputs. A `burstiness` of 1
    draws a Poisson process; less is burstier, more is more even. Equal seeds draw equal loads.
    """

    rate: Rate
    prompts: Lengths
    outputs: Lengths
    duration: float = 10.0
    count: int | None = None
    token_budget: int | None = None
    burstiness: float = 1.0
    seed: int = 0

    @property
    def longest(self) -> int:
        """Tokens of prompt and output that no request exceeds."""
        return self.prompts.most_tokens + self.outputs.most_tokens


@dataclass(frozen=True)
class ScheduledRequest:
    """One request of the schedule; it arrives `arrival` ns from the start of the run.

    Its keys, values and queries are drawn from `content`, any whole number.
    """

    number: int
    arrival: int
    prompt_tokens: int
    output_tokens: int
    content: int = 0

    def blocks(self, block_size: int) -> int:
        """Return how many blocks of `block_size` tokens it needs."""
        return -(-(self.prompt_tokens + self.output_tokens) // block_size)


def draw_arrivals(load: ServerLoad) -> Times:
    """Draw when requests arrive, in ns from the start of the run.

    Intervals are drawn from a gamma distribution of shape `burstiness` and mean 1, and are then
    rescaled so that the last request arrives exactly when the schedule ends, as vLLM's serving
    benchmark does; finally the rate turns each sum of intervals into a moment. A schedule of N
    requests at a constant rate thus lasts exactly N / rate seconds.
    """
    count = _budgeted_count(load)
    if count is None:
        count = load.rate.count_requests(load.duration)
    total = float(count)
    number = round(total)
    if number < 1:
        raise UsageError(
            f"At this rate no request arrives within {load.duration:g} s.",
            hint="Raise --rate or --duration, or give --requests.",
        )
    generator = np.random.default_rng([load.seed, 0])
    gaps = generator.gamma(load.burstiness, 1 / load.burstiness, number)
    # A gap of a very bursty process can be zero in float64; the first must come after 0.
    least_gap = np.finfo(np.float64).tiny
    sums = np.cumsum(np.maximum(gaps, least_gap))
    scaled_sums = sums * (total / sums[-1])
    seconds = load.rate.moments(np.minimum(scaled_sums, total))
    return np.round(seconds * _SECOND).astype(np.int64)


def _budgeted_count(load: ServerLoad) -> int | None:
    """Return the number of requests that are asked for or reach the budget; None without both."""
    if load.token_budget is None:
        return load.count
    most_requests = load.count or load.token_budget
    outputs = _draw_outputs(load, min(most_requests, load.token_budget))
    reached = int(np.searchsorted(np.cumsum(outputs), load.token_budget)) + 1
    return min(reached, most_requests)


def _draw_outputs(load: ServerLoad, count: int) -> list[int]:
    return load.outputs.draw(count, np.random.default_rng([load.seed, 2]))


def draw_schedule(load: ServerLoad) -> tuple[ScheduledRequest, ...]:
    """Draw all requests of a load, by arrival.

    Arrivals, prompts, outputs and contents each have their own stream of random numbers: another
    rate leaves the lengths as they are.
    """
    arrivals = draw_arrivals(load).tolist()
    generator = np.random.default_rng([load.seed, 1])
    prompts = load.prompts.draw(len(arrivals), generator)
    outputs = _draw_outputs(load, len(arrivals))
    generator_of_contents = np.random.default_rng([load.seed, 3])
    contents = generator_of_contents.integers(0, _CONTENTS, len(arrivals))
    columns = zip(arrivals, prompts, outputs, contents.tolist(), strict=True)
    return tuple(ScheduledRequest(number, *row) for number, row in enumerate(columns))
