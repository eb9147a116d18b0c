"""launchd, systemd and cron: what they are given, how they are asked, and that nothing is left."""

import os
import plistlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from fake_schedulers import Fakes, agents, units
from tracekit.base.errors import ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import Job, job_of
from tracekit.nightly.schedule.schedulers import (
    Launchd,
    Scheduler,
    Systemd,
    add,
    cron_line,
    files_of,
    find,
    remove,
    service,
    standing,
    timer,
)

pytestmark = pytest.mark.processes

ANALYZE = shutil.which("systemd-analyze")
ODD = "50 % of \"a\" $HOME 'b' \\n ; # é"


@pytest.fixture
def job(plan: NightPlan, home: Path) -> Job:
    return job_of(plan, time(2, 30))


@pytest.fixture
def odd(plan: NightPlan, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose every path and value has letters that mean something to schedulers."""
    monkeypatch.setenv("TRACEKIT_CACHE", ODD)
    folder = tmp_path / ODD
    (folder / "nights").mkdir(parents=True)
    file = folder / "tracekit.toml"
    file.write_text("")
    return job_of(replace(plan, name=ODD, file=file, output=folder / "nights"), time(23, 5))


@dataclass(frozen=True)
class Ours:
    """A scheduler, the program that stands for it, and the files and jobs that it has."""

    fakes: Fakes
    make: Callable[[], Scheduler]
    files: Callable[[], list[Path]]
    key: str
    refusal: str

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler, of the home and settings of now."""
        return self.make()

    @property
    def there(self) -> tuple[set[str], list[str]]:
        """The labels of its files, and of what it was asked to load."""
        known: Any = self.fakes.known.get(self.key, [])
        loaded = sorted(one.removesuffix(".timer") for one in known)
        return {one.stem for one in self.files()}, loaded


@pytest.fixture(params=["launchd", "systemd"])
def ours(request: pytest.FixtureRequest) -> Ours:
    fakes = request.getfixturevalue(request.param)
    if request.param == "launchd":
        return Ours(fakes, Launchd, agents, "loaded", "Bootstrap failed: 119: disabled")
    fakes.tell(lingers=True)
    return Ours(fakes, Systemd, units, "active", "Failed to enable unit: Access denied")


def test_a_job_is_loaded_found_replaced_and_removed(ours: Ours, job: Job, plan: NightPlan) -> None:
    ours.fakes.tell(lingering=3)  # launchctl returns before the job is gone
    assert add(ours.scheduler, job) == ()
    [found] = find(ours.scheduler, job.plan)
    assert (found.label, found.at, found.log) == (job.label, time(2, 30), job.log)
    assert found.since == job.environment["TRACEKIT_NIGHTLY_SINCE"]
    assert oct(found.file.stat().st_mode & 0o777) == "0o644"
    known = standing(ours.scheduler, found)
    assert (known.loaded, known.last_exit) == (True, None)
    ours.fakes.tell(exits={job.label: 4, f"{job.label}.service": 4})
    assert standing(ours.scheduler, found).last_exit == 4

    add(ours.scheduler, job_of(plan, time(4, 0)))
    assert [one.at for one in find(ours.scheduler, job.plan)] == [time(4, 0)]
    renamed = job_of(replace(plan, name="other"), time(4, 0))
    add(ours.scheduler, renamed)
    assert ours.there == ({renamed.label}, [renamed.label])

    ours.fakes.tell(refuses=ours.refusal)
    with pytest.raises(ToolError, match=ours.refusal) as caught:
        add(ours.scheduler, job)
    assert caught.value.hint == ours.scheduler.hint
    assert ours.there == (set(), [])


def test_an_odd_job_is_read_back_as_it_was_written_and_leaves_nothing(
    ours: Ours, odd: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(ours.scheduler, odd)
    [found] = find(ours.scheduler, odd.plan)
    assert (found.label, found.at, found.log) == (odd.label, time(23, 5), odd.log)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        assert "there is no " in ours.scheduler.lacks()
        assert standing(ours.scheduler, found).loaded is None
    assert remove(ours.scheduler, found.label) == ()
    assert (ours.there, find(ours.scheduler, odd.plan)) == ((set(), []), ())
    assert standing(ours.scheduler, found).loaded is False


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"[Timer]\nOnCalendar=daily\n", b"<plist><dict/></plist>"]
)
def test_a_file_of_its_name_that_is_none_is_passed_over(
    content: bytes, ours: Ours, job: Job
) -> None:
    file = next(iter(files_of(ours.scheduler, job)))
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert find(ours.scheduler, job.plan) == ()


