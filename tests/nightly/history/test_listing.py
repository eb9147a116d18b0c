"""Nights in a line each, and times as people write them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from stored_nights import entry_of, judged_of, night_of
from tracekit.base.errors import UsageError
from tracekit.cli.history import time_of
from tracekit.nightly.history.listing import (
    expected_words,
    held_on,
    line,
    series_table,
    table_of,
)
from tracekit.nightly.history.night import Accepted, Outcome
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.decisions import Missed

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_a_night_s_line_has_the_change_that_says_most() -> None:
    judged = [
        judged_of("better", change=-0.5, outcome=Outcome.OK),
        judged_of("a bit", change=0.05),
        judged_of("tokens", change=-0.2, low=-0.3, high=-0.1, better="higher"),
        judged_of("followed", change=9.0, gated=False, outcome=None),
    ]
    found = line(night_of(1, [entry_of(judged=judged)]))
    assert (found.capture, found.metric, found.change) == ("decode", "tokens", -0.2)
    assert found.words == "decode tokens -20.0 % [-30.0 % … -10.0 %]"


def test_a_regression_says_more_than_what_is_unclear() -> None:
    judged = [
        judged_of("unclear", change=0.9, outcome=Outcome.INCONCLUSIVE),
        judged_of("worse", change=0.05, low=None, high=None),
    ]
    assert line(night_of(1, [entry_of(judged=judged)])).words == "decode worse +5.0 %"


def test_differences_are_compared_by_their_threshold() -> None:
    judged = [
        judged_of("ratio", change=0.06, threshold=0.03),
        judged_of("share", change=0.05, threshold=0.01, scale="difference", unit="ratio", low=None),
    ]
    assert line(night_of(1, [entry_of(judged=judged)])).words == "decode share +5.0 points"


@pytest.mark.parametrize(
    "entries", [[], [entry_of(judged=[])], [entry_of(judged=[judged_of(change=None)])]]
)
def test_a_night_without_a_change_has_a_line_too(entries: list[object]) -> None:
    found = line(night_of(1, entries))  # type: ignore[arg-type]
    assert (found.capture, found.words, found.outcome) == ("", "", Outcome.REGRESSION)


def test_nights_stand_in_order_missed_ones_among_them() -> None:
    failed = night_of(3, [entry_of(judged=[])], plan="other", outcome=Outcome.FAILED)
    lines = [line(night_of(1)), line(replace(failed, reason="It broke. " * 50))]
    missed = [Missed("nightly", "mini", "2026-03-02T02:30:00.000+00:00", "asleep")]
    columns, rows = table_of(lines, missed, {lines[1].id})
    assert list(columns) == ["night", "plan", "outcome", "change", "pairs", "commit"]
    assert rows[:2] == [
        [lines[0].id, "nightly", "regression", lines[0].words, "2 of 2", lines[0].commit[:9]],
        ["2026-03-02 02:30:00 UTC", "nightly", "missed", "asleep", "", ""],
    ]
    assert rows[2][:3] == [f"{lines[1].id} (pinned)", "other", "failed"]
    assert rows[2][3].startswith("It broke. It broke.")
    assert rows[2][3].endswith(" …")
    assert len(rows[2][3]) <= 120
    studio = line(night_of(4, machine="studio"))
    columns, rows = table_of([lines[0], studio], missed, ())
    assert list(columns) == ["night", "machine", "outcome", "change", "pairs", "commit"]
    assert [row[1] for row in rows] == ["mini", "mini", "studio"]


def test_a_series_has_a_row_for_each_night() -> None:
    at = Point("n1", "2026-03-01T02:30:00+00:00", 2e6, 1e6, 0.5, 0.4, 0.6, pairs=9)
    failed = Point("n2", at.at, None, night_outcome=Outcome.FAILED, reason="It broke.")
    series = Series("mini", "nightly", "decode", "w1", "step_p50", "ns", "lower")
    points = (replace(at, outcome=Outcome.OK, commit="a" * 40), failed)
    title, columns, rows = series_table(replace(series, points=points))
    assert title == "decode step_p50, lower is better: nightly on mini, work w1"
    assert dict(zip(columns, rows[0], strict=True)) == {
        "began": "2026-03-01 02:30:00 UTC",
        "value": "2 ms",
        "reference": "1 ms",
        "change": "+50.0 % [+40.0 % … +60.0 %]",
        "pairs": "9",
        "outcome": "ok",
        "commit": "aaaaaaaaa",
    }
    assert list(rows[1][1:]) == ["", "", "It broke.", "0", "failed", ""]


def test_a_night_that_is_partial_or_runs_says_so() -> None:
    lines = [line(night_of(1, partial=True)), line(night_of(2, outcome=None))]
    columns, rows = table_of(lines, [], ())
    assert [row[columns.index("outcome")] for row in rows] == ["regression (partial)", "not ended"]


def test_the_last_baseline_of_a_work_holds() -> None:
    changes = {"step_p50": (0.1,)}
    accepted = [
        Accepted("n", capture, work, "", "", changes) for capture, work in ("aw", "bw", "aw", "av")
    ]
    assert [held.holds for held in held_on("mini", accepted)] == [False, True, True, True]
    revoked = [*accepted, Accepted("n", "b", "w", "", "revoked: wrong")]
    assert [held.holds for held in held_on("mini", revoked)] == [False, False, True, True, False]


def test_what_is_expected_is_said_in_words() -> None:
    night = night_of(
        1, [entry_of(judged=[judged_of(), judged_of("share", scale="difference", unit="ratio")])]
    )
    accepted = Accepted(night.id, "decode", "w1", "", "", {"step_p50": (0.0953,), "share": (0.02,)})
    assert expected_words(night, accepted, "step_p50") == "+10.0 % against the reference"
    assert expected_words(night, accepted, "share") == "+2.0 points against the reference"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("36h", "2026-03-09T00:00:00+00:00"),
        ("7d", "2026-03-03T12:00:00+00:00"),
        ("2w", "2026-02-24T12:00:00+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00+00:00"),
        (" 2026-03-01T02:30 ", "2026-03-01T02:30:00+00:00"),
        ("2026-03-01T02:30-07:00", "2026-03-01T02:30:00-07:00"),
    ],
)
def test_times_are_read_as_people_write_them(text: str, time: str) -> None:
    assert time_of(text, NOW).isoformat() == time


@pytest.mark.parametrize("text", ["", "d", "yesterday", "30", "-3d", "999999999w", "2026-13-01"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        time_of(text, NOW)
