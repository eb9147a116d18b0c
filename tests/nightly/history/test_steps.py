"""Change points over nights."""

import math
import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.compare.verdicts import Scale
from tracekit.nightly.history.levels import steps_of
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Point, Series, Step, steps

LITTLE = (0.002, -0.004, 0.0, 0.005, -0.001, -0.003, 0.004, 0.001, -0.005, 0.003)


def level(value: float, nights: int, start: int = 0) -> list[float]:
    """Make nights around a value that differ by half a percent."""
    return [value * (1 + LITTLE[(start + at) % len(LITTLE)]) for at in range(nights)]


def noisy(source: random.Random, nights: int, deviation: float, value: float = 1.0) -> list[float]:
    return [value * math.exp(source.gauss(0, deviation)) for _ in range(nights)]


def indices(values: Sequence[float | None], **more: object) -> list[int]:
    return [step.index for step in steps(values, **more)]  # pyright: ignore[reportArgumentType]


def series(
    values: Sequence[float | None],
    changes: Sequence[float | None] | None = None,
    *,
    scale: Scale = "ratio",
    threshold: float = 0.03,
) -> Series:
    found = changes or [None] * len(values)
    return Series(
        machine="mini",
        plan="paged",
        capture="decode",
        work="d1",
        metric="step_p50",
        unit="ns",
        better="lower",
        scale=scale,
        threshold=threshold,
        points=tuple(
            Point(f"night-{at}", f"2026-11-{at + 1:02}", value, 1.0, change, outcome=Outcome.OK)
            for at, (value, change) in enumerate(zip(values, found, strict=True))
        ),
    )


def test_a_level_has_no_step() -> None:
    assert steps(level(20e6, 30)) == ()


def test_a_step_is_dated_and_measured() -> None:
    (step,) = steps(level(20e6, 20) + level(21e6, 5))
    assert step.index == 20
    assert (step.earliest, step.latest) == (20, 20)
    assert step.before == pytest.approx(20e6, rel=0.002)
    assert step.after == pytest.approx(21e6, rel=0.002)
    assert step.change == pytest.approx(0.05, abs=0.003)
    assert step.low is not None
    assert step.high is not None
    assert 0.04 < step.low < step.change < step.high < 0.06
    assert step.of == "value"


def test_steps_up_and_down_again_are_two() -> None:
    found = steps(level(20, 10) + level(22, 6) + level(20, 10))
    assert [step.index for step in found] == [10, 16]
    assert found[0].change == pytest.approx(0.1, abs=0.01)
    assert found[1].change == pytest.approx(-0.0909, abs=0.01)


