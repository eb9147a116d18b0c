"""Changes, days and endings in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import InputError
from tracekit.base.recording import Overhead
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.trend.course import (
    State,
    ago,
    cost_of,
    date_of,
    day,
    days_of,
    direction,
    moment_of,
    several,
    state_of,
)


@pytest.mark.parametrize(
    ("change", "better", "way"),
    [
        (0.1, "lower", "worse"),
        (-0.1, "lower", "better"),
        (0.1, "higher", "better"),
        (-0.1, "higher", "worse"),
        (0.1, "neither", "changed"),
        (0.0, "lower", "changed"),
    ],
)
def test_which_way_a_change_goes(change: float, better: Any, way: str) -> None:
    assert direction(change, better) == way


def test_days_are_those_of_utc() -> None:
    assert day("2026-11-20T23:30:00-02:00") == "21 Nov 2026"
    assert day("2026-11-05T02:30:00") == "5 Nov 2026"
    assert days_of("1970-01-02T12:00:00+00:00") == 1.5


@given(st.floats(0, 40_000, allow_nan=False))
def test_an_axis_of_days_loses_no_second(days: float) -> None:
    assert days_of(date_of(days).isoformat()) == pytest.approx(days, abs=1e-8)


def test_what_is_no_time_is_told() -> None:
    with pytest.raises(InputError, match="'last Tuesday' is no time of a night") as raised:
        moment_of("last Tuesday")
    assert "2026-11-20T02:30:00+00:00" in raised.value.hint


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ("2026-11-20T08:00:00+00:00", "today"),
        ("2026-11-21T00:10:00+00:00", "yesterday"),
        ("2026-12-20T08:00:00+00:00", "30 days ago"),
        ("2026-11-19T08:00:00+00:00", "today"),
    ],
)
def test_how_long_ago(now: str, words: str) -> None:
    assert ago("2026-11-20T02:30:00+00:00", now) == words


def test_every_ending_has_a_sign_of_its_own_and_a_tone() -> None:
    assert len({one.sign for one in State}) == len(State)
    assert [state_of(one).value for one in Outcome] == [one.value for one in Outcome]
    assert state_of(None) is State.UNFINISHED


@pytest.mark.parametrize(
    ("overhead", "words"),
    [
        pytest.param(None, "", id="not-looked-at"),
        pytest.param(
            Overhead(0.021, 0.006), "Tracing costs 2.1 % ± 0.6 % of a step's time.", id="known"
        ),
        pytest.param(Overhead(0.05), "Tracing costs 5.0 % of a step's time.", id="no-spread"),
        pytest.param(
            Overhead(reason="nothing was traced."),
            "What tracing costs is not known, because nothing was traced.",
            id="unknown",
        ),
        pytest.param(Overhead(), "What tracing costs is not known.", id="no-reason"),
    ],
)
def test_what_tracing_costs_is_said(overhead: Overhead | None, words: str) -> None:
    assert cost_of(overhead) == words


def test_several() -> None:
    assert [several(one, "night") for one in (0, 1, 2, 1500)] == [
        "0 nights",
        "1 night",
        "2 nights",
        "1,500 nights",
    ]
