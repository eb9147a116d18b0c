"""The load: how long requests are, when they arrive, and that a seed says everything."""

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.ops.serving.load import (
    SIGMA,
    Lengths,
    Rate,
    ServerLoad,
    Spike,
    draw_arrivals,
    draw_schedule,
)

PROMPTS = Lengths("prompt", "lognormal", 64, 16, 256)
OUTPUTS = Lengths("output", "uniform", 32, 8, 40)
LOAD = ServerLoad(Rate(20.0), PROMPTS, OUTPUTS, duration=5.0, seed=11)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_uniform_lengths_take_every_value_within_their_bounds() -> None:
    drawn = Lengths("prompt", "uniform", 1, 3, 6).draw(2_000, rng())
    assert sorted(set(drawn)) == [3, 4, 5, 6]
    assert min(drawn.count(value) for value in range(3, 7)) > 400


@settings(deadline=None)
@given(
    st.tuples(st.integers(1, 5_000), st.integers(1, 5_000), st.integers(1, 5_000)).map(sorted),
    st.integers(0, 99),
)
def test_lognormal_lengths_keep_their_bounds(bounds: list[int], seed: int) -> None:
    shortest, typical, longest = bounds
    lengths = Lengths("output", "lognormal", typical, shortest, longest)
    drawn = lengths.draw(50, np.random.default_rng(seed))
    assert all(shortest <= value <= longest for value in drawn)
    assert lengths.most_tokens == longest


def test_a_bound_is_as_likely_as_the_values_that_round_to_it() -> None:
    drawn = np.array(Lengths("prompt", "lognormal", 4, 2, 6).draw(20_000, rng()))
    normal = NormalDist(math.log(4), SIGMA)
    edges = [normal.cdf(math.log(value - 0.5)) for value in range(2, 8)]
    shares = np.diff(edges) / (edges[-1] - edges[0])
    frequencies = [(drawn == value).mean() for value in range(2, 7)]
    assert frequencies == pytest.approx(shares, abs=0.01)


def test_bounds_that_contradict_each_other_are_refused() -> None:
    for lengths in (("lognormal", 64, 65, 99), ("lognormal", 64, 1, 63), ("uniform", 1, 9, 8)):
        with pytest.raises(UsageError, match="There are no") as caught:
            Lengths("prompt", *lengths)
        assert "--prompt-shortest" in caught.value.hint, lengths


def test_the_same_seed_draws_the_same_requests() -> None:
    jobs = draw_schedule(LOAD)
    assert jobs == draw_schedule(LOAD) != draw_schedule(replace(LOAD, seed=12))
    assert [job.number for job in jobs] == list(range(100))
    assert jobs[-1].arrival == 5_000_000_000


def test_another_rate_leaves_lengths_and_contents_as_they_are() -> None:
    slow = draw_schedule(replace(LOAD, count=40))
    fast = draw_schedule(replace(LOAD, count=40, rate=Rate(200.0, ramp=0.1)))
    assert [replace(job, arrival=0) for job in slow] == [replace(job, arrival=0) for job in fast]
    assert [job.arrival for job in slow] != [job.arrival for job in fast]


SECOND = 1_000_000_000


def drawn(rate: Rate, **options: Any) -> list[int]:
    load = ServerLoad(rate, PROMPTS, OUTPUTS, **options)
    return draw_arrivals(load).tolist()


@pytest.mark.parametrize(
    ("rate", "options", "count", "last"),
    [
        (12.5, {}, 125, 10 * SECOND),
        (8.0, {"count": 20, "duration": 99.0}, 20, 2_500_000_000),
        (100.0, {"burstiness": 0.01}, 1000, 10 * SECOND),
    ],
)
def test_a_rate_brings_its_number_in_exactly_its_time(
    rate: float, options: dict[str, Any], count: int, last: int
) -> None:
    arrivals = drawn(Rate(rate), **options)
    assert (len(arrivals), arrivals[-1]) == (count, last)
    assert arrivals == sorted(arrivals)
    assert arrivals[0] >= 0


