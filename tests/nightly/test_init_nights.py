"""Nights by the plan that `nightly --init` writes: drifts, steps, none, busy, no history."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from played_nights import Played
from tracekit.base import units
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.memory import NotKeptError

pytestmark = pytest.mark.processes
OK, REGRESSION, INCONCLUSIVE = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE


@pytest.fixture
def nights_by_init(
    played: Played, tracekit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Played:
    """A repository with the plan that `--init` writes there, for the played workload."""
    played.begin('revision = "FIRST"')
    played.plan.unlink()
    monkeypatch.chdir(played.top)
    result = tracekit("nightly", "init")
    assert result.code == 0, result.err
    plan = played.plan.read_text()
    assert f'revision = "{played.commits[0][:12]}' in plan
    edits = {
        'workload = "paged"': 'workload = "costly"\nworkloads = "own"\ntelemetry = "off"',
        "parameters = { batch = 16 }": "",
        '# output = "bench/nights"': 'output = "nights"',
        "traced = 1": "traced = 0",
        'wait = "5m"': 'wait = "0s"',  # the times are made: this machine need not be idle
    }
    for written, replacement in edits.items():
        assert written in plan
        plan = plan.replace(written, replacement)
    played.plan.write_text(plan)
    return played


def play(played: Played, costs: Sequence[float]) -> list[Night]:
    return [played.night(cost) for cost in costs]


def outcomes(nights: Sequence[Night]) -> list[Outcome | None]:
    return [night.outcome for night in nights]


def test_equal_nights_are_never_worse(nights_by_init: Played) -> None:
    nights = play(nights_by_init, [1.0] * 8)
    assert outcomes(nights) == [OK] * 8


@pytest.mark.parametrize("rate", [1.03, 1.023])
def test_a_loss_of_each_night_is_found_by_the_third(nights_by_init: Played, rate: float) -> None:
    nights = play(nights_by_init, [rate**number for number in range(1, 7)])
    night_outcomes = outcomes(nights)
    assert REGRESSION in night_outcomes[:3]
    first_regression = night_outcomes.index(REGRESSION)
    assert set(night_outcomes[first_regression:]) == {REGRESSION}
    (entry,) = nights[-1].entries
    assert nights[-1].reason.count("decode") <= 1, "one regression is one finding"
    assert entry.judged[0].metric == "step_p50"


def test_a_step_is_found_the_same_night_with_its_commit_and_its_way_back_is_ok(
    nights_by_init: Played,
) -> None:
    nights = play(nights_by_init, [1.0, 1.0, 1.05, 1.05, 1.0, 1.0])
    assert outcomes(nights) == [OK, OK, REGRESSION, REGRESSION, OK, OK]
    before, after = nights_by_init.commits[2:4]
    assert f"{units.short_commit(before)}..{units.short_commit(after)}" in nights[2].reason


def test_a_busy_night_decides_nothing_and_the_next_one_does(nights_by_init: Played) -> None:
    play(nights_by_init, [1.0, 1.0])
    nights_by_init.rejected = 1
    assert nights_by_init.night(1.05).outcome is INCONCLUSIVE
    nights_by_init.rejected = 0
    assert nights_by_init.night(1.05).outcome is REGRESSION


def test_a_night_without_its_history_is_added_later(
    nights_by_init: Played, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    play(nights_by_init, [1.0, 1.0])
    history = nights_by_init.top / "nights" / "history.db"
    hidden_history = tmp_path / "history.db"
    history.rename(hidden_history)
    history.mkdir()  # no database can be opened there
    with pytest.raises(NotKeptError, match="Result of the night: Inconclusive"):
        nights_by_init.night(1.05)
    history.rmdir()
    hidden_history.rename(history)
    start_time = datetime(2026, 11, 4, 2, 30, tzinfo=UTC)
    assert nights_by_init.night(1.05, begin_time=start_time).outcome is REGRESSION
    listing = tracekit("nightly", "history")
    dates = [f"2026-11-0{day}" for day in (1, 2, 3, 4)]
    assert [date for date in dates if date in listing.out] == dates
