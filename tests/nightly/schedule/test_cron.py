"""A line for cron: what a shell makes of it, and that nobody's crontab is touched."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from fake_schedulers import Fakes
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import Job, job_of
from tracekit.nightly.schedule.scheduler import Cron, cron_line

pytestmark = pytest.mark.processes

ODD = "50 % of \"a\" $HOME 'b' \\n ; # é"


@pytest.fixture
def job(plan: NightPlan, home: Path) -> Job:
    return job_of(plan, time(2, 30))


def test_the_line_has_its_time_and_its_name(job: Job) -> None:
    text = cron_line(job)
    assert text.startswith("30 2 * * * cd ")
    assert text.endswith(f" # {job.label}")
    assert "\n" not in text


def test_a_shell_runs_just_that_in_just_that_environment(job: Job, tmp_path: Path) -> None:
    """As crontab(5) says, `%` ends a command unless it has a backslash, which cron removes."""
    folder = tmp_path / ODD
    folder.mkdir()
    odd = replace(
        job,
        argv=("/usr/bin/env",),
        environment={"PATH": "/usr/bin:/bin", "TRACEKIT_CACHE": ODD},
        folder=folder,
        log=folder / "nightly.log",
    )
    command = cron_line(odd).split(" * * * ", 1)[1].replace("\\%", "%")
    subprocess.run(["/bin/sh", "-c", command], check=True, env={"SECRET": "s3cret"})
    seen = (folder / "nightly.log").read_text().splitlines()
    assert sorted(seen) == ["PATH=/usr/bin:/bin", f"TRACEKIT_CACHE={ODD}"]


def test_no_percent_is_left_without_a_backslash(job: Job) -> None:
    text = cron_line(replace(job, folder=Path("/100%"), environment={"A": "%%"}))
    assert text.count("%") == text.count("\\%") == 3


def test_it_is_found_in_a_crontab_among_others(
    job: Job, programs: Callable[..., Fakes], tmp_path: Path
) -> None:
    text = cron_line(job)
    fakes = programs("crontab")
    fakes.tell(crontab=f"# m h dom mon dow\n5 4 * * * backup # tracekit\n{text}\n")
    [found] = Cron().find(job.plan)
    assert (found.method, found.label, found.at) == ("cron", job.label, time(2, 30))
    assert found.since == job.environment["TRACEKIT_NIGHTLY_SINCE"]
    assert found.file is None
    assert Cron().find(tmp_path / "other.toml") == ()
    fakes.tell(crontab=text.replace("30 2", "99 2"))
    assert Cron().find(job.plan) == ()


def test_no_crontab_and_no_cron_are_nothing_found(job: Job, programs: Callable[..., Fakes]) -> None:
    programs("crontab")
    assert Cron().find(job.plan) == ()
    (Path(programs().folder) / "crontab").unlink()
    assert Cron().find(job.plan) == ()


def test_it_says_what_is_to_be_done_by_hand(job: Job, programs: Callable[..., Fakes]) -> None:
    programs("crontab").tell(crontab=cron_line(job))
    assert "crontab -e" in Cron().install(job)[0]
    [found] = Cron().find(job.plan)
    assert found.label in Cron().remove(found)[0]
    assert Cron().standing(found).loaded is None
