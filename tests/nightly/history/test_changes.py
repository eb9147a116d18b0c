"""Steps and drifts in values of one night each: where they are, and what they are called."""

import math
import random
import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import made_trends
from tracekit.nightly.history.changes import steps, trend

LITTLE = (0.002, -0.004, 0.0, 0.005, -0.001, -0.003, 0.004, 0.001, -0.005, 0.003)
Values = Sequence[float | None]


def level(value: float, nights: int) -> list[float]:
    return [value * (1 + LITTLE[index % len(LITTLE)]) for index in range(nights)]


def odd(values: list[float], **places: float) -> list[float]:
    return [places.get(f"n{index}", value) for index, value in enumerate(values)]


def noisy(source: random.Random, nights: int, deviation: float, value: float = 1.0) -> list[float]:
    return [value * math.exp(source.gauss(0, deviation)) for _ in range(nights)]


def test_a_step_is_dated_and_measured() -> None:
    (step,) = steps(level(20e6, 20) + level(21e6, 5))
    assert (step.index, step.earliest, step.latest, step.basis) == (20, 20, 20, "value")
    assert (step.level_before, step.level_after) == (
        pytest.approx(20e6, 0.002),
        pytest.approx(21e6, 0.002),
    )
    assert step.change == pytest.approx(0.05, abs=0.003)
    assert 0.04 < (step.lower_bound or 0.0) < step.change < (step.upper_bound or 0.0) < 0.06
    (step,) = steps([20.0, 20.0, 20.0, 30.0, 30.0, 30.0])
    assert (step.index, step.change) == (3, pytest.approx(0.5))
    assert (step.lower_bound, step.upper_bound) == (None, None), (
        "three nights a side have no interval"
    )
    (step,) = steps([None, *level(20, 10), 20.5, *level(21, 10)])
    assert step.index in {11, 12}
    assert (step.earliest, step.latest) == (11, 12), "a night in between leaves the date open"


GAPS = [*odd(level(20, 20), n3=math.nan), math.nan, math.inf, 0.0, -3.0, *level(22, 5)]
BY_DIFFERENCE: dict[str, Any] = {"scale": "difference", "min_change": 0.5}


def test_where_steps_are(subtests: pytest.Subtests) -> None:
    for values, more, expected_steps in (
        ([], {}, []),
        ([None] * 30, {}, []),
        (level(20, 30), {}, []),
        (level(20, 10) + level(22, 6) + level(20, 10), {}, [10, 16]),
        ([20.0] * 2 + [40.0] * 3, {}, []),  # too few nights
        (level(20, 20) + level(20.6, 2), {}, []),
        (level(20, 20) + level(20.6, 3), {}, [20]),
        (level(20, 20) + level(22, 2), {}, [19]),  # it takes three nights: a night early
        *[(odd(level(20, 20), **{f"n{index}": 60.0}), {}, []) for index in (0, 1, 10, 18, 19)],
        (odd(level(20, 20) + level(21, 6), n5=10.0, n22=40.0), {}, [20]),
        (level(20, 20) + level(20.24, 20), {"min_change": 0.015}, []),
        (level(20, 20) + level(20.24, 20), {"min_change": 0.01}, [20]),
        (level(20, 10) + level(20.24, 10) + level(22, 10), {"min_change": 0.015}, [20]),
        (GAPS, {}, [24]),  # what is no number, or has no ratio, is a gap and is counted
        ([0.0] * 10 + [1.0] * 4, BY_DIFFERENCE, [10]),
        ([0.0] * 10 + [0.5] * 4, BY_DIFFERENCE, [10]),  # by exactly as much as matters
        ([0.0] * 10 + [-1.0] * 4, BY_DIFFERENCE, [10]),
        ([0.0] * 10 + [1.0] * 4, {}, []),
        ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0], BY_DIFFERENCE, []),
    ):
        with subtests.test(values=values, more=more):
            assert [step.index for step in steps(values, **more)] == expected_steps


