"""launchd, systemd and cron: what they are given, asked and left with; nights that are missed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from shlex import quote
from threading import Timer
from threading import enumerate as threads
from typing import Any

import pytest

from children import running, started_since, until
from fake_schedulers import Fakes, lying_around
from played_nights import Played
from stored_nights import night_of
from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.folder import NightFolder, make_output
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.schedule import installation
from tracekit.nightly.schedule.job import Job, job_of, next_due
from tracekit.nightly.schedule.running import LOCK, awake, enforce_budget, only_one, runs_in
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

Run = Callable[..., Any]
ANALYZE = shutil.which("systemd-analyze")
ODD = "50 % of \"a\" $HOME 'b' \\n ; # é"
NIGHT = time(2, 30)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def read_clock() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(params=[Launchd, Systemd])
def scheduler(request: pytest.FixtureRequest, fakes: Fakes) -> Scheduler:
    return request.param()


@pytest.fixture
def job(plan: NightPlan, fakes: Fakes) -> Job:
    return job_of(plan, NIGHT)


@pytest.fixture
def odd(plan: NightPlan, fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose every path and value has letters that mean something to schedulers."""
    monkeypatch.setenv("TRACEKIT_CACHE", ODD)
    folder = tmp_path / ODD
    (folder / "nights").mkdir(parents=True)
    (folder / "tracekit.toml").touch()
    odd_plan = replace(plan, name=ODD, file=folder / "tracekit.toml", output=folder / "nights")
    return job_of(odd_plan, time(23, 5))


def there(fakes: Fakes) -> tuple[set[str], list[str]]:
    """Return the labels of the files that lie around, and of the jobs that are loaded."""
    return {file.stem for file in lying_around()}, fakes.loaded_labels


@pytest.mark.processes
def test_a_job_is_loaded_found_replaced_and_removed(
    scheduler: Scheduler, fakes: Fakes, job: Job, plan: NightPlan
) -> None:
    fakes.tell(lingering=3)  # launchctl returns before the job is gone
    assert add(scheduler, job) == ()
    [installed_job] = find(scheduler, job.plan)
    assert (installed_job.label, installed_job.at, installed_job.log) == (job.label, NIGHT, job.log)
    assert abs(read_clock() - datetime.fromisoformat(installed_job.since)) < timedelta(minutes=5)
    assert oct(installed_job.file.stat().st_mode & 0o777) == "0o644"
    state = standing(scheduler, installed_job)
    assert (state.loaded, state.last_exit) == (True, None)
    fakes.tell(exits={job.label: 4, f"{job.label}.service": 4})
    assert standing(scheduler, installed_job).last_exit == 4

    add(scheduler, job_of(plan, time(4, 0)))
    assert [installed.at for installed in find(scheduler, job.plan)] == [time(4, 0)]
    renamed = job_of(replace(plan, name="other"), time(4, 0))
    add(scheduler, renamed)
    assert there(fakes) == ({renamed.label}, [renamed.label])
    [reloaded_job] = find(scheduler, job.plan)
    assert remove(scheduler, renamed.label) == ()
    assert (there(fakes), find(scheduler, job.plan)) == ((set(), []), ())
    assert standing(scheduler, reloaded_job).loaded is False


@pytest.mark.processes
def test_a_former_schedule_returns_if_the_next_cannot_be_installed(
    scheduler: Scheduler, fakes: Fakes, job: Job, plan: NightPlan
) -> None:
    installed = job_of(replace(plan, name="other"), time(4, 0))
    add(scheduler, installed)
    fakes.tell(refuses="Operation not permitted")
    with pytest.raises(ToolError, match="Operation not permitted") as caught:
        add(scheduler, job)
    assert caught.value.hint == scheduler.hint
    [restored_job] = find(scheduler, job.plan)
    assert (restored_job.label, restored_job.at) == (installed.label, time(4, 0))
    fakes.tell(refuses="")
    os.utime(restored_job.file, (0, 0))
    (first_file, *_) = files_of(scheduler, job)
    first_file.mkdir()
    with pytest.raises(RecordingError, match="cannot be written"):
        add(scheduler, job)
    first_file.rmdir()
    assert there(fakes) == ({installed.label}, [installed.label])
    assert find(scheduler, job.plan)[0].since.startswith("1970-01-01T00:00:00")


