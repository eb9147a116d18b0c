"""The bench of a month of nights: what it calls right, and that one of its nights can be lived."""

from pathlib import Path

import pytest

from month.repository import Planned
from thirty_nights import Ended, Month, lived, summary
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.trend_changes import LevelStep

pytestmark = pytest.mark.campaign

EACH = Planned(pairs=6, turn=0.02, traced=0, rounds=20)
MONTH = Month(nights=5, slow_on=3, slow=0.1, each=EACH)


def make_month(*outcomes: str, dated: tuple[int, ...] = (2,)) -> Ended:
    nights = tuple(
        Night(str(number), "month", "here", "", outcome=Outcome(outcome))
        for number, outcome in enumerate(outcomes)
    )
    return Ended(nights, tuple(step_at(index) for index in dated))


def step_at(index: int) -> LevelStep:
    return LevelStep(index, index, index, 1.0, 1.1, 0.1)


def test_a_month_is_right_if_its_slow_night_alone_alarms_and_is_dated() -> None:
    ended_month = make_month("ok", "ok", "regression", "ok", "inconclusive")
    assert ended_month.right(MONTH)
    assert summary(MONTH, ended_month) == (
        "5 nights, 10.0 % more work from night 3 on: regressions in 3, changes dated to 3, "
        "inconclusive 5, failed none: as it should be."
    )


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (make_month("ok", "ok", "ok", "ok", "ok"), "it slept"),
        (make_month("ok", "regression", "regression", "ok", "ok"), "it cried wolf"),
        (make_month("ok", "ok", "regression", "failed", "ok"), "a night failed"),
        (make_month("ok", "ok", "regression", "ok", "ok", dated=()), "nothing was dated"),
        (make_month("ok", "ok", "regression", "ok", "ok", dated=(2, 0)), "a second date"),
    ],
)
def test_anything_else_is_not_as_it_should_be(found: Ended, why: str) -> None:
    assert not found.right(MONTH), why
    assert "NOT as it should be" in summary(MONTH, found)


def test_a_night_of_the_month_is_lived(tmp_path: Path) -> None:
    """Whatever the machine does meanwhile: it is measured, dated and kept."""
    heard: list[tuple[int, str]] = []
    month = Month(nights=1, slow_on=9, slow=0.1, each=EACH)
    ended_month = lived(
        month, tmp_path / "month", lambda n, night, _: heard.append((n, night.started))
    )
    assert heard == [(1, ended_month.nights[0].started)]
    assert heard[0][1].startswith("2026-10-01T02:30:0")
    assert ended_month.nights[0].outcome in {Outcome.OK, Outcome.INCONCLUSIVE}
    assert len(ended_month.nights[0].entries[0].pairs) >= 6
    assert (tmp_path / "month" / "nights" / "trend.html").is_file()
