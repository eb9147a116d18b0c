"""Installed, looked at and taken away; and what a night sees when it is started so."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from fake_schedulers import Fakes, agents, units
from tracekit.base.errors import ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule import schedule
from tracekit.nightly.schedule.job import next_due
from tracekit.nightly.schedule.running import only_one

pytestmark = pytest.mark.processes

NIGHT = time(2, 30)


def night(plan: NightPlan, started: datetime, **more: Any) -> None:
    name = f"{started:%Y-%m-%dT%H-%M-%S}-abcd"
    folder = plan.output / name
    folder.mkdir(parents=True)
    document = {"id": name, "plan": "paged", "machine": "m", "started": started.isoformat()}
    (folder / "night.json").write_text(json.dumps(document | more))


def now() -> datetime:
    return datetime.now(UTC)


def test_another_scheduler_takes_the_place_of_the_first(
    home: Path, programs: Callable[..., Fakes], plan: NightPlan
) -> None:
    programs("launchctl", "systemctl", "loginctl")
    schedule.install(plan, NIGHT, "launchd")
    schedule.install(plan, NIGHT, "systemd")
    assert agents() == []
    assert units()
    schedule.install(plan, NIGHT, "launchd")
    assert units() == []
    assert len(agents()) == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has launchd")
def test_auto_is_systemd_where_it_runs_and_else_a_line(systemd: Fakes, plan: NightPlan) -> None:
    assert schedule.preview(plan, NIGHT).method == "systemd"
    systemd.tell(no_bus=True)
    one = schedule.install(plan, NIGHT)
    assert one.method == "cron"
    assert one.line.startswith("30 2 * * * ")
    assert "Failed to connect to bus" in one.warnings[0]
    assert "crontab -e" in one.warnings[1]
    assert units() == []


def test_a_scheduler_that_is_not_here_is_told(
    home: Path, programs: Callable[..., Fakes], plan: NightPlan
) -> None:
    programs()
    with pytest.raises(ToolError, match="launchd cannot be used here: there is no launchctl"):
        schedule.install(plan, NIGHT, "launchd")


def test_a_running_night_is_not_stopped_by_installing_or_removing(
    launchd: Fakes, plan: NightPlan
) -> None:
    schedule.install(plan, NIGHT, "launchd")
    with only_one(plan):
        with pytest.raises(ToolError, match="A night runs now"):
            schedule.install(plan, time(4, 0), "launchd")
        with pytest.raises(ToolError, match="A night runs now"):
            schedule.uninstall(plan.file)
        assert schedule.status(plan).running
    assert launchd.verbs() == ["bootstrap"]


def test_status_tells_the_last_night_and_the_missed_ones(launchd: Fakes, plan: NightPlan) -> None:
    at = (now().astimezone() - timedelta(hours=1)).time().replace(second=0, microsecond=0)
    schedule.install(plan, at, "launchd")
    night(plan, now() - timedelta(days=9), outcome="regression", ended="x")
    night(plan, now() - timedelta(days=3), outcome="ok", ended="x", reason="All as it was.")
    (plan.output / "broken").mkdir()
    (plan.output / "broken" / "night.json").write_text("{")
    later = now() + timedelta(days=2)
    known = schedule.status(plan, later)
    assert known.last is not None
    assert (known.last.outcome, known.last.reason) == ("ok", "All as it was.")
    assert known.standing[0].loaded is True
    assert len(known.missed) == 2, "only what was due after it was installed"
    assert known.next is not None
    assert known.next > later


def test_a_due_time_of_just_now_is_not_missed_yet(launchd: Fakes, plan: NightPlan) -> None:
    schedule.install(plan, NIGHT, "launchd")
    due = next_due(NIGHT, now())
    assert schedule.status(plan, due + timedelta(minutes=10)).missed == ()
    assert schedule.status(plan, due + timedelta(minutes=20)).missed == (due,)
    with only_one(plan):  # a night that runs is the one that was due
        assert schedule.status(plan, due + timedelta(minutes=20)).missed == ()


def test_missed_is_nothing_without_a_schedule_and_before_it(
    launchd: Fakes, plan: NightPlan
) -> None:
    week_ago = now() - timedelta(days=7)
    assert schedule.status(plan) == schedule.Scheduled((), (), None, None, running=False, missed=())
    assert schedule.missed(plan, week_ago, now()) == []
    schedule.install(plan, NIGHT, "launchd")
    assert schedule.missed(plan, week_ago, now()) == []
    assert len(schedule.missed(plan, None, now() + timedelta(days=3, hours=1))) in {2, 3}


def test_a_python_without_tracekit_is_found_out_at_once(
    launchd: Fakes, plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho No module named tracekit >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(ToolError, match="No module named tracekit") as caught:
        schedule.install(plan, NIGHT, "launchd")
    assert str(broken) in caught.value.hint
    assert agents() == []
