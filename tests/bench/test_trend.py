"""A made-up history to time the trend page with."""

import pytest

from tracekit.nightly.history.levels import steps_of
from tracekit.nightly.history.night import Outcome
from trend import history, main


def test_a_history_has_as_many_nights_and_series_as_asked_and_a_step_in_the_first() -> None:
    series, nights = history(nights=60, series=12, seed=3)
    assert (len(series), len(nights)) == (12, 60)
    assert {len(one.points) for one in series} == {60}
    assert [night.outcome for night in nights].count(Outcome.FAILED) == 1
    assert sum(one.gated for one in series) == 6
    [step] = steps_of(series[0])
    assert abs(step.index - 30) <= 1
    assert step.change == pytest.approx(0.05, abs=0.01)


def test_the_same_seed_makes_the_same_history() -> None:
    assert history(5, 2, 1) == history(5, 2, 1)
    assert history(5, 2, 1) != history(5, 2, 2)


def test_what_was_measured_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    main("--nights 6 --series 2 --rounds 1 --no-browser --markdown".split())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| nights, series | 6, 2 |"
    assert [one.split(" | ")[0] for one in lines[1:]] == [
        "| change points found",
        "| page made",
        "| page",
        "| page, gzipped",
    ]
