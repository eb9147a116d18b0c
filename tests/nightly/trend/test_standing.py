"""How things stand."""

from typing import Any

import pytest

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import State, courses_of
from tracekit.nightly.trend.standing import (
    lost_of,
    stale_of,
    stand_of,
    tally_of,
    turns_of,
    verdict_of,
)

NOW = "2026-11-05T08:00:00+00:00"


def verdict(*nights: Any) -> tuple[str, str, str]:
    return verdict_of([stand_of(one, NOW) for one in courses_of([], nights, [], [])], NOW)


def test_a_regression_comes_before_all_else_and_says_why(made: Any) -> None:
    entries = (
        made.entry(Outcome.FAILED, "sdpa", reason="It broke."),
        made.entry(Outcome.REGRESSION, reason="step_p50 is 5.2 % slower."),
    )
    assert verdict(made.night(5, *entries)) == (
        "error",
        "▲ Regression",
        "paged in the night of 5 Nov 2026 (today): step_p50 is 5.2 % slower.",
    )


@pytest.mark.parametrize(
    ("outcome", "tone", "sign"),
    [
        (Outcome.FAILED, "warning", "✕ Failed"),
        (Outcome.INCONCLUSIVE, "unclear", "? Inconclusive"),
        (None, "plain", "… Unfinished"),
    ],
)
def test_a_night_that_says_nothing_is_not_called_good(
    made: Any, outcome: Outcome | None, tone: str, sign: str
) -> None:
    night = made.night(1, made.entry(outcome))
    assert verdict(night) == (tone, sign, "The night of 1 Nov 2026 (4 days ago), in paged.")


def test_without_nights_there_is_nothing_yet() -> None:
    assert verdict()[:2] == ("unclear", "? Nothing yet")


def test_a_capture_says_what_decided_beyond_what_was_expected(made: Any) -> None:
    judged = (
        made.judged(change=-0.047, low=-0.05, high=-0.04),
        made.judged(candidate=2e6),
        made.replace(made.judged(change=0.5), gated=False),
    )
    night = made.night(4, made.entry(judged=judged, reason="Faster."))
    stand = stand_of(made.course([night]), NOW)
    assert stand.deciding == ("Step p50 -4.7 % [-5.0 % … -4.0 %]", "Step p50 2 ms, not compared")
    assert (stand.state.sign, stand.state.tone, stand.when) == (
        "✓",
        "good",
        "4 Nov 2026, yesterday",
    )


def test_the_last_nights_are_there_missed_ones_included(made: Any) -> None:
    nights = [made.night(day, made.entry()) for day in (1, 2, 4)]
    course = made.course(nights, missed=[Missed("p", "m", made.at(5), "")])
    stand = stand_of(course, NOW)
    assert stand.lately == (State.OK, State.OK, State.OK, State.MISSED)
    assert stand.when == "4 Nov 2026, yesterday"


def test_change_points_come_latest_first_with_what_else_changed(made: Any) -> None:
    held = [
        made.night(day, made.entry(), environment={"mlx": "1" if day < 3 else "2"})
        for day in range(1, 6)
    ]
    points = [made.point(day, 1e6, change=0.0, reference=1e6) for day in range(1, 6)]
    series = made.series(*points)
    followed = made.series(*points, metric="gpu_idle_ratio", unit="ratio", gated=False)
    course = made.course(held, series, followed)
    steps = [Step(1, 1e6, 2e6, 1.0), Step(2, 0.0, 0.05, 0.05, earliest=1, latest=3, of="change")]
    turns = turns_of([(course, followed, steps[1:]), (course, series, steps)])
    assert [(one.at[8:10], one.series.metric, one.words, one.way) for one in turns] == [
        ("03", "step_p50", "+5.0 %", "worse"),
        ("03", "gpu_idle_ratio", "+5.0 %", "worse"),
        ("02", "step_p50", "+100.0 %", "worse"),
    ]
    assert [(one.levels, one.doubt, one.with_it) for one in turns[::2]] == [
        ("0.0 % → +5.0 % from the reference", "2 Nov 2026 to 4 Nov 2026", "MLX 1 → 2"),
        ("1 ms → 2 ms", "", ""),
    ]


def test_nothing_that_did_not_count_is_left_out(made: Any) -> None:
    nights = [
        made.night(1, made.entry(Outcome.FAILED, reason="It broke.")),
        made.night(2, made.entry(Outcome.INCONCLUSIVE, reason="Hot."), made.entry(capture="b")),
        made.night(3, outcome=Outcome.FAILED, reason="No plan."),
        made.night(4, made.entry(), partial=True),
        made.night(5, made.entry(None)),
        made.night(6, made.entry()),
    ]
    missed = [Missed("p", "m", made.at(7), "")]
    lost = lost_of(nights, missed)
    assert [(one.at[8:10], one.what, one.state.value, one.reason) for one in lost] == [
        ("07", "p", "missed", "it did not run"),
        ("05", "p: paged", "unfinished", ""),
        ("04", "p", "not run", "it ended before all of its captures were measured"),
        ("03", "p", "failed", "No plan."),
        ("02", "p: paged", "inconclusive", "Hot."),
        ("01", "p: paged", "failed", "It broke."),
    ]  # fmt: skip


def test_nights_are_counted_by_how_they_ended(made: Any) -> None:
    nights = [made.night(day, outcome=one) for day, one in enumerate([*Outcome, None], 1)]
    told = [words for words, _ in tally_of(nights, [Missed("p", "m", made.at(9), "")])]
    assert told == [
        "6 nights",
        "✓ 1 ok",
        "▲ 1 with a regression",
        "? 1 inconclusive",
        "◇ 1 unjudged",
        "✕ 1 failed",
        "… 1 not ended",
        "▯ 1 missed",
    ]
    assert [words for words, _ in tally_of([], [])] == ["0 nights"]


@pytest.mark.parametrize(
    ("last", "due", "words"),
    [
        pytest.param(5, (), "", id="today"),
        pytest.param(4, (1,), "", id="yesterday"),
        pytest.param(
            4, (5,), "No night has run since 4 Nov 2026, yesterday; 1 was missed.", id="one"
        ),
        pytest.param(
            2, (3, 4, 5), "No night has run since 2 Nov 2026, 3 days ago; 3 were missed.", id="more"
        ),
        pytest.param(1, (), "No night has run since 1 Nov 2026, 4 days ago.", id="unknown"),
    ],
)
def test_a_history_that_has_stopped_says_so(
    made: Any, last: int, due: tuple[int, ...], words: str
) -> None:
    nights = [made.night(day, made.entry()) for day in range(1, last + 1)]
    missed = [Missed("p", "m", made.at(day), "") for day in due]
    assert stale_of(nights, missed, NOW) == words
    assert stale_of([], missed, NOW) == ""