def test_steps_are_found_within_five_nights_and_seldom_without_cause() -> None:
    source = random.Random(11)
    false, dated = 0, 0
    for _ in range(100):
        flat = noisy(source, 30, 0.009)
        false += len(steps(flat))
        moved = [value * (1.05 if index >= 25 else 1.0) for index, value in enumerate(flat)]
        dated += any(abs(step.index - 25) <= 1 for step in steps(moved))
    assert false <= 5
    assert dated >= 97
    year = noisy(source, 180, 0.01) + noisy(source, 90, 0.01, 1.05) + noisy(source, 95, 0.01, 0.9)
    step_indices = [step.index for step in steps(year)]
    assert step_indices == [pytest.approx(180, abs=1), pytest.approx(270, abs=1)]


# The flow of the Nile at Aswan, 1871 to 1970, in 10^8 m^3. G. W. Cobb, The problem of the Nile,
# Biometrika 65 (1978): it fell once, after 1898, and neither rose nor fell before or since.
NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100
1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824
702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010
771 676 649 846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020 906
901 1170 912 746 919 718 714 740
"""
# Carbon dioxide on Mauna Loa, yearly means of 1959 to 2023 in ppm, by NOAA: it rises each year.
CARBON_DIOXIDE = """
315.98 316.91 317.64 318.45 318.99 319.62 320.04 321.37 322.18 323.05 324.62 325.68 326.32 327.46
329.68 330.19 331.12 332.03 333.84 335.41 336.84 338.76 340.12 341.48 343.15 344.85 346.35 347.61
349.31 351.69 353.20 354.45 355.70 356.54 357.21 358.96 360.97 362.74 363.88 366.84 368.54 369.71
371.32 373.45 375.98 377.70 379.98 382.09 384.02 385.83 387.64 390.10 391.85 394.06 396.74 398.81
401.01 404.41 406.76 408.72 411.65 414.21 416.41 418.53 421.08
"""


def test_the_nile_fell_once_and_carbon_dioxide_drifts() -> None:
    changes = trend([float(value) for value in NILE.split()])
    [fall] = changes.steps
    assert 1871 + fall.earliest <= 1899 <= 1871 + fall.latest
    assert -0.3 < fall.change < -0.2
    assert changes.ramps == ()
    changes = trend(
        [float(value) for value in CARBON_DIOXIDE.split()], scale="difference", min_change=1.0
    )
    [rise] = changes.ramps
    assert (rise.first_night, rise.last_night, changes.steps) == (0, 64, ())
    assert 1.5 < rise.rate < 1.8, "ppm a year"


RISING = [1.01**night for night in range(30)]


def test_a_drift_is_one_and_has_a_range_and_a_rate(subtests: pytest.Subtests) -> None:
    bent = [1.0] * 10 + [1.023**night for night in range(1, 7)] + [1.023**6] * 10
    stepped = [value * (1.2 if index >= 15 else 1.0) for index, value in enumerate(RISING)]
    gaps: Values = [None, *RISING[:20], None, math.nan, *RISING[20:]]
    for name, values, drifts, dates in (
        ("all nights", RISING, [(0, 29, 0.01)], []),
        ("a fall", RISING[::-1], [(0, 29, 1 / 1.01 - 1)], []),
        ("between levels", bent, [(10, 15, 0.023)], []),
        ("with a step", stepped, [(0, 14, 0.01), (15, 29, 0.01)], [15]),
        ("with an odd night", [2.0 if index == 12 else value for index, value in enumerate(RISING)],
         [(0, 29, 0.01)], []),
        ("with gaps", gaps, [(1, 32, 0.01)], []),
        ("too little", [1.0003**night for night in range(30)], [], []),
    ):  # fmt: skip
        with subtests.test(name):
            changes = trend(values)
            assert [(ramp.first_night, ramp.last_night) for ramp in changes.ramps] == [
                (first_night, last_night) for first_night, last_night, _ in drifts
            ]
            rates = [rate for _, _, rate in drifts]
            assert [ramp.rate for ramp in changes.ramps] == pytest.approx(rates, rel=0.02)
            assert [step.index for step in changes.steps] == dates


def test_a_step_is_measured_without_its_drift() -> None:
    [step] = steps([value * (1.2 if index >= 15 else 1.0) for index, value in enumerate(RISING)])
    assert step.change == pytest.approx(0.2, abs=0.012)
    assert (step.earliest, step.latest) == (15, 15)


@pytest.mark.parametrize("nights", [299, 301, 900])
def test_a_long_history_is_searched_for_long_and_short_drifts(nights: int) -> None:
    source = random.Random(nights)
    noise = noisy(source, nights, 0.004)
    long = trend([value * math.exp(0.4 * index / nights) for index, value in enumerate(noise)])
    [drift] = long.ramps
    assert long.steps == ()
    assert drift.last_night - drift.first_night > 0.97 * nights
    begin = nights - 60
    short = trend(
        [
            value * math.exp(0.02 * min(max(index - begin, 0), 8))
            for index, value in enumerate(noise)
        ]
    )
    [drift] = short.ramps
    assert short.steps == ()
    assert (drift.first_night, drift.last_night) == pytest.approx((begin + 1, begin + 8), abs=2)
    date = nights // 3
    [step] = steps([value * (1.05 if index >= date else 1.0) for index, value in enumerate(noise)])
    assert step.index == pytest.approx(date, abs=1)


@pytest.mark.parametrize("deviation", [0.002, 0.005])
def test_a_drift_that_ends_a_step_back_and_a_short_step_are_all_named(deviation: float) -> None:
    """Where many nights change, their noise is not taken for as much."""
    drifting = [1.03**night for night in range(1, 7)]
    levels = [1.0] * 6 + drifting + [1.03**6] * 4 + [1.0] * 4 + [1.08] * 4 + [1.0] * 6
    source = random.Random(1)
    changes = trend([value * math.exp(source.gauss(0, deviation)) for value in levels])
    assert [step.index for step in changes.steps] == [16, 20, 24]
    [ramp] = changes.ramps
    assert (ramp.first_night, ramp.last_night) == pytest.approx((6, 11), abs=1)
    assert ramp.rate == pytest.approx(0.03, abs=0.005)


@pytest.mark.parametrize("kind", made_trends.KINDS)
def test_changes_are_named_rightly(kind: str) -> None:
    score = made_trends.score(kind, seed=2, count=20)
    assert score.named_count >= 18
    assert score.stepped <= 2


@pytest.mark.campaign
@pytest.mark.parametrize("kind", made_trends.KINDS)
def test_changes_are_named_rightly_in_most_of_many(kind: str) -> None:
    score = made_trends.score(kind, seed=1, count=1000)
    assert score.named_count >= 950
    assert score.stepped <= 50


numbers = some.integers(1, 1000).map(float)
# Values drawn one by one seldom have a step.
in_levels = some.lists(some.tuples(numbers, some.integers(1, 12)), max_size=4).map(
    lambda levels: [value for value, nights in levels for _ in range(nights)]
)
values_of_nights = some.lists(some.one_of(some.none(), numbers), max_size=40) | in_levels


@given(values=values_of_nights)
def test_steps_are_ordered_and_equal_the_nights_changes(values: list[float | None]) -> None:
    changes = trend(values, scale="difference", min_change=1.0)
    found_steps = changes.steps
    assert [step.index for step in found_steps] == sorted({step.index for step in found_steps})
    for ramp in changes.ramps:
        assert 0 <= ramp.first_night < ramp.last_night < len(values)
        assert ramp.change == pytest.approx(ramp.level_after - ramp.level_before)
        assert abs(ramp.change) >= 1.0
        assert ramp.rate * ramp.change > 0
    if changes.ramps:
        return  # levels beside a drift are those of its line
    ends = [0, *(step.index for step in found_steps), len(values)]
    for step, (begin, end) in zip(found_steps, zip(ends, ends[2:], strict=False), strict=True):
        values_before = [value for value in values[begin : step.index] if value is not None]
        values_after = [value for value in values[step.index : end] if value is not None]
        assert (step.level_before, step.level_after) == (
            statistics.median(values_before),
            statistics.median(values_after),
        )
        assert step.change == step.level_after - step.level_before
        assert abs(step.change) >= 1.0
        assert min(len(values_before), len(values_after)) >= 3, step
        assert step.earliest <= step.index <= step.latest


@given(values=values_of_nights, times=some.sampled_from([0.25, 4.0, 1024.0]))
def test_the_unit_of_values_does_not_matter(values: list[float | None], times: float) -> None:
    unscaled_steps = steps(values)
    scaled_steps = steps([None if value is None else times * value for value in values])
    assert [step.index for step in unscaled_steps] == [step.index for step in scaled_steps]
    assert [step.change for step in scaled_steps] == pytest.approx(
        [step.change for step in unscaled_steps]
    )
