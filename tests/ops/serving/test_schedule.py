"""How long requests are, and that a seed says everything."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.ops.serving.load import SIGMA, Lengths, Load, Rate, draw_schedule

PROMPTS = Lengths("prompt", "lognormal", 64, 16, 256)
OUTPUTS = Lengths("output", "uniform", 32, 8, 40)
LOAD = Load(Rate(20.0), PROMPTS, OUTPUTS, duration=5.0, seed=11)


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
    one = Lengths("output", "lognormal", typical, shortest, longest)
    drawn = one.draw(50, np.random.default_rng(seed))
    assert all(shortest <= value <= longest for value in drawn)
    assert one.most == longest


def test_a_bound_is_as_likely_as_what_rounds_to_it() -> None:
    drawn = np.array(Lengths("prompt", "lognormal", 4, 2, 6).draw(20_000, rng()))
    normal = NormalDist(math.log(4), SIGMA)
    edges = [normal.cdf(math.log(value - 0.5)) for value in range(2, 8)]
    shares = np.diff(edges) / (edges[-1] - edges[0])
    counted = [(drawn == value).mean() for value in range(2, 7)]
    assert counted == pytest.approx(shares, abs=0.01)


@pytest.mark.parametrize(
    "lengths", [("lognormal", 64, 65, 99), ("lognormal", 64, 1, 63), ("uniform", 1, 9, 8)]
)
def test_bounds_that_contradict_each_other_are_refused(lengths: tuple[str, int, int, int]) -> None:
    with pytest.raises(UsageError, match="There are no") as caught:
        Lengths("prompt", *lengths)
    assert "--prompt-shortest" in caught.value.hint


def test_the_same_seed_draws_the_same_requests() -> None:
    jobs = draw_schedule(LOAD)
    assert jobs == draw_schedule(LOAD)
    assert jobs != draw_schedule(replace(LOAD, seed=12))
    assert len(jobs) == 100
    assert [job.number for job in jobs] == list(range(100))
    assert jobs[-1].at == 5_000_000_000


def test_another_rate_leaves_lengths_and_contents_as_they_are() -> None:
    slow = draw_schedule(replace(LOAD, count=40))
    fast = draw_schedule(replace(LOAD, count=40, rate=Rate(200.0, ramp=0.1)))
    assert [(one.prompt_tokens, one.output_tokens, one.content) for one in slow] == [
        (one.prompt_tokens, one.output_tokens, one.content) for one in fast
    ]
    assert [one.at for one in slow] != [one.at for one in fast]