@pytest.mark.parametrize("ours", ["launchd"], indirect=True)
def test_launchd_is_given_documented_keys_in_the_users_session(ours: Ours, odd: Job) -> None:
    """The keys that launchd.plist(5) documents for an agent that runs at a time of the day."""
    ((file, content),) = files_of(Launchd(), odd).items()
    assert file == Path.home() / "Library" / "LaunchAgents" / f"{odd.label}.plist"
    assert plistlib.loads(content) == {
        "Label": odd.label,
        "ProgramArguments": list(odd.argv),
        "WorkingDirectory": str(odd.folder),
        "EnvironmentVariables": odd.environment,
        "StandardOutPath": str(odd.log),
        "StandardErrorPath": str(odd.log),
        "StartCalendarInterval": {"Hour": 23, "Minute": 5},
        "ProcessType": "Interactive",
        "ExitTimeOut": 300,
        "RunAtLoad": False,
    }
    add(ours.scheduler, odd)
    domain = f"gui/{os.getuid()}"
    assert ours.fakes.asked[-1] == ["launchctl", "bootstrap", domain, str(agents()[0])]
    ours.fakes.tell(loaded={}, no_gui=True)
    with pytest.raises(ToolError, match="Domain does not support specified action") as caught:
        add(ours.scheduler, odd)
    assert f"launchctl bootstrap {domain}" in caught.value.message
    assert "exit code 125" in caught.value.message
    assert "bootout" not in ours.fakes.verbs(), "what is not loaded is not unloaded"


def values(text: str, key: str) -> list[str]:
    return [one.partition("=")[2] for one in text.splitlines() if one.startswith(f"{key}=")]


@pytest.mark.skipif(ANALYZE is None, reason="no systemd-analyze on the PATH")
@pytest.mark.parametrize("name", ["job", "odd"])
def test_systemd_itself_finds_nothing_wrong(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    job: Job = request.getfixturevalue(name)
    scheduler = Systemd()
    scheduler.folder = tmp_path / "units"
    files = files_of(scheduler, job)
    (tmp_path / "units").mkdir()
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


def test_systemd_makes_up_for_a_night_stops_gently_and_takes_any_letter(odd: Job) -> None:
    text = service(odd)
    keys = ("OnCalendar", "Persistent", "WantedBy", "Type", "KillMode", "TimeoutStartSec")
    assert [one for key in keys for unit in (timer(odd), text) for one in values(unit, key)] == [
        *("*-*-* 23:05:00", "true", "timers.target", "oneshot", "process", "10800")
    ]
    [command] = values(text, "ExecStart")
    assert command.endswith('50 %% of \\"a\\" $$HOME \'b\' \\\\n ; # é/tracekit.toml"')
    assert values(text, "WorkingDirectory")[0].endswith("/50 %% of \"a\" $HOME 'b' \\n ; # é/")
    cache = '"TRACEKIT_CACHE=50 %% of \\"a\\" $HOME \'b\' \\\\n ; # é"'
    assert cache in values(text, "Environment")


@pytest.mark.parametrize("ours", ["systemd"], indirect=True)
def test_a_systemd_timer_forgets_when_it_last_ran(
    ours: Ours, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timer remembers when it last ran; of a new time it would think that it was missed."""
    ours.fakes.tell(lingers=False)
    [warning] = add(ours.scheduler, job)
    assert "loginctl enable-linger" in warning
    add(ours.scheduler, job)
    verbs = ours.fakes.verbs()
    assert verbs.index("disable") < verbs.index("clean") < len(verbs) - 1
    assert verbs[-2:] == ["daemon-reload", "enable"]
    ours.fakes.tell(no_bus=True)
    [found] = find(ours.scheduler, job.plan)
    assert "Failed to connect to bus" in ours.scheduler.lacks()
    [warning] = remove(ours.scheduler, found.label)
    assert "Failed to connect to bus" in warning
    assert units() == []
    ours.fakes.tell(no_bus=False)
    add(ours.scheduler, job)
    monkeypatch.setenv("PATH", "/nowhere")
    [warning] = remove(ours.scheduler, found.label)
    assert "no systemctl" in warning
    assert units() == []


def test_a_shell_runs_just_that_in_just_that_environment(job: Job, tmp_path: Path) -> None:
    """As crontab(5) says, `%` ends a command unless it has a backslash, which cron removes."""
    folder = tmp_path / ODD
    folder.mkdir()
    seen = replace(
        job,
        argv=("/usr/bin/env",),
        environment={"PATH": "/usr/bin:/bin", "TRACEKIT_CACHE": ODD},
        folder=folder,
        log=folder / "nightly.log",
    )
    text = cron_line(seen)
    assert text.startswith("30 2 * * * cd ")
    assert text.endswith(f" # {job.label}")
    assert text.count("%") == text.count("\\%") > 0
    command = text.split(" * * * ", 1)[1].replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", command], check=True, env={"SECRET": "s3cret"})
    lines = (folder / "nightly.log").read_text().splitlines()
    assert sorted(lines) == ["PATH=/usr/bin:/bin", f"TRACEKIT_CACHE={ODD}"]