@pytest.mark.parametrize("nights", [0, 1, 2, 5])
def test_too_few_nights_have_no_step(nights: int) -> None:
    assert steps(level(20, nights)) == ()
    assert steps([20.0] * (nights // 2) + [40.0] * (nights - nights // 2)) == ()


def test_three_nights_on_each_side_are_enough_and_have_no_interval() -> None:
    (step,) = steps([20.0, 20.0, 20.0, 30.0, 30.0, 30.0])
    assert (step.index, step.change) == (3, pytest.approx(0.5))
    assert (step.low, step.high) == (None, None)


def test_two_slow_nights_are_not_yet_a_step_unless_they_are_very_slow() -> None:
    assert steps(level(20, 20) + level(20.6, 2)) == ()
    assert indices(level(20, 20) + level(20.6, 3)) == [20]
    (step,) = steps(level(20, 20) + level(22, 2))
    assert step.index == 19, "it takes three nights, and so is dated a night early"
    assert step.latest >= 20


@pytest.mark.parametrize("place", [0, 1, 10, 18, 19])
def test_an_odd_night_is_no_step(place: int) -> None:
    values = level(20, 20)
    values[place] = 60.0
    assert steps(values) == ()


def test_an_odd_night_hides_no_step() -> None:
    values = level(20, 20) + level(21, 6)
    values[5], values[22] = 10.0, 40.0
    assert indices(values) == [20]


def test_what_is_less_than_the_least_is_no_step() -> None:
    values = level(20, 20) + level(20.24, 20)
    assert steps(values, least=0.015) == ()
    assert indices(values, least=0.01) == [20]


def test_nights_without_a_value_are_gaps_and_are_counted() -> None:
    values: list[float | None] = [*level(20, 20), None, math.nan, 0.0, -3.0, *level(22, 5)]
    values[3] = None
    (step,) = steps(values)
    assert step.index == 24
    assert step.earliest == step.latest == 24
    assert steps([None] * 30) == ()


def test_differences_may_be_nought_or_less() -> None:
    values = [0.0] * 10 + [1.0] * 4
    (step,) = steps(values, scale="difference", least=0.5)
    assert (step.index, step.before, step.after, step.change) == (10, 0.0, 1.0, 1.0)
    falling = steps([-one for one in values], scale="difference", least=0.5)
    assert (falling[0].index, falling[0].change) == (10, -1.0)
    assert steps(values, scale="ratio") == (), "of zero there is no ratio"


def test_a_count_that_flickers_has_no_step() -> None:
    flickers = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert steps(flickers, scale="difference", least=0.5) == ()


def test_a_series_with_a_reference_is_looked_at_by_its_changes() -> None:
    slow_machine = level(20, 10) + level(30, 20)
    changes = [0.4 + one for one in LITTLE * 2] + [0.47 + one for one in LITTLE]
    (step,) = steps_of(series(slow_machine, changes))
    assert (step.index, step.of) == (20, "change")
    assert step.before == pytest.approx(0.4, abs=1e-3)
    assert step.after == pytest.approx(0.47, abs=1e-3)
    assert step.change == pytest.approx(0.05, abs=1e-3)


def test_a_series_without_one_is_looked_at_by_its_values() -> None:
    (step,) = steps_of(series(level(20, 10) + level(30, 20)))
    assert (step.index, step.of) == (10, "value")


def test_half_the_threshold_is_a_step() -> None:
    values = level(20, 20) + level(20.5, 20)
    assert [step.index for step in steps_of(series(values, threshold=0.03))] == [20]
    assert steps_of(series(values, threshold=0.06)) == ()


def test_a_series_of_differences_takes_them_as_they_are() -> None:
    changes = [0.0] * 10 + [0.05] * 5
    (step,) = steps_of(series([0.3] * 15, changes, scale="difference", threshold=0.02))
    assert (step.index, step.before, step.after, step.change) == (10, 0.0, 0.05, 0.05)


def test_nights_without_a_change_are_gaps() -> None:
    changes: list[float | None] = [None, *([0.0] * 10), None, *([0.1] * 5)]
    (step,) = steps_of(series([20.0] * 17, changes))
    assert step.index == 12


def test_an_empty_series_has_no_step() -> None:
    assert steps_of(series([])) == ()
    assert steps_of(series([None] * 20)) == ()


def test_a_night_in_between_leaves_the_date_open() -> None:
    (step,) = steps([*level(20, 10), 20.5, *level(21, 10)])
    assert step.index in {10, 11}
    assert (step.earliest, step.latest) == (10, 11)


def test_steps_are_found_within_five_nights_and_seldom_where_there_are_none() -> None:
    source = random.Random(11)
    false, dated = 0, 0
    for _ in range(100):
        flat = noisy(source, 30, 0.009)
        false += len(steps(flat))
        moved = [one * (1.05 if at >= 25 else 1.0) for at, one in enumerate(flat)]
        dated += any(abs(step.index - 25) <= 1 for step in steps(moved))
    assert false <= 5
    assert dated >= 97


def test_a_year_of_nights_is_looked_through() -> None:
    source = random.Random(4)
    values = noisy(source, 180, 0.01) + noisy(source, 90, 0.01, 1.05) + noisy(source, 95, 0.01, 0.9)
    found = [step.index for step in steps(values)]
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
        before = [one for one in values[begin : step.index] if one is not None]
        after = [one for one in values[step.index : end] if one is not None]
        assert (step.before, step.after) == (statistics.median(before), statistics.median(after))
        assert step.change == step.after - step.before
        assert abs(step.change) >= 1.0
        assert min(len(before), len(after)) >= 3
        assert step.earliest <= step.index <= step.latest


@given(values=values_of_nights, times=some.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_of_values_does_not_matter(values: list[float | None], times: float) -> None:
    one = steps(values)
    other = steps([None if value is None else times * value for value in values])
    assert [step.index for step in one] == [step.index for step in other]
    for mine, theirs in zip(one, other, strict=True):
        assert theirs.change == pytest.approx(mine.change)


@given(values=values_of_nights)
def test_the_same_nights_have_the_same_steps(values: list[float | None]) -> None:
    assert steps(values) == steps(values)
    assert all(isinstance(step, Step) for step in steps(values))
