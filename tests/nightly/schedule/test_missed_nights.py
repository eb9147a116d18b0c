"""Nights that were due and did not run: noted by the next one, once, for each machine."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from fake_schedulers import Fakes
from played_nights import Played
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.schedule import schedule

pytestmark = pytest.mark.processes

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def test_nights_that_did_not_run_are_noted_once_for_each_machine(
    home: Path, played: Played, programs: Callable[..., Fakes], monkeypatch: pytest.MonkeyPatch
) -> None:
    played.begin('revision = "FIRST"')
    played.commit(1.0)
    with monkeypatch.context():
        programs("launchctl")
        begun = datetime.now(UTC) + 5 * MINUTE
        far = time((begun.astimezone() + DAY / 2).hour, 30)  # from now, whenever this test runs
        schedule.install(read_plan(played.plan), far, "launchd")

    def missed(after: timedelta) -> list[str]:
        night = played.night(begun=begun + after)
        return [one for one in night.warnings if "did not run" in one]

    assert missed(timedelta(0)) == []
    told = missed(3 * DAY)
    assert len(told) == 2, "of three due times the last is its own"
    assert missed(3 * DAY + MINUTE) == []
    assert missed(DAY) == [], "the clock went back: what it says now was before all of that"
    text = played.plan.read_text()
    played.plan.write_text(text.replace('machine = "mini"', 'machine = "studio"'))
    assert missed(3 * DAY) == told
    with Store.open(read_plan(played.plan).history) as store:
        noted = store.missed_nights()
    assert sorted(one.machine for one in noted) == ["mini", "mini", "studio", "studio"]
    assert {f"{datetime.fromisoformat(one.due):%Y-%m-%d %H:%M} UTC" for one in noted} == {
        one.removeprefix("The night that was due at ").removesuffix(" did not run.") for one in told
    }
    assert "missed" in played.page