def test_an_odd_job_is_loaded_and_read_back_as_it_was_written(
    scheduler: Scheduler, fakes: Fakes, odd: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (add(scheduler, odd), there(fakes)) == ((), ({odd.label}, [odd.label]))
    [installed_job] = find(scheduler, odd.plan)
    assert (installed_job.label, installed_job.at, installed_job.log) == (
        odd.label,
        time(23, 5),
        odd.log,
    )
    monkeypatch.setenv("PATH", "/nowhere")
    assert "there is no " in scheduler.lacks()
    assert standing(scheduler, installed_job).loaded is None
    for content in (b"\xff\xfe", b"[Timer]\nOnCalendar=daily\n", b"<plist><dict/></plist>"):
        installed_job.file.write_bytes(content)
        assert find(scheduler, odd.plan) == (), (content, "it is none of ours")
    installed_job.file.unlink()
    installed_job.file.mkdir()
    assert find(scheduler, odd.plan) == ()


@pytest.mark.processes
def test_launchd_is_asked_in_the_users_session(fakes: Fakes, odd: Job) -> None:
    add(Launchd(), odd)
    domain = f"gui/{os.getuid()}"
    assert fakes.commands[-1] == ["launchctl", "bootstrap", domain, str(lying_around()[0])]
    fakes.tell(loaded={}, no_gui=True)
    with pytest.raises(ToolError, match="Domain does not support specified action") as caught:
        add(Launchd(), odd)
    assert f"launchctl bootstrap {domain}" in caught.value.message
    assert "exit code 125" in caught.value.message
    assert "bootout" not in fakes.verbs(), "what is not loaded is not unloaded"


@pytest.mark.processes
@pytest.mark.skipif(ANALYZE is None, reason="no systemd-analyze on the PATH")
def test_systemd_itself_finds_nothing_wrong(job: Job, odd: Job, tmp_path: Path) -> None:
    files = files_of(Systemd(), job) | files_of(Systemd(), odd)
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    assert ANALYZE is not None
    argv = [ANALYZE, "verify", "--man=no", "--user", *map(str, files)]
    home_variables = {name: str(tmp_path) for name in ("HOME", "XDG_RUNTIME_DIR")}
    env = {"PATH": os.environ["PATH"], **home_variables}
    verify_run = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    labels = (job.label, odd.label)
    complaints = [
        line for line in verify_run.stderr.splitlines() if any(label in line for label in labels)
    ]
    assert (verify_run.returncode, complaints) == (0, [])


def test_schedulers_get_documented_arguments(
    odd: Job, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    """A night is made up for, stops gently, and takes any letter."""
    job = replace(odd, environment={"PATH": "/usr/bin:/bin", "TRACEKIT_CACHE": ODD})
    files = files_of(Launchd(), job) | files_of(Systemd(), job)
    text = "".join(f"== {file}\n{content.decode()}" for file, content in files.items())
    text += f"== crontab\n{cron_line(job)}\n"
    digest = job.label.rpartition(".")[2]
    for words, name in ((str(tmp_path), "TMP"), (sys.executable, "PYTHON"), (digest, "DIGEST")):
        text = text.replace(words, name)
    golden("given.txt", text)


@pytest.mark.processes
def test_a_systemd_timer_forgets_when_it_last_ran(
    fakes: Fakes, job: Job, plan: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timer remembers when it last ran; of a new time it would think that it was missed."""
    systemd = Systemd()
    fakes.tell(lingers=False)
    installation.install(plan, NIGHT, "launchd")
    [warning] = installation.install(plan, NIGHT, "systemd").warnings
    assert sorted(file.suffix for file in lying_around()) == [".service", ".timer", ".timer"]
    assert "loginctl enable-linger" in warning
    add(systemd, job)
    verbs = fakes.verbs()
    assert all("--now" in line for line in fakes.commands if "disable" in line)
    assert verbs.index("disable") < verbs.index("clean") < len(verbs) - 1
    assert verbs[-2:] == ["daemon-reload", "enable"]
    fakes.tell(no_bus=True)
    assert "Failed to connect to bus" in systemd.lacks()
    [warning] = remove(systemd, job.label)
    assert "Failed to connect to bus" in warning
    monkeypatch.setenv("PATH", "/nowhere")
    [warning] = remove(systemd, job.label)
    assert "no systemctl" in warning
    assert lying_around() == []


def test_a_shell_runs_just_that_in_just_that_environment(job: Job, tmp_path: Path) -> None:
    """As crontab(5) says, `%` ends a command unless it has a backslash, which cron removes."""
    folder = tmp_path / ODD
    folder.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "TRACEKIT_CACHE": ODD}
    job_fields = {"environment": environment, "folder": folder, "log": folder / "nightly.log"}
    text = cron_line(replace(job, argv=("/usr/bin/env",), **job_fields))
    assert text.startswith("30 2 * * * cd ")
    assert text.endswith(f" # {job.label}")
    assert text.count("%") == text.count("\\%") > 0
    command = text.split(" * * * ", 1)[1].replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", command], check=True, env={"SECRET": "s3cret"})
    lines = (folder / "nightly.log").read_text().splitlines()
    assert sorted(lines) == [f"{name}={value}" for name, value in environment.items()]


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has launchd")
def test_auto_is_systemd_if_it_runs_and_else_a_line(
    fakes: Fakes, plan: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert installation.preview(plan, NIGHT).method == "systemd"
    fakes.tell(no_bus=True)
    monkeypatch.setenv("PATH", str(fakes.folder))
    planned = installation.install(plan, NIGHT)
    assert (planned.method, planned.line[:11]) == ("cron", "30 2 * * * ")
    assert "Failed to connect to bus" in planned.warnings[0]
    assert "crontab -e" in planned.warnings[1]
    assert lying_around() == []
    monkeypatch.setenv("PATH", "/opt/" + "x" * 1000)
    long = installation.preview(plan, NIGHT, "cron")
    assert "998 is the most" in long.warnings[-1]
    with pytest.raises(ToolError, match="launchd cannot be used here: there is no launchctl"):
        installation.install(plan, NIGHT, "launchd")


@pytest.mark.processes
def test_status_tells_the_last_missed_and_running_nights(fakes: Fakes, plan: NightPlan) -> None:
    daily_time = (
        (read_clock().astimezone() - timedelta(hours=1)).time().replace(second=0, microsecond=0)
    )
    week_ago = read_clock() - 7 * DAY
    assert installation.status(plan) == installation.Scheduled(
        (), (), None, None, running=False, missed=()
    )
    assert installation.find_missed_times(plan, week_ago, read_clock()) == []
    installation.install(plan, daily_time, "launchd")
    assert installation.find_missed_times(plan, week_ago, read_clock()) == []
    due_time = next_due(daily_time, read_clock())
    assert installation.status(plan, due_time + 10 * MINUTE).missed == ()
    assert installation.status(plan, due_time + 20 * MINUTE).missed == (due_time,)
    assert installation.find_missed_times(plan, due_time, due_time + 3 * DAY - MINUTE / 2) == [
        due_time + DAY,
        due_time + 2 * DAY,
    ]
    with only_one(plan):
        status = installation.status(plan, due_time + 20 * MINUTE)
        assert (status.running, status.missed) == (True, ()), "it is the one that was due"
        with pytest.raises(ToolError, match="A night runs now"):
            installation.install(plan, time(4, 0), "launchd")
        with pytest.raises(ToolError, match="A night runs now"):
            installation.uninstall(plan.file)
    loads = ["bootstrap", "kickstart", "bootout", "bootstrap"]
    assert fakes.verbs() == loads, "what runs is not stopped"
    for days, outcome in ((9, Outcome.REGRESSION), (3, Outcome.OK)):
        night = night_of(days, (), plan="paged", outcome=outcome, reason="As it was.")
        night = replace(night, started=(read_clock() - days * DAY).isoformat())
        NightFolder(make_output(plan.output / night.id)).save(night)
    (plan.output / "broken").mkdir()
    (plan.output / "broken" / "night.json").write_text("{")
    later = read_clock() + 2 * DAY
    status = installation.status(plan, later)
    assert status.last is not None
    assert (status.last.outcome, status.last.reason) == ("ok", "As it was.")
    assert status.standing[0].loaded is True
    assert len(status.missed) == 2, "only what was due after it was installed"
    assert status.next == next_due(daily_time, later)


@pytest.mark.processes
def test_a_python_without_tracekit_is_found_out_at_once(
    fakes: Fakes, plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho No module named tracekit >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ToolError, match="No module named tracekit") as caught:
        installation.install(plan, NIGHT, "launchd")
    assert str(python) in caught.value.hint
    assert lying_around() == []
    python.write_text("#!/bin/sh\n")
    installed = installation.install(plan, NIGHT, "launchd")
    assert (installed.method, [*installed.files], installed.line) == ("launchd", lying_around(), "")
    assert fakes.verbs() == ["bootstrap", "kickstart", "bootout", "bootstrap"]
    assert timedelta(0) < installed.next - read_clock() <= DAY + timedelta(hours=1)
    assert [job.at for job in find(Launchd(), plan.file)] == [NIGHT]


@pytest.mark.processes
def test_nights_that_did_not_run_are_noted_by_machine(fakes: Fakes, played: Played) -> None:
    played.begin('revision = "FIRST"')
    played.commit(1.0)
    first_begin = read_clock() + 5 * MINUTE
    far = time((first_begin.astimezone() + DAY / 2).hour, 30)  # from now, whenever this test runs
    installation.install(read_plan(played.plan), far, "launchd")

    def find_missed_warnings(delay: timedelta) -> list[str]:
        night = played.night(begin_time=first_begin + delay)
        return [words for words in night.warnings if "did not run" in words]

    assert find_missed_warnings(timedelta(0)) == []
    warnings = find_missed_warnings(3 * DAY)
    assert len(warnings) == 2, "of three due times the last is its own"
    assert find_missed_warnings(3 * DAY + MINUTE) == []
    assert find_missed_warnings(DAY) == [], (
        "the clock went back: what it says now was before all of that"
    )
    text = played.plan.read_text()
    played.plan.write_text(text.replace('machine = "mini"', 'machine = "studio"'))
    assert find_missed_warnings(3 * DAY) == warnings
    with Store.connect(read_plan(played.plan).history) as store:
        missed_nights = store.missed_nights()
    assert sorted(night.machine for night in missed_nights) == ["mini", "mini", "studio", "studio"]
    dues = {f"{datetime.fromisoformat(night.due):%Y-%m-%d %H:%M} UTC" for night in missed_nights}
    assert {f"The night that was due at {due_text} did not run." for due_text in dues} == {
        *warnings
    }
    assert "missed" in played.page


@pytest.mark.processes
def test_nights_begin_at_half_past_two_or_as_they_did(
    fakes: Fakes, plan: NightPlan, tracekit: Run
) -> None:
    install = ("nightly", "install", plan.file, "--method", "launchd")
    dry_run = tracekit(*install, "--dry-run")
    assert (dry_run.code, lying_around()) == (0, []), dry_run.err
    times = ("<integer>2</integer>", "<integer>30</integer>")
    assert [words for words in times if words not in dry_run.out] == []
    assert tracekit(*install, "--at", "04:15").code == 0
    assert tracekit(*install).code == 0
    assert "04:15 every day, launchd" in tracekit("nightly", "status", plan.file).out
    tracekit("nightly", "uninstall", plan.file)


@pytest.mark.processes
def test_the_nearest_plan_is_meant_and_a_dry_run_prints_the_files(
    fakes: Fakes, plan: NightPlan, tracekit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.file.parent)
    install_command = ("nightly", "install", "--at", "2:30", "--method", "launchd")
    dry_run = tracekit(*install_command, "--dry-run")
    assert (dry_run.code, "<key>StartCalendarInterval</key>" in dry_run.out) == (0, True)
    assert lying_around() == []
    installed = tracekit(*install_command)
    [agent] = lying_around()
    assert (installed.code, "next night" in installed.out) == (0, True)
    assert str(agent) in installed.out + installed.err
    assert "02:30 every day, launchd" in tracekit("nightly", "status").out
    status = json.loads(tracekit("nightly", "status", "--json").out)
    assert status["installed"][0]["at"] == "02:30:00"
    assert status["standing"] == [{"loaded": True, "last_exit": None, "words": ""}]
    assert status["running"] is False
    plan.file.write_text("[nightly")
    assert tracekit("nightly", "install", plan.file, "--at", "03:30").code == 2
    assert lying_around() == [agent]
    removed = tracekit("nightly", "uninstall", plan.file)
    assert (removed.code, removed.out) == (0, f"removed  launchd, {agent}\n"), "though it is broken"
    assert lying_around() == []
    assert "No nights of" in tracekit("nightly", "uninstall", plan.file).out


@pytest.mark.parametrize(
    ("course", "words"),
    [
        ({"outcome": Outcome.INCONCLUSIVE, "reason": "Busy.", "partial": True},
         ", inconclusive, partial: Busy."),
        ({"reason": "decode (p50: slow)."}, ", regression: decode (p50: slow)."),
        ({"outcome": None, "reason": "", "ended": ""}, ", not ended"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("fakes")
def test_status_says_how_the_last_night_ended(
    course: dict[str, Any], words: str, plan: NightPlan, tracekit: Run
) -> None:
    night = night_of(21, plan=plan.name, **course)
    NightFolder(make_output(plan.output / night.id)).save(night)
    status_run = tracekit("nightly", "status", plan.file)
    assert status_run.code == 0
    [line] = [line for line in status_run.out.splitlines() if line.startswith("last night")]
    assert line.endswith(words)
    assert "no; `tracekit nightly install --at 02:30` does it" in status_run.out


def read_refusal_hint(plan: NightPlan, words: str) -> str:
    with pytest.raises(ToolError, match=words) as caught, only_one(plan):
        pytest.fail("two nights at once")
    return caught.value.hint


def test_a_second_night_is_refused_with_the_name_of_the_first(
    plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with only_one(plan):
        whose = rf"paged \({plan.file}\), since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d, "
        whose += rf"in process {os.getpid()}\.$"
        assert f"`kill -TERM {os.getpid()}`" in read_refusal_hint(plan, whose)
        read_refusal_hint(replace(plan, output=tmp_path / "elsewhere"), "on this machine")
        with monkeypatch.context() as patch:
            patch.setenv("TRACEKIT_CACHE", str(tmp_path / "notes"))
            read_refusal_hint(plan, "Another night runs here")
        for file in (plan.output / LOCK, *Path(os.environ["TRACEKIT_CACHE"]).glob("night-on-*")):
            file.write_text("{")
        read_refusal_hint(plan, r"Another night runs on this machine\.$")
        assert runs_in(plan.output)
    assert not runs_in(plan.output)
    with only_one(plan):
        assert runs_in(plan.output)


def test_caffeinate_holds_on_as_long_as_the_night(tmp_path: Path) -> None:
    program, arguments_file = tmp_path / "caffeinate", tmp_path / "said"
    program.write_text(f'#!/bin/sh\necho "$@" > {quote(str(arguments_file))}; exec sleep 600\n')
    program.chmod(0o755)
    initial_processes = running()
    with awake(program, "linux"), awake(tmp_path / "gone", "darwin"):
        assert started_since(initial_processes) == []
    with suppress(ToolError), awake(program, "darwin"):
        assert len(started_since(initial_processes)) == 1
        until(lambda: arguments_file.exists() and arguments_file.read_text())
        assert arguments_file.read_text() == f"-i -s -w {os.getpid()}\n"
        raise ToolError("The night failed.")
    assert (arguments_file.exists(), started_since(initial_processes)) == (True, [])


HANGS = """
import signal, sys, time
from tracekit.nightly.schedule.running import enforce_budget
def stop(*_):
    print("kept", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
with enforce_budget(0.1, grace=0.2):
    time.sleep(60)
"""


@pytest.mark.processes
def test_a_night_that_hangs_is_stopped_as_systemd_would() -> None:
    argv = [sys.executable, "-c", HANGS]
    shell_run = subprocess.run(argv, capture_output=True, text=True, timeout=50, check=False)
    assert (shell_run.returncode, shell_run.stdout) == (0, "kept\n")


def test_the_clock_of_a_night_that_failed_stops_nothing_later() -> None:
    clocks: list[Timer] = []
    with suppress(ToolError), enforce_budget(60.0, grace=1.5):
        clocks += [
            thread for thread in threads() if isinstance(thread, Timer) and thread.interval == 61.5
        ]
        raise ToolError("It failed.")
    assert [clock.finished.is_set() for clock in clocks] == [True]
