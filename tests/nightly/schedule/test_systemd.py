"""A timer of the user's systemd: its syntax, how it is started, and that nothing is left."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from fake_schedulers import Fakes, units
from tracekit.base.errors import ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import Job, job_of
from tracekit.nightly.schedule.systemd import Systemd, service, timer

pytestmark = pytest.mark.processes

ANALYZE = shutil.which("systemd-analyze")
ODD = "50 % of \"a\" $HOME 'b' \\n ; # é"


@pytest.fixture
def job(plan: NightPlan, home: Path) -> Job:
    return job_of(plan, time(2, 30))


@pytest.fixture
def odd(plan: NightPlan, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose every path and value has letters that mean something to systemd."""
    monkeypatch.setenv("TRACEKIT_CACHE", ODD)
    folder = tmp_path / ODD
    (folder / "nights").mkdir(parents=True)
    file = folder / "tracekit.toml"
    file.write_text("")
    return job_of(replace(plan, name=ODD, file=file, output=folder / "nights"), time(23, 5))


def values(text: str, key: str) -> list[str]:
    return [one.partition("=")[2] for one in text.splitlines() if one.startswith(f"{key}=")]


@pytest.mark.skipif(ANALYZE is None, reason="no systemd-analyze on the PATH")
@pytest.mark.parametrize("name", ["job", "odd"])
def test_systemd_itself_finds_nothing_wrong(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    job: Job = request.getfixturevalue(name)
    folder = tmp_path / "units"
    files = Systemd(folder).files(job)
    folder.mkdir()
    for file, content in files.items():
        file.write_bytes(content)
    assert ANALYZE is not None
    ran = subprocess.run(
        [ANALYZE, "verify", "--man=no", "--user", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    said = [one for one in ran.stderr.splitlines() if job.label in one]
    assert (ran.returncode, said) == (0, [])


@pytest.mark.skipif(ANALYZE is None, reason="no systemd-analyze on the PATH")
def test_the_time_is_one_that_systemd_reads(job: Job) -> None:
    [calendar] = values(timer(job), "OnCalendar")
    assert ANALYZE is not None
    ran = subprocess.run(
        [ANALYZE, "calendar", calendar], capture_output=True, text=True, check=True
    )
    assert "Normalized form: *-*-* 02:30:00" in ran.stdout


def test_the_timer_makes_up_for_a_night_that_was_slept_through(job: Job) -> None:
    text = timer(job)
    assert values(text, "OnCalendar") == ["*-*-* 02:30:00"]
    assert values(text, "Persistent") == ["true"]
    assert values(text, "WantedBy") == ["timers.target"]


def test_a_night_runs_once_is_stopped_gently_and_never_for_ever(job: Job) -> None:
    text = service(job)
    assert values(text, "Type") == ["oneshot"]
    assert values(text, "KillMode") == ["process"]
    assert values(text, "TimeoutStartSec") == ["10800"]
    assert values(text, "StandardOutput") == [f"append:{job.log}"]


def test_letters_that_mean_something_are_escaped(odd: Job) -> None:
    text = service(odd)
    [command] = values(text, "ExecStart")
    assert command.endswith('50 %% of \\"a\\" $$HOME \'b\' \\\\n ; # é/tracekit.toml"')
    assert values(text, "WorkingDirectory")[0].endswith("/50 %% of \"a\" $HOME 'b' \\n ; # é/")
    cache = '"TRACEKIT_CACHE=50 %% of \\"a\\" $HOME \'b\' \\\\n ; # é"'
    assert cache in values(text, "Environment")


def test_both_units_are_written_and_the_timer_started(systemd: Fakes, job: Job) -> None:
    systemd.tell(lingers=True)
    assert Systemd().install(job) == ()
    assert sorted(one.name for one in units() if not one.is_symlink()) == [
        f"{job.label}.service",
        f"{job.label}.timer",
    ]
    assert systemd.verbs() == ["daemon-reload", "enable"]
    assert systemd.known["active"] == [f"{job.label}.timer"]
    [found] = Systemd().find(job.plan)
    assert (found.at, found.log) == (time(2, 30), job.log)
    assert found.since == job.environment["TRACEKIT_NIGHTLY_SINCE"]


def test_a_user_whose_timers_end_at_log_out_is_told(systemd: Fakes, job: Job) -> None:
    [warning] = Systemd().install(job)
    assert "loginctl enable-linger" in warning


def test_at_another_time_the_past_is_not_made_up_for(
    systemd: Fakes, job: Job, plan: NightPlan
) -> None:
    """A timer remembers when it last ran; of a new time it would think that it was missed."""
    Systemd().install(job)
    Systemd().install(job_of(plan, time(14, 0)))
    assert systemd.verbs() == [
        *("daemon-reload", "enable"),
        *("disable", "clean", "daemon-reload"),
        *("daemon-reload", "enable"),
    ]
    [found] = Systemd().find(job.plan)
    assert found.at == time(14, 0)


def test_removing_leaves_no_file(systemd: Fakes, job: Job) -> None:
    Systemd().install(job)
    [found] = Systemd().find(job.plan)
    assert Systemd().remove(found) == ()
    assert units() == []
    assert systemd.known["active"] == []
    assert "clean" in systemd.verbs()


def test_removing_without_systemctl_removes_the_files_all_the_same(
    systemd: Fakes, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    Systemd().install(job)
    [found] = Systemd().find(job.plan)
    monkeypatch.setenv("PATH", "/nowhere")
    [warning] = Systemd().remove(found)
    assert "no systemctl" in warning
    assert units() == []


def test_a_systemd_that_does_not_run_is_quoted_and_its_files_go(systemd: Fakes, job: Job) -> None:
    Systemd().install(job)
    systemd.tell(no_bus=True)
    [found] = Systemd().find(job.plan)
    assert Systemd().standing(found).loaded is None
    assert "Failed to connect to bus" in Systemd().lacks()
    [warning] = Systemd().remove(found)
    assert "Failed to connect to bus" in warning
    assert units() == []


def test_a_refusal_is_quoted_and_leaves_nothing(systemd: Fakes, job: Job) -> None:
    systemd.tell(refuses="Failed to enable unit: Access denied")
    with pytest.raises(ToolError, match="Access denied") as caught:
        Systemd().install(job)
    assert "--method cron" in caught.value.hint
    assert units() == []


def test_a_refusal_brings_back_what_was_there(systemd: Fakes, job: Job, plan: NightPlan) -> None:
    Systemd().install(job)
    systemd.tell(refuses="Failed to enable unit: Access denied")
    with pytest.raises(ToolError):
        Systemd().install(job_of(plan, time(4, 0)))
    [found] = Systemd().find(job.plan)
    assert found.at == time(2, 30)


def test_standing_tells_whether_it_runs_and_how_it_ended(systemd: Fakes, job: Job) -> None:
    Systemd().install(job)
    [found] = Systemd().find(job.plan)
    standing = Systemd().standing(found)
    assert (standing.loaded, standing.last_exit) == (True, None)
    systemd.tell(active=[], exits={f"{job.label}.service": 1})
    standing = Systemd().standing(found)
    assert (standing.loaded, standing.last_exit) == (False, 1)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[Timer]\nOnCalendar=daily\n"])
def test_a_file_of_its_name_that_is_none_is_passed_over(
    content: bytes, systemd: Fakes, job: Job
) -> None:
    folder = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
    folder.mkdir(parents=True)
    (folder / f"{job.label}.timer").write_bytes(content)
    assert Systemd().find(job.plan) == ()


def test_another_folder_for_settings_is_heeded(
    home: Path, job: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    assert Systemd().folder == tmp_path / "settings" / "systemd" / "user"


def test_without_systemctl_it_says_so(programs: Callable[..., Fakes], home: Path) -> None:
    programs()
    assert Systemd().lacks() == "there is no systemctl"
