"""Nights that were due and did not run: noted by the next one, once, for each machine."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from fake_schedulers import Fakes
from real_nights import repository
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night
from tracekit.nightly.schedule import schedule

pytestmark = pytest.mark.processes

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def test_nights_that_did_not_run_are_noted_once_for_each_machine(
    tmp_path: Path, home: Path, programs: Callable[..., Fakes]
) -> None:
    assert os.environ["HOME"] == str(home)
    plan = read_plan(repository(tmp_path / "repo").top / "tracekit.toml")
    programs("launchctl")
    begun = datetime.now(UTC) + 5 * MINUTE
    far = time((begun.astimezone() + DAY / 2).hour, 30)  # from now, whenever this test runs
    schedule.install(plan, far, "launchd")

    first = run_night(plan, now=lambda: begun)
    assert not [one for one in first.warnings if "did not run" in one]
    late = run_night(plan, now=lambda: begun + 3 * DAY)  # of three due times the last is its own
    told = [one for one in late.warnings if "did not run" in one]
    assert len(told) == 2
    again = run_night(plan, now=lambda: begun + 3 * DAY + MINUTE)
    assert not [one for one in again.warnings if "did not run" in one]
    # The clock went back: what it says now was before all of that.
    early = run_night(plan, now=lambda: begun + DAY)
    assert not [one for one in early.warnings if "did not run" in one]

    other = run_night(replace(plan, machine="studio"), now=lambda: begun + 3 * DAY)
    assert [one for one in other.warnings if "did not run" in one] == told
    with Store.open(plan.history) as store:
        missed = store.missed_nights()
    assert [one.machine for one in missed].count("mini") == 2
    assert len(missed) == 4
    assert {f"{datetime.fromisoformat(one.due):%Y-%m-%d %H:%M} UTC" for one in missed} == {
        one.removeprefix("The night that was due at ").removesuffix(" did not run.") for one in told
    }
    page = (plan.output / "trend.html").read_text()
    assert "missed" in page
