"""How often and in which order subjects are measured, and what their samples say."""

import pytest

from tracekit.base.errors import InputError
from tracekit.lab.bench.document import calls_of, rounds_of, summarize

SAMPLES = [10.0, 12.0, 11.0, 13.0, 100.0, 12.0, 11.0, 12.0, 10.0, 9.0]


def test_ten_samples_in_numbers() -> None:
    said = summarize(SAMPLES)
    assert (said.count, said.mean) == (10, pytest.approx(20.0))
    assert said.std == pytest.approx(28.1345, abs=1e-3)
    assert (said.min, said.median, said.p50, said.max) == (9.0, 11.5, 11.5, 100.0)
    assert said.mad == 1.0  # distances from 11.5: 0.5 six times, 1.5 three times less 2.5 and 88.5
    assert (said.filtered_out, said.filtered_mean) == (1, pytest.approx(100 / 9))
    assert said.p95 == pytest.approx(13 + 0.55 * 87)
    edge = summarize([8.0, 12.0, *[10.0] * 7])  # its deviation is 1
    assert (edge.std, edge.filtered_out) == (1.0, 0)
    one = summarize([7.0])
    assert (one.std, one.median, one.mad, one.p99, one.filtered_mean) == (None, 7.0, 0.0, 7.0, 7.0)


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [float("inf")]])
def test_statistics_of_nothing_are_refused(samples: list[float]) -> None:
    with pytest.raises(InputError, match="finite number"):
        summarize(samples)


@pytest.mark.parametrize(
    ("duration", "calls"),
    [(0.0, 64), (100_000.0, 64), (1_000_000.0, 20), (6_000_001.0, 4), (5e9, 1)],
)
def test_a_sample_has_as_many_calls_as_make_twenty_milliseconds(
    duration: float, calls: int
) -> None:
    assert calls_of(duration) == calls


@pytest.mark.parametrize(
    ("budget", "costs", "most", "rounds"),
    [
        (1e9, [1e7, 1e7], 1000, 100),
        (1e9, [1e7, 9e7], 1000, 20),
        (1e9, [1e7, 1e7], 50, 50),
        (1e6, [5e9], 100, 6),
        (1e6, [5e9], 2, 2),
        (1e9, [], 10, 6),
    ],
)
def test_rounds_share_the_budget_and_are_enough_for_an_interval(
    budget: float, costs: list[float], most: int, rounds: int
) -> None:
    assert rounds_of(budget, costs, most) == rounds
