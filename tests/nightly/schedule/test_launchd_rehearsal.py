"""launchd rehearses before nights are installed: what it runs, what refuses, what is left."""

from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from children import running, started_since
from fake_schedulers import Fakes, lying_around
from tracekit.base.errors import ToolError, UsageError
from tracekit.nightly.folder import make_output
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule import installation
from tracekit.nightly.schedule.job import job_of
from tracekit.nightly.schedule.launchd_rehearsal import rehearse_under_launchd
from tracekit.nightly.schedule.schedulers import Launchd

pytestmark = pytest.mark.processes

NIGHT = time(2, 30)


def list_outputs(plan: NightPlan) -> list[str]:
    return sorted(path.name for path in plan.output.iterdir() if path.name.startswith("rehearsal"))


def test_a_rehearsal_that_works_is_reported_and_leaves_the_nights(
    fakes: Fakes, plan: NightPlan
) -> None:
    fakes.tell(rehearsal={"doctor": 4})
    installed = installation.install(plan, NIGHT, "launchd")
    (remark,) = installed.warnings
    ends = "the doctor ended with 4, a capture of 2 s with 0."
    assert remark == f"Rehearsed by launchd: the plan was read, {ends}"
    assert fakes.verbs() == ["bootstrap", "kickstart", "bootout", "bootstrap"]
    assert fakes.loaded_labels == [installed.job.label]
    assert lying_around() == [*installed.files]
    assert list_outputs(plan) == []


FAILURES = [
    ({"rehearsal": {"plan": 2}}, "the plan ended with exit code 2. the words of plan"),
    ({"rehearsal": {"doctor": 3}}, "the doctor found an obstacle. xctrace: No."),
    ({"rehearsal": {"capture": 3}}, "the capture ended with exit code 3. the words of capture"),
    ({"rehearsal": "dies"}, "the job ended with exit code 1 before it could record. Operation not"),
]


@pytest.mark.parametrize(("state", "words"), FAILURES)
def test_a_rehearsal_that_fails_leaves_the_former_schedule_alone(
    state: dict[str, object], words: str, fakes: Fakes, plan: NightPlan
) -> None:
    former = installation.install(plan, time(1, 0), "launchd")
    before = [(file, file.read_bytes()) for file in lying_around()]
    fakes.tell(**state)
    with pytest.raises(ToolError) as caught:
        installation.install(plan, NIGHT, "launchd")
    assert caught.value.message.startswith(f"In the rehearsal by launchd, {words}")
    assert "Nothing was installed." in caught.value.hint
    assert [(file, file.read_bytes()) for file in lying_around()] == before
    assert fakes.loaded_labels == [former.job.label]
    assert list_outputs(plan) == []


def test_a_rehearsal_that_never_ends_is_given_up(fakes: Fakes, plan: NightPlan) -> None:
    make_output(plan.output, exist_ok=True)
    fakes.tell(rehearsal="hangs")
    with pytest.raises(ToolError, match=r"it did not end within 0\.3 s"):
        rehearse_under_launchd(Launchd(), job_of(plan, NIGHT), seconds=0.3)
    assert lying_around() == []
    assert list_outputs(plan) == []


def test_no_gpu_work_in_a_rehearsal_is_a_remark(fakes: Fakes, plan: NightPlan) -> None:
    fakes.tell(rehearsal={"capture": 4})
    *_, remark = installation.install(plan, NIGHT, "launchd").warnings
    assert remark == "No GPU work of its target is known to be in the rehearsal's trace."


def test_folders_that_launchd_may_not_read_are_refused(
    fakes: Fakes, plan: NightPlan, tmp_path: Path
) -> None:
    documents = tmp_path / "home" / "Documents"
    documents.mkdir()
    (documents / "tracekit.toml").write_text(plan.file.read_text())
    for changed, words in (
        (replace(plan, file=documents / "tracekit.toml"), "The plan"),
        (replace(plan, output=documents / "nights"), "The output"),
    ):
        with pytest.raises(UsageError) as caught:
            installation.install(changed, NIGHT, "launchd")
        assert caught.value.message.startswith(words), words
        assert "lies in Documents, which macOS closes" in caught.value.message, words
        assert lying_around() == [], words
    assert not (documents / "nights").exists()
    assert installation.preview(replace(plan, file=documents / "tracekit.toml"), NIGHT, "cron").line


def test_nobody_at_the_desktop_is_said(fakes: Fakes, plan: NightPlan) -> None:
    installation.install(plan, NIGHT, "launchd")
    fakes.tell(no_gui=True)
    (standing,) = installation.status(plan).standing
    assert (standing.loaded, standing.words) == (
        None,
        "Nobody is logged in at the desktop: launchd starts no night until somebody is.",
    )


def test_a_rehearsal_runs_the_plan_the_doctor_and_a_capture(
    fakes: Fakes, plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "0")
    make_output(plan.output, exist_ok=True)
    fakes.tell(rehearsal="run")
    before = running()
    remarks = rehearse_under_launchd(Launchd(), job_of(plan, NIGHT), seconds=300)
    assert started_since(before) == []
    assert remarks[0].startswith("Rehearsed by launchd: the plan was read, the doctor ended with ")
    assert list_outputs(plan) == []
