"""What a scheduler is to start: whole paths, a bare environment, one label for a plan's file."""

import sys
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import (
    bare_environment,
    job_of,
    names_of,
    rotate_log,
)

NIGHT = time(2, 30)


def test_the_command_line_names_the_interpreter_that_runs_now(plan: NightPlan) -> None:
    job = job_of(plan, NIGHT)
    assert job.argv == (sys.executable, "-P", "-m", "tracekit", "nightly", str(plan.file))
    assert Path(job.argv[0]).is_absolute()
    assert job.folder == plan.file.parent
    assert job.log == plan.output / "nightly.log"


def test_a_relative_plan_becomes_a_whole_path(
    plan: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.file.parent)
    job = job_of(replace(plan, file=Path("tracekit.toml"), output=Path("nights")), NIGHT)
    assert job.argv[-1] == str(plan.file)
    assert job.log == plan.file.parent / "nights" / "nightly.log"
    assert job.label == job_of(plan, NIGHT).label


def test_the_label_tells_plans_apart_and_holds_no_odd_letter(
    plan: NightPlan, tmp_path: Path
) -> None:
    named = job_of(replace(plan, name='Ünder "the" /hood/ %h $HOME'), NIGHT).label
    assert named.startswith("tracekit.nightly.nder-the-hood-h-HOME.")
    assert job_of(replace(plan, name="…"), NIGHT).label.startswith("tracekit.nightly.plan.")
    other = job_of(replace(plan, file=tmp_path / "other.toml"), NIGHT).label
    assert other.rpartition(".")[2] != named.rpartition(".")[2]
    assert Path(named).match(names_of(plan.file))
    assert not Path(other).match(names_of(plan.file))


def test_a_control_character_is_refused(plan: NightPlan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="control character"):
        job_of(replace(plan, output=tmp_path / "two\nlines"), NIGHT)


def test_the_path_has_whole_folders_once_and_those_of_the_system() -> None:
    found = bare_environment({"PATH": "/opt/bin:relative:/usr/bin:/opt/bin:", "HOME": "/h"})
    assert found["PATH"] == "/opt/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def test_only_what_is_named_is_taken_of_the_environment() -> None:
    seen = {
        "HOME": "/home/ada",
        "LANG": "de_DE.UTF-8",
        "DEVELOPER_DIR": "/Applications/Xcode.app",
        "TRACEKIT_CACHE": "/cache",
        "TRACEKIT_DISK_FLOOR": "",
        "TRACEKIT_NIGHTLY_AT": "03:00",
        "SECRET_TOKEN": "s3cret",
        "PYTHONPATH": "/somewhere",
        "VIRTUAL_ENV": "/venv",
    }
    found = bare_environment(seen)
    assert found == {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/home/ada",
        "LANG": "de_DE.UTF-8",
        "DEVELOPER_DIR": "/Applications/Xcode.app",
        "TRACEKIT_CACHE": "/cache",
    }


@pytest.mark.parametrize(("size", "rotated"), [(1 << 20, False), ((1 << 20) + 1, True)])
def test_a_log_that_is_too_large_is_renamed(size: int, rotated: bool, tmp_path: Path) -> None:
    rotate_log(tmp_path)
    (tmp_path / "nightly.log.1").write_bytes(b"older")
    (tmp_path / "nightly.log").write_bytes(b"x" * size)
    rotate_log(tmp_path)
    assert (tmp_path / "nightly.log").exists() is not rotated
    assert (tmp_path / "nightly.log.1").stat().st_size == (size if rotated else 5)
