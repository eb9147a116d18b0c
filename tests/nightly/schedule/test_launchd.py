"""A LaunchAgent: its keys, how it is loaded, and that nothing is left of it."""

import plistlib
import time as clock
from collections.abc import Callable
from dataclasses import replace
from datetime import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fake_schedulers import Fakes, agents
from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import Job, job_of
from tracekit.nightly.schedule.launchd import Launchd, property_list

pytestmark = pytest.mark.processes

TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
PATH = {"type": "string", "pattern": "^/"}
# The keys that launchd.plist(5) documents and an agent that runs at a time may have, with their
# types; further keys are no error of launchd's, but would be a mistake of ours.
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["Label", "ProgramArguments", "StartCalendarInterval"],
    "properties": {
        "Label": {"type": "string", "pattern": r"^[A-Za-z0-9.-]+$", "maxLength": 120},
        "Disabled": {"type": "boolean"},
        "Program": PATH,
        "ProgramArguments": TEXTS,
        "RunAtLoad": {"type": "boolean"},
        "KeepAlive": {"type": ["boolean", "object"]},
        "RootDirectory": PATH,
        "WorkingDirectory": PATH,
        "EnvironmentVariables": {"type": "object", "additionalProperties": {"type": "string"}},
        "Umask": {"type": ["integer", "string"]},
        "ExitTimeOut": {"type": "integer", "minimum": 1},
        "ThrottleInterval": {"type": "integer", "minimum": 1},
        "StartInterval": {"type": "integer", "minimum": 1},
        "StartCalendarInterval": {
            "type": "object",
            "additionalProperties": False,
            "required": ["Hour", "Minute"],
            "properties": {
                "Minute": {"type": "integer", "minimum": 0, "maximum": 59},
                "Hour": {"type": "integer", "minimum": 0, "maximum": 23},
                "Day": {"type": "integer", "minimum": 1, "maximum": 31},
                "Weekday": {"type": "integer", "minimum": 0, "maximum": 7},
                "Month": {"type": "integer", "minimum": 1, "maximum": 12},
            },
        },
        "StandardInPath": PATH,
        "StandardOutPath": PATH,
        "StandardErrorPath": PATH,
        "Nice": {"type": "integer", "minimum": -20, "maximum": 20},
        "ProcessType": {"enum": ["Background", "Standard", "Adaptive", "Interactive"]},
        "AbandonProcessGroup": {"type": "boolean"},
        "LowPriorityIO": {"type": "boolean"},
        "LowPriorityBackgroundIO": {"type": "boolean"},
        "LimitLoadToSessionType": {"type": ["string", "array"]},
    },
}


@pytest.fixture
def job(plan: NightPlan, home: Path) -> Job:
    return job_of(plan, time(2, 30))


def loaded(fakes: Fakes) -> dict[str, str]:
    found = fakes.known.get("loaded", {})
    assert isinstance(found, dict)
    return found


def test_the_property_list_has_documented_keys_and_types(job: Job) -> None:
    ((file, content),) = Launchd().files(job).items()
    assert file.name == f"{job.label}.plist"
    assert file.parent == Path.home() / "Library" / "LaunchAgents"
    found = plistlib.loads(content)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found == property_list(job)
    assert content.startswith(b"<?xml")


def test_it_says_what_to_run_when_and_unthrottled(job: Job) -> None:
    found = property_list(job)
    assert tuple(found["ProgramArguments"]) == job.argv
    assert found["StartCalendarInterval"] == {"Hour": 2, "Minute": 30}
    assert found["ProcessType"] == "Interactive"
    assert found["WorkingDirectory"] == str(job.folder)
    assert found["StandardOutPath"] == found["StandardErrorPath"] == str(job.log)
    assert found["RunAtLoad"] is False
    assert found["ExitTimeOut"] > 20


