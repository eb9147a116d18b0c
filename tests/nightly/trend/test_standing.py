"""How things stand."""

from typing import Any

import pytest

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import courses_of
from tracekit.nightly.trend.standing import (
    deciding_words,
    lost_of,
    stale_of,
    tally_of,
    turns_of,
    verdict_of,
)

NOW = "2026-11-05T08:00:00+00:00"


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([Outcome.FAILED, Outcome.REGRESSION, Outcome.OK],
         ("error", "▲ Regression", "c1 in the night of 4 Nov 2026 (yesterday): as it is.")),
        ([Outcome.FAILED, Outcome.INCONCLUSIVE],
         ("warning", "✕ Failed", "c0 in the night of 4 Nov 2026 (yesterday): as it is.")),
        ([Outcome.INCONCLUSIVE, None, Outcome.OK, Outcome.INCONCLUSIVE],
         ("unclear", "? Inconclusive",
          "c0, c3 in the night of 4 Nov 2026 (yesterday): as it is.")),
        ([None, Outcome.OK],
         ("plain", "… Unfinished", "c0 in the night of 4 Nov 2026 (yesterday): as it is.")),
        ([Outcome.OK, Outcome.UNJUDGED],
         ("good", "✓ OK",
          "1 capture: nothing became worse than allowed in the night of 4 Nov 2026 (yesterday).")),
        ([], ("unclear", "? Nothing yet", "No capture has been measured in any night.")),
    ],
)  # fmt: skip
def test_the_page_begins_with_the_worst(
    made: Any, outcomes: list[Outcome | None], verdict: tuple[str, str, str]
) -> None:
    entries = [
        made.entry(one, f"c{place}", reason="as it is.") for place, one in enumerate(outcomes)
    ]
    assert verdict_of(courses_of([], [made.night(4, *entries)], [], []), NOW) == verdict


def test_a_capture_says_what_decided_beyond_what_was_expected(made: Any) -> None:
    change = made.judged(change=-0.047, low=-0.05, high=-0.04)
    assert deciding_words(change) == "Step p50 -4.7 % [-5.0 % … -4.0 %]"
    assert deciding_words(made.judged(candidate=2e6)) == "Step p50 2 ms, not compared"


def test_a_change_point_says_how_surely_it_is_dated_and_what_else_changed(made: Any) -> None:
    nights = [
        made.night(day, made.entry(), environment={"mlx": "1" if day < 3 else "2"})
        for day in range(1, 6)
    ]
    series = made.series(*(made.point(day, 1e6) for day in range(1, 6)))
    steps = [
        Step(1, 1e6, 2e6, 1.0, earliest=1, latest=1),
        Step(2, 0.0, -0.05, -0.05, earliest=1, latest=3, of="change"),
    ]
    course = made.course(nights, series)
    first, second = turns_of(course, series, steps)
    assert (first.at, first.change, first.tone) == (made.at(2), "+100.0 %, worse", "error")
    assert (first.levels, first.doubt, first.with_it) == ("1 ms → 2 ms", "", "")
    assert (second.at, second.change, second.tone) == (made.at(3), "-5.0 %, better", "good")
    assert second.levels == "0.0 % → -5.0 % from the reference"
    assert (second.doubt, second.with_it) == ("2 Nov 2026 to 4 Nov 2026", "mlx 1 → 2")
    neither = made.replace(series, better="neither")
    assert [one.change for one in turns_of(course, neither, steps[:1])] == ["+100.0 %"]


def test_nothing_that_did_not_count_is_left_out(made: Any) -> None:
    nights = [
        made.night(1, made.entry(Outcome.FAILED, reason="It broke.")),
        made.night(2, made.entry(Outcome.INCONCLUSIVE, reason="Hot."), made.entry(capture="b")),
        made.night(3, outcome=Outcome.FAILED, reason="No plan."),
        made.night(4, made.entry(), partial=True),
        made.night(5, made.entry(None)),
        made.night(6, made.entry()),
    ]
    lost = lost_of(nights, [Missed("p", "m", made.at(7), "")])
    assert [(one.at[8:10], one.what, one.state.value, one.reason) for one in lost] == [
        ("07", "p", "missed", "it did not run"),
        ("05", "p: paged", "unfinished", ""),
        ("04", "p", "not run", "it ended before all of its captures were measured"),
        ("03", "p", "failed", "No plan."),
        ("02", "p: paged", "inconclusive", "Hot."),
        ("01", "p: paged", "failed", "It broke."),
    ]


def test_nights_are_counted_by_how_they_ended(made: Any) -> None:
    nights = [made.night(day, outcome=one) for day, one in enumerate([*Outcome, None], 1)]
    assert [words for words, _ in tally_of(nights, [Missed("p", "m", made.at(9), "")])] == [
        "6 nights",
        "✓ 1 ok",
        "▲ 1 regression",
        "? 1 inconclusive",
        "◇ 1 unjudged",
        "✕ 1 failed",
        "… 1 unfinished",
        "▯ 1 missed",
    ]


@pytest.mark.parametrize(
    ("last", "due", "words"),
    [
        (5, (), ""),
        (4, (1,), ""),
        (4, (5,), "No night has run since 4 Nov 2026, yesterday; 1 was missed."),
        (2, (3, 4, 5), "No night has run since 2 Nov 2026, 3 days ago; 3 were missed."),
        (1, (), "No night has run since 1 Nov 2026, 4 days ago."),
    ],
)
def test_a_history_that_has_stopped_says_so(
    made: Any, last: int, due: tuple[int, ...], words: str
) -> None:
    nights = [made.night(day, made.entry()) for day in range(1, last + 1)]
    missed = [Missed("p", "m", made.at(day), "") for day in due]
    assert stale_of(nights, missed, NOW) == words
    assert stale_of([], missed, NOW) == ""


def test_a_night_is_fresh_for_a_day_and_a_half(made: Any) -> None:
    nights = [made.night(4, made.entry())]
    assert stale_of(nights, [], "2026-11-05T14:29:59+00:00") == ""
    assert stale_of(nights, [], "2026-11-05T14:30:00+00:00") != ""
