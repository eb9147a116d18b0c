"""Change points over nights."""

import math
import random
import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.history.steps import Point, Series, is_searched, steps, steps_of

LITTLE = (0.002, -0.004, 0.0, 0.005, -0.001, -0.003, 0.004, 0.001, -0.005, 0.003)
Values = Sequence[float | None]


def level(value: float, nights: int) -> list[float]:
    """Make nights around a value that differ by half a percent."""
    return [value * (1 + LITTLE[at % len(LITTLE)]) for at in range(nights)]


def odd(values: list[float], **places: float) -> list[float]:
    return [places.get(f"n{at}", value) for at, value in enumerate(values)]


def noisy(source: random.Random, nights: int, deviation: float, value: float = 1.0) -> list[float]:
    return [value * math.exp(source.gauss(0, deviation)) for _ in range(nights)]


def series(values: Values, changes: Values | None = None, **more: Any) -> Series:
    points = tuple(
        Point(f"night-{at}", f"2026-11-{at + 1:02}", value, 1.0, change)
        for at, (value, change) in enumerate(
            zip(values, changes or [None] * len(values), strict=True)
        )
    )
    return Series("m", "p", "decode", "d1", "step_p50", "ns", "lower", points=points, **more)


def test_a_step_is_dated_and_measured() -> None:
    (step,) = steps(level(20e6, 20) + level(21e6, 5))
    assert (step.index, step.earliest, step.latest, step.of) == (20, 20, 20, "value")
    assert (step.before, step.after) == (pytest.approx(20e6, 0.002), pytest.approx(21e6, 0.002))
    assert step.change == pytest.approx(0.05, abs=0.003)
    assert step.low is not None
    assert step.high is not None
    assert 0.04 < step.low < step.change < step.high < 0.06
    (step,) = steps([20.0, 20.0, 20.0, 30.0, 30.0, 30.0])
    assert (step.index, step.change) == (3, pytest.approx(0.5))
    assert (step.low, step.high) == (None, None), "three nights a side have no interval"


GAPS = [*odd(level(20, 20), n3=math.nan), math.nan, math.inf, 0.0, -3.0, *level(22, 5)]


@pytest.mark.parametrize(
    ("values", "more", "found"),
    [
        ([], {}, []),
        ([None] * 30, {}, []),
        (level(20, 30), {}, []),
        (level(20, 10) + level(22, 6) + level(20, 10), {}, [10, 16]),
        ([20.0] * 2 + [40.0] * 3, {}, []),  # too few nights
        (level(20, 20) + level(20.6, 2), {}, []),
        (level(20, 20) + level(20.6, 3), {}, [20]),
        (level(20, 20) + level(22, 2), {}, [19]),  # it takes three nights: a night early
        *[(odd(level(20, 20), **{f"n{at}": 60.0}), {}, []) for at in (0, 1, 10, 18, 19)],
        (odd(level(20, 20) + level(21, 6), n5=10.0, n22=40.0), {}, [20]),
        (level(20, 20) + level(20.24, 20), {"least": 0.015}, []),
        (level(20, 20) + level(20.24, 20), {"least": 0.01}, [20]),
        (GAPS, {}, [24]),  # what is no number, or has no ratio, is a gap and is counted
        ([0.0] * 10 + [1.0] * 4, {"scale": "difference", "least": 0.5}, [10]),
        ([0.0] * 10 + [-1.0] * 4, {"scale": "difference", "least": 0.5}, [10]),
        ([0.0] * 10 + [1.0] * 4, {}, []),
        ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
         {"scale": "difference", "least": 0.5}, []),
    ],
)  # fmt: skip
def test_where_steps_are(values: Values, more: dict[str, Any], found: list[int]) -> None:
    assert [step.index for step in steps(values, **more)] == found


def test_a_night_in_between_leaves_the_date_open() -> None:
    (step,) = steps([*level(20, 10), 20.5, *level(21, 10)])
    assert step.index in {10, 11}
    assert (step.earliest, step.latest) == (10, 11)


CHANGES = [0.4 + each for each in LITTLE * 2] + [0.47 + each for each in LITTLE]
HALF = level(20, 20) + level(20.5, 20)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        # The machine becomes slow at 10, the code at 20.
        (series(level(20, 10) + level(30, 20), CHANGES), (20, "change", 0.4, 0.47, 0.05)),
        (series(level(20, 10) + level(30, 20)), (10, "value", 20.0, 30.0, 0.5)),
        (series(HALF, threshold=0.03), (20, "value", 20.0, 20.5, 0.025)),
        (series(HALF, threshold=0.06), None),
        (series([0.3] * 15, [0.0] * 10 + [0.05] * 5, scale="difference", threshold=0.02),
         (10, "change", 0.0, 0.05, 0.05)),
        (series([20.0] * 17, [None, *[0.0] * 10, None, *[0.1] * 5]),
         (12, "change", 0.0, 0.1, 0.1)),
        (series([]), None),
        (series([None] * 20), None),
    ],
)  # fmt: skip
def test_a_series_with_a_reference_has_the_steps_of_its_changes(
    given: Series, found: tuple[Any, ...] | None
) -> None:
    result = steps_of(given)
    if found is None:
        assert result == ()
        return
    (step,) = result
    assert (step.index, step.of) == found[:2]
    assert (step.before, step.after, step.change) == pytest.approx(found[2:], rel=3e-3, abs=1e-6)


def test_six_nights_with_a_value_are_searched() -> None:
    assert is_searched(series([1.0] * 6))
    assert is_searched(series([None] * 6, [0.1] * 6))
    assert not is_searched(series([1.0] * 5 + [None] * 9))


def test_steps_are_found_within_five_nights_and_seldom_where_there_are_none() -> None:
    source = random.Random(11)
    false, dated = 0, 0
    for _ in range(100):
        flat = noisy(source, 30, 0.009)
        false += len(steps(flat))
        moved = [each * (1.05 if at >= 25 else 1.0) for at, each in enumerate(flat)]
        dated += any(abs(step.index - 25) <= 1 for step in steps(moved))
    assert false <= 5
    assert dated >= 97
    year = noisy(source, 180, 0.01) + noisy(source, 90, 0.01, 1.05) + noisy(source, 95, 0.01, 0.9)
    found = [step.index for step in steps(year)]
    assert found == [pytest.approx(180, abs=1), pytest.approx(270, abs=1)]


values_of_nights = some.lists(
    some.one_of(some.none(), some.integers(1, 1000).map(float)), max_size=40
)


@given(values=values_of_nights)
def test_steps_lie_in_order_and_say_what_the_nights_say(values: list[float | None]) -> None:
    found = steps(values, scale="difference", least=1.0)
    assert [step.index for step in found] == sorted({step.index for step in found})
    ends = [0, *(step.index for step in found), len(values)]
    for step, (begin, end) in zip(found, zip(ends, ends[2:], strict=False), strict=True):
        before = [each for each in values[begin : step.index] if each is not None]
        after = [each for each in values[step.index : end] if each is not None]
        assert (step.before, step.after) == (statistics.median(before), statistics.median(after))
        assert step.change == step.after - step.before
        assert abs(step.change) >= 1.0
        assert min(len(before), len(after)) >= 3
        assert step.earliest <= step.index <= step.latest


@given(values=values_of_nights, times=some.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_of_values_does_not_matter(values: list[float | None], times: float) -> None:
    each = steps(values)
    other = steps([None if value is None else times * value for value in values])
    assert [step.index for step in each] == [step.index for step in other]
    for mine, theirs in zip(each, other, strict=True):
        assert theirs.change == pytest.approx(mine.change)
