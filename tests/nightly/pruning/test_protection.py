"""What must stay: what was pinned or accepted, and the nights around a change."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracekit.nightly.history.night import Accepted
from tracekit.nightly.history.steps import Point, Series, Step
from tracekit.nightly.pruning import Protection, RunSeen, protection

BEGUN = datetime(2026, 8, 1, tzinfo=UTC)


def of_night(name: str) -> RunSeen:
    folder = Path("/nights") / name
    return RunSeen(folder / "run", Path("/nights"), BEGUN, night=name)


def series(nights: int) -> Series:
    points = tuple(Point(f"n{number}", "", 1.0) for number in range(nights))
    return Series("m", "p", "decode", "w", "step_p50", "ns", "lower", points=points)


def test_nothing_protects_what_nobody_named() -> None:
    found = protection([], [], [])
    assert found.reason(of_night("n1")) == ""
    assert found.reason(RunSeen(Path("/traces/a"), Path("/traces"), BEGUN)) == ""


def test_a_pinned_night_stays_with_all_its_runs() -> None:
    found = protection([], [], ["n1"])
    assert found.reason(of_night("n1")) == "its night is pinned"
    assert found.reason(of_night("n2")) == ""


def test_a_pinned_folder_stays_with_all_that_is_in_it(tmp_path: Path) -> None:
    found = protection([], [], [str(tmp_path / "a")])
    pinned = RunSeen(tmp_path / "a" / "b" / "run", tmp_path, BEGUN)
    beside = RunSeen(tmp_path / "ab", tmp_path, BEGUN)
    assert found.reason(pinned) == "it is pinned"
    assert found.reason(beside) == ""


def test_an_accepted_night_stays_and_says_why() -> None:
    one = Accepted("n1", "decode", "w", "2026-08-02", "new kernel")
    found = protection([], [one], [])
    assert found.reason(of_night("n1")) == "it was accepted as a baseline: new kernel"


@pytest.mark.parametrize(
    ("step", "stay"),
    [
        (Step(5, 1, 2, 1, earliest=5, latest=5), {4, 5, 6}),
        (Step(5, 1, 2, 1, earliest=4, latest=7), {3, 4, 5, 6, 7, 8}),
        (Step(1, 1, 2, 1, earliest=0, latest=1), {0, 1, 2}),
        (Step(9, 1, 2, 1, earliest=9, latest=9), {8, 9}),
    ],
)
def test_nights_around_a_change_stay(step: Step, stay: set[int]) -> None:
    found = protection([(series(10), [step])], [], [])
    staying = {number for number in range(10) if found.reason(of_night(f"n{number}"))}
    assert staying == stay
    assert found.reason(of_night(f"n{step.index}")) == "step_p50 of decode changed there"


def test_without_a_history_nights_stay_and_other_runs_may_go() -> None:
    found = Protection(known=False)
    assert "name the plan with --config" in found.reason(of_night("n1"))
    assert found.reason(RunSeen(Path("/traces/a"), Path("/traces"), BEGUN)) == ""
