"""In which order subjects are measured, and how often."""

import pytest

from tracekit.lab.bench.document import calls_of, in_turn, rounds_of


@pytest.mark.parametrize("pair", ["AB", "AC", "BC"])
def test_two_rounds_measure_any_two_as_abba(pair: str) -> None:
    taken = [one for number in range(2) for one in in_turn("ABC", number) if one in pair]
    assert "".join(taken) == pair + pair[::-1]


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
