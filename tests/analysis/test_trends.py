"""The slope of a row of numbers, and how well it is known."""

import numpy as np
import pytest

from tracekit.analysis.trends import TrendLine, fit_trend

CHANCE = 300


def line(values: object) -> TrendLine:
    trend = fit_trend(np.asarray(values, np.float64))
    assert trend is not None
    return trend


def wandering(random: np.random.Generator, number: int, correlation: float) -> np.ndarray:
    """Return noise of which each value keeps so much of the one before."""
    values = random.normal(size=number)
    for place in range(1, number):
        values[place] += correlation * values[place - 1]
    return values


def test_a_line_is_found_exactly_and_odd_values_do_not_move_it() -> None:
    values = 70 + 2.0 * np.arange(40)
    values[[3, 17, 30]] = 900, 0, 5_000
    trend = line(values)
    assert trend.slope == 2
    assert (trend.first_value, trend.last_value, trend.rise) == (70, 148, 78)
    assert trend.share == pytest.approx(78 / 70)
    assert trend.predict(100) == 270
    assert trend.is_steady


@pytest.mark.parametrize("known", [0, 7])
def test_fewer_than_eight_known_values_have_no_trend(known: int) -> None:
    values = np.full(40, np.nan)
    values[:known] = 1.0
    assert fit_trend(values) is None


def test_places_count_where_values_are_not_known() -> None:
    values = 10 + 3.0 * np.arange(30)
    values[5:15] = np.nan
    assert (line(values).slope, line(values).first_value, line(values).last_value) == (3, 10, 97)


@pytest.mark.parametrize("together", [0.0, 0.5, 0.8])
def test_the_interval_holds_the_slope_in_nineteen_of_twenty_rows(together: float) -> None:
    hits = 0
    for seed in range(CHANCE):
        noise = wandering(np.random.default_rng(seed), 120, together)
        trend = line(0.05 * np.arange(120) + noise)
        hits += trend.lower <= 0.05 <= trend.upper
    assert hits / CHANCE >= 0.9


def test_an_interval_of_values_that_hang_together_has_no_end() -> None:
    trend = line(10 + np.sin(np.arange(120) / 40 * 2 * np.pi))
    assert (trend.lower, trend.upper) == (-np.inf, np.inf)
    assert trend.least_share == -np.inf


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        (np.arange(60.0), True),
        (np.arange(60.0)[::-1], True),
        (np.repeat([5.0, 8.0], 30), False),  # one jump
        (np.minimum(np.arange(60.0), 30), False),  # levels off
        (np.maximum(np.arange(60.0), 30), False),  # begins late
        (np.arange(64) // 8 * 8.0, True),  # in stairs
        (np.full(60, 5.0), False),
    ],
    ids=["rises", "falls", "jump", "levels off", "begins late", "stairs", "level"],
)
def test_a_trend_is_steady_where_both_halves_have_it(values: np.ndarray, *, steady: bool) -> None:
    assert line(values).is_steady is steady


def test_very_many_values_have_the_slope_of_all() -> None:
    trend = line(5 + 0.001 * np.arange(100_000))
    assert trend.slope == pytest.approx(0.001)
    assert trend.first_value == pytest.approx(5)
    assert trend.last_value == pytest.approx(104.999)