def test_arrivals_are_those_of_a_rescaled_gamma_process() -> None:
    gaps = np.random.default_rng([7, 0]).gamma(2.5, 1 / 2.5, 30)
    expected = np.cumsum(gaps) / gaps.sum() * 3.0
    arrivals = drawn(Rate(10.0), duration=3.0, burstiness=2.5, seed=7)
    assert np.allclose(np.array(arrivals) / SECOND, expected, rtol=1e-9)


def test_a_ramp_climbs_linearly_and_then_holds() -> None:
    rate = Rate(10.0, ramp=4.0)
    arrivals = np.array(drawn(rate, duration=6.0, burstiness=1e6)) / SECOND
    assert len(arrivals) == 40
    assert ((arrivals <= 2.1).sum(), (arrivals <= 4.05).sum()) == (5, 20)


RAMPED = Rate(10.0, ramp=4.0)
INTERRUPTED = Rate(10.0, ramp=10.0, spikes=(Spike(5.0, 1.0, 1.0),))


def test_arrivals_are_expected_up_to_each_moment() -> None:
    for rate, until, expected in (
        (RAMPED, 2.0, 5),
        (RAMPED, 4.0, 20),
        (RAMPED, 6.0, 40),
        # a spike takes the place of the rate for its time
        (Rate(4.0, spikes=(Spike(0.0, 1.0, 5.0),)), 2.0, 4 + 5),
        (Rate(4.0, spikes=(Spike(2.0, 0.5, 40.0),)), 10.0, 9.5 * 4 + 20),
        (Rate(4.0, spikes=(Spike(1.0, 0.5, 40.0), Spike(1.5, 0.5, 80.0))), 2.0, 4 + 20 + 40),
        # and interrupts a ramp
        (INTERRUPTED, 5.0, 12.5),
        (INTERRUPTED, 6.0, 13.5),
        (INTERRUPTED, 7.0, 13.5 + 6.5),
    ):
        assert rate.count_requests(until) == pytest.approx(expected)


@settings(deadline=None)
@given(
    st.floats(0.5, 50),
    st.floats(0, 5),
    st.lists(st.tuples(st.floats(0.1, 2), st.floats(0.1, 1), st.floats(0.5, 80)), max_size=3),
    st.lists(st.floats(0.01, 200), min_size=1, max_size=20),
)
def test_moments_are_the_inverse_of_the_expectation(
    level: float, ramp: float, gaps: list[tuple[float, float, float]], counts: list[float]
) -> None:
    spikes, start = [], 0.0
    for gap, length, rate in gaps:
        spikes.append(Spike(start + gap, length, rate))
        start += gap + length + 0.01
    curve = Rate(level, ramp, tuple(spikes))
    moments = curve.moments(np.array(sorted(counts)))
    assert all(later >= sooner for sooner, later in pairwise(moments.tolist()))
    for count, moment in zip(sorted(counts), moments.tolist(), strict=True):
        assert curve.count_requests(moment) == pytest.approx(count, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Rate(0), "must be above 0"),
        (lambda: Rate(float("nan")), "must be above 0"),
        (lambda: Rate(1, ramp=-1), "--ramp and --spike-at"),
        (lambda: Rate(1, spikes=(Spike(-1, 1, 1),)), "must be above 0"),
        (lambda: Rate(1, spikes=(Spike(1, 0, 1),)), "must be above 0"),
        (lambda: Rate(1, spikes=(Spike(1.5, 1, 9), Spike(1, 1, 9))), "1 and 1.5 s overlap"),
        (lambda: drawn(Rate(0.01)), "no request arrives within 10 s"),
    ],
)
def test_an_impossible_schedule_is_refused(make: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


def test_a_budget_of_tokens_ends_the_schedule() -> None:
    outputs = Lengths("output", "fixed", 8, 1, 8)
    budgeted = replace(LOAD, outputs=outputs, count=None, token_budget=50)
    assert len(draw_schedule(budgeted)) == 7
    assert len(draw_schedule(replace(budgeted, count=5))) == 5
    drawn = replace(LOAD, count=None, token_budget=100)
    jobs = draw_schedule(drawn)
    tokens = [job.output_tokens for job in jobs]
    assert sum(tokens[:-1]) < 100 <= sum(tokens)
    unlimited = draw_schedule(replace(drawn, token_budget=None, count=len(jobs)))
    assert tokens == [job.output_tokens for job in unlimited]
