"""`nightly install`, `status` and `uninstall` at the command line."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from fake_schedulers import Fakes, agents
from tracekit.nightly.plan.plan import NightPlan

Run = Callable[..., Any]


@pytest.mark.processes
def test_the_nearest_plan_is_meant_and_a_dry_run_prints_the_files(
    launchd: Fakes, plan: NightPlan, tracekit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.file.parent)
    at = ("nightly", "install", "--at", "2:30", "--method", "launchd")
    shown = tracekit(*at, "--dry-run")
    assert shown.code == 0
    assert "<key>StartCalendarInterval</key>" in shown.out
    assert agents() == []
    installed = tracekit(*at)
    [agent] = agents()
    assert (installed.code, "next night" in installed.out) == (0, True)
    assert str(agent) in installed.out + installed.err
    assert "02:30 every day, launchd" in tracekit("nightly", "status").out
    known = json.loads(tracekit("nightly", "status", "--json").out)
    assert known["installed"][0]["at"] == "02:30:00"
    assert known["standing"] == [{"loaded": True, "last_exit": None, "words": ""}]
    assert known["running"] is False
    plan.file.write_text("[nightly")
    assert tracekit("nightly", "install", str(plan.file), "--at", "03:30").code == 2
    assert len(agents()) == 1
    removed = tracekit("nightly", "uninstall", str(plan.file))
    assert (removed.code, removed.out) == (0, f"removed  launchd, {agent}\n"), "though it is broken"
    assert agents() == []
    assert "No nights of" in tracekit("nightly", "uninstall", str(plan.file)).out


@pytest.mark.parametrize(
    ("course", "words"),
    [
        ({"outcome": "inconclusive", "reason": "Busy.", "partial": True},
         ", inconclusive, partial: Busy."),
        # An outcome is not said twice.
        ({"outcome": "regression", "reason": "Regression: decode."}, ", Regression: decode."),
        ({"ended": ""}, ", not ended"),
    ],
)  # fmt: skip
def test_status_says_how_the_last_night_ended(
    course: dict[str, Any], words: str, launchd: Fakes, plan: NightPlan, tracekit: Run
) -> None:
    folder = plan.output / "2026-11-21T02-30-00-abcd"
    folder.mkdir(parents=True)
    document = {"id": folder.name, "plan": plan.name, "started": "2026-11-21T02:30:00+00:00"}
    document |= {"ended": "2026-11-21T03:00:00+00:00"} | course
    (folder / "night.json").write_text(json.dumps(document))
    shown = tracekit("nightly", "status", str(plan.file))
    assert shown.code == 0
    [line] = [each for each in shown.out.splitlines() if each.startswith("last night")]
    assert line.endswith(words)
    assert "no; `tracekit nightly install --at 02:30` does it" in shown.out
