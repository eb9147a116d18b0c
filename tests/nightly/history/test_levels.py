"""Where the code of each night lies: chains, anchors, and steps of chains."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.history.steps import Point, Series, levels, moves, steps_of

HALF = 0.004


def series(points: Sequence[Point], scale: str = "ratio") -> Series:
    kind = "difference" if scale == "difference" else "ratio"
    return Series("m", "p", "decode", "w", "step_p50", "ns", "lower", kind, points=tuple(points))


def point(
    at: int, change: float | None, commits: tuple[str, str] = ("", ""), half: float | None = HALF
) -> Point:
    """Make a night of which the candidate and its reference are known commits."""
    ends = (None, None) if change is None or half is None else (change - half, change + half)
    reference, commit = commits
    return Point(
        f"n-{at}", f"2026-11-{at + 1:02}", 1.0, 1.0, change, *ends, commit=commit,
        reference_commit=reference,
    )  # fmt: skip


def chain(changes: Sequence[float], half: float = HALF) -> list[Point]:
    """Make nights of which each measures the commit of the night before, as HEAD~1."""
    return [point(at, each, (f"c{at}", f"c{at + 1}"), half) for at, each in enumerate(changes)]


def test_what_each_night_hides_adds_up_along_a_reference_that_moves() -> None:
    slow = series(chain([0.02, 0.021, 0.022, 0.023, 0.024, 0.026]))
    found = levels(slow)
    whole = 1.02 * 1.021 * 1.022 * 1.023 * 1.024 * 1.026
    assert found.values[-1] == pytest.approx(math.log(whole))
    [step] = steps_of(slow)
    assert (step.of, step.change > 0.05) == ("change", True)


def test_the_doubt_of_a_chain_grows_with_the_root_of_its_length() -> None:
    found = levels(series(chain([0.0] * 9)))
    deviations = np.sqrt(np.diag(found.covariance))
    assert deviations == pytest.approx(deviations[0] * np.sqrt(np.arange(1, 10)), rel=1e-6)
    assert deviations[0] == pytest.approx(HALF / 1.96, rel=1e-3)
    last, before = np.eye(9)[8], np.eye(9)[7]
    assert found.total(last - before) == pytest.approx((0.0, deviations[0]), abs=1e-12)


def test_against_a_commit_that_stays_levels_are_the_changes_and_differences_are_no_ratios() -> None:
    nights = [point(at, 0.01 * at, ("base", "same")) for at in range(4)]
    found = levels(series(nights))
    assert np.expm1(found.values) == pytest.approx([0.0, 0.01, 0.02, 0.03])
    assert found.covariance[0, 1] == 0
    found = levels(series(chain([2.0, 3.0], 1.0), "difference"))
    assert found.values == pytest.approx([2.0, 5.0])
    assert levels(series([point(0, None)])).nights == ()
    assert not moves(series([point(0, None)]))


def test_an_anchor_ties_the_ends_of_a_chain() -> None:
    nights = series(chain([0.01] * 9))
    anchored = levels(nights, [replace(nights.points[8], change=0.0, low=-HALF, high=HALF,
                                       reference_commit="c0")])  # fmt: skip
    free = levels(nights)
    assert 0 < anchored.values[-1] < free.values[-1] / 5, "one distance weighs more than nine"
    assert anchored.covariance[-1, -1] < free.covariance[-1, -1] / 5
    other = levels(nights, [point(8, 0.0, ("elsewhere", "c99"))])
    assert other.values == pytest.approx(free.values), "what hangs together with nothing is nothing"


def test_two_ways_to_a_commit_are_weighed_by_their_doubt() -> None:
    twice = [*chain([0.0]), point(1, 0.03, ("c0", "c1"), HALF / 2), point(2, 0.0, ("c1", "c2"))]
    expected = 4 / 5 * math.log1p(0.03)
    assert levels(series(twice)).values == pytest.approx([expected] * 3, rel=0.02)


@given(some.permutations(range(6)))
def test_only_commits_make_the_chain(order: list[int]) -> None:
    whole = chain([0.02, -0.01, 0.03, 0.0, 0.01, 0.02])
    found = levels(series([whole[at] for at in order]))
    places = [float(found.values[order.index(at)]) for at in range(6)]
    links = [math.log1p(each) for each in (-0.01, 0.03, 0.0, 0.01, 0.02)]
    assert np.diff(places) == pytest.approx(links)


def test_what_is_not_connected_with_the_last_night_is_a_gap() -> None:
    nights = chain([0.02] * 5)
    assert levels(series([nights[0], nights[1], nights[4]])).nights == (2,)
    assert levels(series([nights[0], nights[2], nights[3]])).nights == (1, 2)
    gap = replace(nights[2], change=None, low=None, high=None)
    assert levels(series([*nights[:2], gap])).nights == (0, 1)


def test_files_that_are_no_commit_are_the_nights_own_and_no_link() -> None:
    nights = chain([0.02] * 3)
    dirty = replace(nights[1], commit="c2-dirty")
    assert levels(series([nights[0], dirty])).nights == (0, 1)
    assert levels(series([nights[0], dirty, nights[2]])).nights == (2,)


def test_a_circle_of_commits_is_solved_and_the_same_code_is_no_distance() -> None:
    circle = [*chain([0.02, 0.02]), point(2, -0.01, ("c2", "c0"))]
    found = levels(series(circle))
    assert np.isfinite(found.values).all()
    assert found.values[-1] == 0
    nights = [*chain([0.02]), point(1, 0.5, ("c1", "c1"))]
    assert levels(series(nights)).values == pytest.approx([math.log1p(0.02)] * 2)
    assert levels(series([point(0, 0.5, ("c1", "c1")), point(1, 0.1, ("c2", "c2"))])).nights == (1,)


def test_a_change_without_an_interval_says_next_to_nothing() -> None:
    nights = series([*chain([0.0] * 3), point(3, 0.5, ("c3", "c4"), None)])
    assert math.sqrt(levels(nights).covariance[-1, -1]) > 0.9


def test_nights_that_differ_more_than_their_pairs_show_are_less_certain() -> None:
    equal, scattered = chain([0.0] * 8, 0.001), chain([0.03, -0.03] * 4, 0.001)
    assert levels(series(equal)).covariance[-1, -1] < 1e-4
    assert levels(series(scattered)).covariance[-1, -1] > 8 * 0.02**2
    few = levels(series(scattered[:3])).covariance[-1, -1]
    assert few < 1e-5, "of three nothing is known"


def test_a_chain_of_equal_nights_wanders_and_has_no_step() -> None:
    found = 0
    for seed in range(100):
        source = random.Random(seed)
        nights = chain([source.gauss(0, 0.007) for _ in range(30)], half=0.0137)
        found += len(steps_of(series(nights)))
    assert found <= 1


def test_a_step_of_a_chain_and_one_against_a_commit_that_stays_are_found_alike() -> None:
    moving = steps_of(series(chain([0.0] * 5 + [0.06] + [0.0] * 4)))
    stays = steps_of(series([point(at, 0.06 * (at >= 5), ("base", f"c{at}")) for at in range(10)]))
    for found in (moving, stays):
        [step] = found
        assert (step.index, step.of, step.before) == (5, "change", pytest.approx(0.0, abs=1e-9))
        assert step.after == pytest.approx(0.06, abs=1e-6)