def test_hostile_words_stay_words(plan: NightPlan, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / '</string><key>Program</key> & "co" $(rm) %h'
    job = job_of(replace(plan, output=folder, name="</dict>"), time(0, 0))
    found = plistlib.loads(plistlib.dumps(property_list(job)))
    assert found["StandardOutPath"] == str(folder / "nightly.log")
    jsonschema.Draft202012Validator(SCHEMA).validate(found)


def test_it_is_written_and_loaded_into_the_users_session(launchd: Fakes, job: Job) -> None:
    agent = Launchd(domain="gui/501")
    assert agent.install(job) == ()
    [file] = agents()
    assert loaded(launchd) == {job.label: str(file)}
    assert launchd.asked[-1] == ["launchctl", "bootstrap", "gui/501", str(file)]
    [found] = agent.find(job.plan)
    assert (found.method, found.label, found.at) == ("launchd", job.label, time(2, 30))
    assert found.log == job.log
    assert found.since == job.environment["TRACEKIT_NIGHTLY_SINCE"]
    assert oct(file.stat().st_mode & 0o777) == "0o644"


def test_at_another_time_it_takes_the_place_of_the_old_one(
    launchd: Fakes, job: Job, plan: NightPlan
) -> None:
    """`bootout` returns before the job is gone, and loading it then would fail."""
    launchd.tell(lingering=3)
    Launchd().install(job)
    Launchd().install(job_of(plan, time(4, 0)))
    assert launchd.verbs() == ["bootstrap", "bootout", "bootstrap"]
    [found] = Launchd().find(job.plan)
    assert found.at == time(4, 0)
    assert len(loaded(launchd)) == 1


def test_a_plan_with_a_new_name_leaves_no_old_agent(
    launchd: Fakes, job: Job, plan: NightPlan
) -> None:
    Launchd().install(job)
    renamed = job_of(replace(plan, name="other"), time(2, 30))
    Launchd().install(renamed)
    assert [one.stem for one in agents()] == [renamed.label]
    assert [*loaded(launchd)] == [renamed.label]


def test_removing_leaves_no_file_and_nothing_loaded(launchd: Fakes, job: Job) -> None:
    launchd.tell(lingering=2)
    Launchd().install(job)
    [found] = Launchd().find(job.plan)
    assert Launchd().remove(found) == ()
    assert agents() == []
    assert loaded(launchd) == {}
    assert Launchd().find(job.plan) == ()


def test_removing_what_is_not_loaded_removes_its_file(launchd: Fakes, job: Job) -> None:
    Launchd().install(job)
    launchd.tell(loaded={})
    [found] = Launchd().find(job.plan)
    Launchd().remove(found)
    assert agents() == []
    assert "bootout" not in launchd.verbs()


def test_a_refusal_is_quoted_and_leaves_nothing(launchd: Fakes, job: Job) -> None:
    launchd.tell(no_gui=True)
    with pytest.raises(ToolError, match="Domain does not support specified action") as caught:
        Launchd(domain="gui/501").install(job)
    assert "launchctl bootstrap gui/501" in caught.value.message
    assert "exit code 125" in caught.value.message
    assert "Log in at the Mac's own desktop" in caught.value.hint
    assert agents() == []


def test_a_refusal_brings_back_what_was_there(launchd: Fakes, job: Job, plan: NightPlan) -> None:
    Launchd().install(job)
    launchd.tell(refuses="Bootstrap failed: 119: Service is disabled")
    with pytest.raises(ToolError, match="119: Service is disabled"):
        Launchd().install(job_of(plan, time(4, 0)))
    [found] = Launchd().find(job.plan)
    assert found.at == time(2, 30)


def test_a_folder_that_takes_no_file_is_told(launchd: Fakes, job: Job, home: Path) -> None:
    (home / "Library").write_text("a file")
    with pytest.raises(RecordingError, match="cannot be written"):
        Launchd().install(job)
    assert "bootstrap" not in launchd.verbs()


def test_standing_tells_loaded_and_the_last_exit(launchd: Fakes, job: Job) -> None:
    Launchd().install(job)
    [found] = Launchd().find(job.plan)
    assert Launchd().standing(found).loaded is True
    assert Launchd().standing(found).last_exit is None
    launchd.tell(exits={job.label: 4})
    assert Launchd().standing(found).last_exit == 4
    launchd.tell(loaded={})
    standing = Launchd().standing(found)
    assert standing.loaded is False
    assert "Could not find service" in standing.words


def test_without_launchctl_standing_is_not_known(
    job: Job, launchd: Fakes, programs: Callable[..., Fakes], monkeypatch: pytest.MonkeyPatch
) -> None:
    Launchd().install(job)
    [found] = Launchd().find(job.plan)
    monkeypatch.setenv("PATH", "/nowhere")
    assert Launchd().lacks() == "there is no launchctl, which macOS has"
    assert Launchd().standing(found).loaded is None


@pytest.mark.parametrize("text", ["", "no plist", "<?xml", "bplist00", "<plist><dict/></plist>"])
def test_a_file_of_its_name_that_is_none_is_passed_over(
    text: str, launchd: Fakes, job: Job
) -> None:
    ((file, _),) = Launchd().files(job).items()
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert Launchd().find(job.plan) == ()


def test_waiting_for_a_job_to_go_is_short_where_it_goes_at_once(launchd: Fakes, job: Job) -> None:
    Launchd().install(job)
    began = clock.monotonic()
    Launchd().install(job)
    assert clock.monotonic() - began < 10
