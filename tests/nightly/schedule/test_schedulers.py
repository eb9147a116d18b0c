"""launchd, systemd and cron: what they are given, asked and left with; missed nights."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from fake_schedulers import Fakes, agents, units
from played_nights import Played
from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.schedule import schedule
from tracekit.nightly.schedule.job import Job, job_of, next_due
from tracekit.nightly.schedule.running import only_one
from tracekit.nightly.schedule.schedulers import (
    Launchd,
    Scheduler,
    Systemd,
    add,
    cron_line,
    files_of,
    find,
    remove,
    standing,
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
        loaded = sorted(each.removesuffix(".timer") for each in known)
        return {each.stem for each in self.files()}, loaded


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
    assert abs(now() - datetime.fromisoformat(found.since)) < timedelta(minutes=5)
    assert oct(found.file.stat().st_mode & 0o777) == "0o644"
    known = standing(ours.scheduler, found)
    assert (known.loaded, known.last_exit) == (True, None)
    ours.fakes.tell(exits={job.label: 4, f"{job.label}.service": 4})
    assert standing(ours.scheduler, found).last_exit == 4

    add(ours.scheduler, job_of(plan, time(4, 0)))
    assert [each.at for each in find(ours.scheduler, job.plan)] == [time(4, 0)]
    renamed = job_of(replace(plan, name="other"), time(4, 0))
    add(ours.scheduler, renamed)
    assert ours.there == ({renamed.label}, [renamed.label])

    ours.fakes.tell(refuses=ours.refusal)
    with pytest.raises(ToolError, match=ours.refusal) as caught:
        add(ours.scheduler, job)
    assert caught.value.hint == ours.scheduler.hint
    [kept] = find(ours.scheduler, job.plan)
    assert (kept.label, kept.at) == (renamed.label, time(4, 0)), "it is there again"


def test_what_was_installed_is_there_again_where_the_next_cannot_be_written(
    ours: Ours, plan: NightPlan
) -> None:
    before, after = job_of(plan, time(2, 30)), job_of(replace(plan, name="other"), time(4, 0))
    add(ours.scheduler, before)
    [old] = find(ours.scheduler, before.plan)
    os.utime(old.file, (0, 0))
    (first, *_) = files_of(ours.scheduler, after)
    first.mkdir()
    with pytest.raises(RecordingError, match="cannot be written"):
        add(ours.scheduler, after)
    first.rmdir()
    assert ours.there == ({before.label}, [before.label])
    assert find(ours.scheduler, before.plan)[0].since.startswith("1970-01-01T00:00:00")


def test_an_odd_job_is_read_back_as_it_was_written_and_leaves_nothing(
    ours: Ours, odd: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(ours.scheduler, odd)
    [found] = find(ours.scheduler, odd.plan)
    assert (found.label, found.at, found.log) == (odd.label, time(23, 5), odd.log)
    whole = found.file.read_bytes()
    for other in (b"\xff\xfe", b"[Timer]\nOnCalendar=daily\n", b"<plist><dict/></plist>"):
        found.file.write_bytes(other)
        assert find(ours.scheduler, odd.plan) == (), "it is none of ours"
    found.file.write_bytes(whole)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        assert "there is no " in ours.scheduler.lacks()
        assert standing(ours.scheduler, found).loaded is None
    assert remove(ours.scheduler, found.label) == ()
    assert (ours.there, find(ours.scheduler, odd.plan)) == ((set(), []), ())
    assert standing(ours.scheduler, found).loaded is False


@pytest.mark.parametrize("ours", ["launchd"], indirect=True)
def test_launchd_is_asked_in_the_users_session(ours: Ours, odd: Job) -> None:
    add(ours.scheduler, odd)
    domain = f"gui/{os.getuid()}"
    assert ours.fakes.asked[-1] == ["launchctl", "bootstrap", domain, str(agents()[0])]
    ours.fakes.tell(loaded={}, no_gui=True)
    with pytest.raises(ToolError, match="Domain does not support specified action") as caught:
        add(ours.scheduler, odd)
    assert f"launchctl bootstrap {domain}" in caught.value.message
    assert "exit code 125" in caught.value.message
    assert "bootout" not in ours.fakes.verbs(), "what is not loaded is not unloaded"


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
    said = [each for each in ran.stderr.splitlines() if job.label in each]
    assert (ran.returncode, said) == (0, [])


def test_what_schedulers_are_given_is_what_their_manuals_document(
    odd: Job, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A night is made up for, stops gently, and takes any letter."""
    job = replace(odd, environment={"PATH": "/usr/bin:/bin", "TRACEKIT_CACHE": ODD})
    files = files_of(Launchd(), job) | files_of(Systemd(), job)
    text = "".join(f"== {file}\n{content.decode()}" for file, content in files.items())
    text += f"== crontab\n{cron_line(job)}\n"
    digest = job.label.rpartition(".")[2]
    for words, name in ((str(tmp_path), "TMP"), (sys.executable, "PYTHON"), (digest, "DIGEST")):
        text = text.replace(words, name)
    golden = Path(__file__).parent / "given.txt"
    if request.config.getoption("--update-goldens"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("ours", ["systemd"], indirect=True)
def test_a_systemd_timer_forgets_when_it_last_ran(
    ours: Ours,
    job: Job,
    plan: NightPlan,
    programs: Callable[..., Fakes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A timer remembers when it last ran; of a new time it would think that it was missed."""
    programs("launchctl")
    ours.fakes.tell(lingers=False)
    schedule.install(plan, NIGHT, "launchd")
    [warning] = schedule.install(plan, NIGHT, "systemd").warnings
    assert (agents(), len(units())) == ([], 3), "another scheduler takes the place of the first"
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


NIGHT = time(2, 30)


def night(plan: NightPlan, started: datetime, **more: Any) -> None:
    name = f"{started:%Y-%m-%dT%H-%M-%S}-abcd"
    folder = plan.output / name
    folder.mkdir(parents=True)
    document = {"id": name, "plan": "paged", "machine": "m", "started": started.isoformat()}
    (folder / "night.json").write_text(json.dumps(document | more))


def now() -> datetime:
    return datetime.now(UTC)


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has launchd")
def test_auto_is_systemd_where_it_runs_and_else_a_line(
    systemd: Fakes, plan: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert schedule.preview(plan, NIGHT).method == "systemd"
    systemd.tell(no_bus=True)
    each = schedule.install(plan, NIGHT)
    assert each.method == "cron"
    assert each.line.startswith("30 2 * * * ")
    assert "Failed to connect to bus" in each.warnings[0]
    assert "crontab -e" in each.warnings[1]
    assert units() == []
    monkeypatch.setenv("PATH", "/opt/" + "x" * 1000)
    long = schedule.preview(plan, NIGHT, "cron")
    assert "998 is the most" in long.warnings[-1]
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
    week_ago = now() - timedelta(days=7)
    assert schedule.status(plan) == schedule.Scheduled((), (), None, None, running=False, missed=())
    assert schedule.missed(plan, week_ago, now()) == []
    schedule.install(plan, at, "launchd")
    assert schedule.missed(plan, week_ago, now()) == []
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
        return [each for each in night.warnings if "did not run" in each]

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
    assert sorted(each.machine for each in noted) == ["mini", "mini", "studio", "studio"]
    assert {f"{datetime.fromisoformat(each.due):%Y-%m-%d %H:%M} UTC" for each in noted} == {
        each.removeprefix("The night that was due at ").removesuffix(" did not run.")
        for each in told
    }
    assert "missed" in played.page
