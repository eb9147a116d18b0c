"""Change points over nights, and where the code of each night lies: chains and anchors."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.history.steps import (
    Point,
    Series,
    anchors_of,
    is_searched,
    levels,
    moves,
    steps_of,
)

LITTLE = (0.002, -0.004, 0.0, 0.005, -0.001, -0.003, 0.004, 0.001, -0.005, 0.003)
HALF = 0.004
Values = Sequence[float | None]


def series(points: Sequence[Point], **facts: Any) -> Series:
    default_series = Series(
        "m", "p", "decode", "w", "step_p50", "ns", "lower", points=tuple(points)
    )
    return replace(default_series, **facts)


def level(value: float, nights: int) -> list[float]:
    return [value * (1 + LITTLE[index % len(LITTLE)]) for index in range(nights)]


def make_valued_series(values: Values, changes: Values | None = None, **facts: Any) -> Series:
    pairs = zip(values, changes or [None] * len(values), strict=True)
    points = [
        Point(f"night-{index}", f"2026-11-{index + 1:02}", value, 1.0, change)
        for index, (value, change) in enumerate(pairs)
    ]
    return series(points, **facts)


def test_six_nights_with_a_value_are_searched() -> None:
    histories = [
        make_valued_series([1.0] * 6),
        make_valued_series([None] * 6, [0.1] * 6),
        make_valued_series([1.0] * 5 + [None] * 9),
    ]
    assert [is_searched(history) for history in histories] == [True, True, False]


CHANGES = [0.4 + deviation for deviation in LITTLE * 2] + [0.47 + each for each in LITTLE]
RISEN = level(20, 20) + level(20.5, 20)


def test_a_series_with_a_reference_has_the_steps_of_its_changes() -> None:
    for nights, expected_step in (
        # The machine becomes slow at 10, the code at 20.
        (make_valued_series(level(20, 10) + level(30, 20), CHANGES),
         (20, "change", 0.4, 0.47, 0.05)),
        (make_valued_series(level(20, 10) + level(30, 20)), (10, "value", 20.0, 30.0, 0.5)),
        (make_valued_series(RISEN, threshold=0.03), (20, "value", 20.0, 20.5, 0.025)),
        (make_valued_series(RISEN, threshold=0.06), None),
        (make_valued_series(
            [0.3] * 15, [0.0] * 10 + [0.05] * 5, scale="difference", threshold=0.02),
         (10, "change", 0.0, 0.05, 0.05)),
        (make_valued_series([20.0] * 17, [None, *[0.0] * 10, None, *[0.1] * 5]),
         (12, "change", 0.0, 0.1, 0.1)),
        (make_valued_series([]), None),
        (make_valued_series([None] * 20), None),
    ):  # fmt: skip
        step_facts = [
            (step.index, step.basis, step.level_before, step.level_after, step.change)
            for step in steps_of(nights)
        ]
        numbers = [
            pytest.approx(number, rel=3e-3, abs=1e-6) for number in (expected_step or ())[2:]
        ]
        assert step_facts == ([(*expected_step[:2], *numbers)] if expected_step else []), nights


def point(
    night_number: int,
    change: float | None,
    reference: str = "",
    commit: str = "",
    half: float | None = HALF,
) -> Point:
    """Make a night of which the candidate and its reference are known commits."""
    ends = (None, None) if change is None or half is None else (change - half, change + half)
    return Point(
        f"n-{night_number}", f"2026-11-{night_number + 1:02}", 1.0, 1.0, change, *ends,
        commit=commit,
        reference_commit=reference,
    )  # fmt: skip


def chain(changes: Sequence[float], half: float = HALF) -> list[Point]:
    """Make nights of which each measures the commit of the night before, as HEAD~1."""
    return [
        point(index, change, f"c{index}", f"c{index + 1}", half)
        for index, change in enumerate(changes)
    ]


def test_the_doubt_of_a_chain_grows_with_the_root_of_its_length() -> None:
    night_levels = levels(series(chain([0.0] * 9)))
    deviations = np.sqrt(np.diag(night_levels.covariance))
    assert deviations == pytest.approx(deviations[0] * np.sqrt(np.arange(1, 10)), rel=1e-6)
    assert deviations[0] == pytest.approx(HALF / 1.96, rel=1e-3)
    last_unit, previous_unit = np.eye(9)[8], np.eye(9)[7]
    assert night_levels.total(last_unit - previous_unit) == pytest.approx(
        (0.0, deviations[0]), abs=1e-12
    )


def test_levels_against_a_fixed_commit_are_the_changes_and_differences_have_no_ratio() -> None:
    night_levels = levels(
        series([point(index, 0.01 * index, "base", "same") for index in range(4)])
    )
    assert np.expm1(night_levels.values) == pytest.approx([0.0, 0.01, 0.02, 0.03])
    assert night_levels.covariance.shape == (4,), "nights are independent"
    night_levels = levels(series(chain([2.0, 3.0], 1.0), scale="difference"))
    assert night_levels.values == pytest.approx([2.0, 5.0])
    assert levels(series([point(0, None)])).nights == ()
    assert not moves(series([point(0, None)]))


def test_an_anchor_ties_the_ends_of_a_chain() -> None:
    nights = series(chain([0.01] * 9))
    anchor_series = series([point(8, 0.0, "c0", "c9")], capture="decode-anchor")
    other_series = [
        replace(anchor_series, **{name: "other"})
        for name in ("machine", "plan", "capture", "metric")
    ]
    assert anchors_of(nights, [*other_series, anchor_series]) == anchor_series.points
    free_levels, anchored = levels(nights), levels(nights, anchor_series.points)
    assert 0 < anchored.values[-1] < free_levels.values[-1] / 5, (
        "one distance weighs more than nine"
    )
    assert anchored.covariance[-1, -1] < free_levels.covariance[-1, -1] / 5
    other_levels = levels(nights, [point(8, 0.0, "elsewhere", "c99")])
    assert other_levels.values == pytest.approx(free_levels.values), (
        "what hangs together with nothing is nothing"
    )


@given(some.permutations(range(6)))
def test_only_commits_make_the_chain(order: list[int]) -> None:
    whole_chain = chain([0.02, -0.01, 0.03, 0.0, 0.01, 0.02])
    night_levels = levels(series([whole_chain[index] for index in order]))
    places = [float(night_levels.values[order.index(index)]) for index in range(6)]
    links = [math.log1p(change) for change in (-0.01, 0.03, 0.0, 0.01, 0.02)]
    assert np.diff(places) == pytest.approx(links)


NIGHTS = chain([0.02] * 5)
UNKNOWN = replace(NIGHTS[2], change=None, low=None, high=None)
DIRTY = replace(NIGHTS[1], commit="c2-dirty")


def test_commits_connect_nights_with_the_last_one() -> None:
    for points, connected in (
        # What is not connected with the last night is a gap.
        ([NIGHTS[0], NIGHTS[1], NIGHTS[4]], (2,)),
        ([NIGHTS[0], NIGHTS[2], NIGHTS[3]], (1, 2)),
        ([*NIGHTS[:2], UNKNOWN], (0, 1)),
        # Files that are no commit are the night's own, and no link.
        ([NIGHTS[0], DIRTY], (0, 1)),
        ([NIGHTS[0], DIRTY, NIGHTS[2]], (2,)),
        ([point(0, 0.5, "c1", "c1"), point(1, 0.1, "c2", "c2")], (1,)),
        ([point(0, 0.5, "", "c1"), point(1, 0.1, "", "c8"), NIGHTS[1]], (0, 2)),
    ):
        assert levels(series(points)).nights == connected, points


def test_two_ways_to_a_commit_are_weighed_and_a_circle_of_commits_is_solved() -> None:
    twice = [*chain([0.0]), point(1, 0.03, "c0", "c1", HALF / 2), point(2, 0.0, "c1", "c2")]
    expected = 4 / 5 * math.log1p(0.03)
    assert levels(series(twice)).values == pytest.approx([expected] * 3, rel=0.02)
    night_levels = levels(series([*chain([0.02, 0.02]), point(2, -0.01, "c2", "c0")]))
    assert np.isfinite(night_levels.values).all()
    assert night_levels.values[-1] == 0
    dirty = [*chain([0.0]), *(point(index, 0.1 * index, "c1", "c2-dirty") for index in (1, 2))]
    assert np.expm1(levels(series(dirty)).values) == pytest.approx([0.0, 0.1, 0.2])
    nights = [*chain([0.02]), point(1, 0.5, "c1", "c1")]
    assert levels(series(nights)).values == pytest.approx([math.log1p(0.02)] * 2)


def test_nights_that_differ_more_than_their_pairs_show_are_less_certain() -> None:
    def variance(points: list[Point]) -> float:
        return float(levels(series(points)).covariance[-1, -1])

    assert variance(chain([0.0] * 8, 0.001)) < 1e-4
    scattered = chain([0.03, -0.03] * 4, 0.001)
    assert variance(scattered) > 8 * 0.02**2
    assert variance(chain([0.03, 0.0, -0.03], 0.001)) < 1e-5, "of three nothing is known"
    without = [*chain([0.0] * 3), point(3, 0.5, "c3", "c4", None)]
    assert variance(without) > 0.9**2, "a change without an interval says next to nothing"


def test_a_chain_of_equal_nights_wanders_and_has_no_step() -> None:
    step_count = 0
    for seed in range(100):
        source = random.Random(seed)
        nights = chain([source.gauss(0, 0.007) for _ in range(30)], half=0.0137)
        step_count += len(steps_of(series(nights)))
    assert step_count <= 1


def test_a_step_of_a_chain_and_one_against_a_commit_that_stays_are_found_alike() -> None:
    moving = steps_of(series(chain([0.0] * 5 + [0.06] + [0.0] * 4)))
    stays = steps_of(
        series([point(index, 0.06 * (index >= 5), "base", f"c{index}") for index in range(10)])
    )
    for [step] in (moving, stays):
        assert (step.index, step.basis, step.level_before) == (
            5,
            "change",
            pytest.approx(0.0, abs=1e-9),
        )
        assert step.level_after == pytest.approx(0.06, abs=1e-6)
