"""What is seen of processes, clocks and files around a recording."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tracekit.base.processes import end_leftovers, reported, start_of
from tracekit.record.supervisor.guardian import size
from tracekit.record.xctrace.attempts import Family
from tracekit.record.xctrace.clock import align
from tracekit.record.xctrace.staging import staging_files
from tracekit.workload.journal import ClockAnchor

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); time.sleep(60)"
)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(("sleep", "60")) as process:
        yield process
        process.kill()


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[bytes]]:
    argv = (sys.executable, "-I", "-S", "-u", "-c", STUBBORN)
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.processes
def test_children_and_their_children_are_found_after_they_are_gone() -> None:
    with subprocess.Popen(("sh", "-c", "sleep 60 & echo; wait"), stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        family = Family()
        family.look()
        [child] = psutil.Process(shell.pid).children()
        child.kill()
        shell.kill()
    family.look()
    assert [(one.pid, one.name) for one in family.descendants(shell.pid)] == [(child.pid, "sleep")]
    assert shell.pid in {one.pid for one in family.descendants(os.getpid())}


def test_a_process_that_was_never_seen_has_no_children() -> None:
    assert Family().descendants(1) == ()


@pytest.mark.processes
def test_a_program_that_was_left_running_is_ended(sleeper: subprocess.Popen[bytes]) -> None:
    assert end_leftovers(reported(sleeper.pid)) == (sleeper.pid,)
    assert sleeper.wait(10) == -15


@pytest.mark.processes
def test_a_program_that_does_not_want_to_end_is_killed(
    stubborn: subprocess.Popen[bytes],
) -> None:
    end_leftovers(reported(stubborn.pid), grace=0.1)
    assert stubborn.wait(10) == -9


@pytest.mark.processes
def test_a_program_that_was_there_before_is_left_alone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert reported(os.getppid()) == ()
    assert reported(sleeper.pid, start_of(sleeper.pid) + 1) == (), "another one of its number"
    assert reported(sleeper.pid, start_of(sleeper.pid)) == (psutil.Process(sleeper.pid),)
    assert sleeper.poll() is None


@pytest.mark.processes
def test_a_program_that_is_gone_is_no_error() -> None:
    with subprocess.Popen(("true",)) as process:
        [left] = reported(process.pid)
        process.wait()
    assert end_leftovers([left]) == ()
    assert reported(process.pid) == reported(0) == reported(process.pid, 1) == ()


SECOND = 1_000_000_000


def test_the_origin_is_the_monotonic_time_of_the_start_date() -> None:
    anchors = [ClockAnchor(monotonic=500 * SECOND, epoch=1_774_906_700 * SECOND)]
    assert align("2026-03-30T14:38:10.250-07:00", anchors) == {
        "source": "start-date of the TOC",
        "epoch": 1_774_906_690_250_000_000,
        "origin": 500 * SECOND - 9_750_000_000,
        "uncertainty": 1_000_000,
    }


def test_the_nearest_anchor_counts_and_a_step_of_the_clock_is_uncertainty() -> None:
    near = ClockAnchor(monotonic=10 * SECOND, epoch=1_774_906_691 * SECOND)
    far = ClockAnchor(monotonic=90 * SECOND, epoch=1_774_906_771 * SECOND + 5_000)
    known = align("2026-03-30T21:38:10.000+00:00", [far, near])
    assert known["origin"] == 9 * SECOND
    assert known["uncertainty"] == 1_005_000


def test_without_an_anchor_there_is_no_origin() -> None:
    assert align("1970-01-01T00:00:01.000+00:00", []) == {
        "source": "start-date of the TOC",
        "epoch": SECOND,
    }


@pytest.mark.parametrize("date", ["", "yesterday", "2026-03-30T21:38:10.000"])
def test_without_a_date_and_its_zone_nothing_is_known(date: str) -> None:
    assert align(date, [ClockAnchor(1, 2)]) == {}


def test_sizes_of_files_and_folders_add_up(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").mkdir()
    (tmp_path / "a" / "b" / "one").write_bytes(bytes(10))
    (tmp_path / "a" / "two").write_bytes(bytes(5))
    (tmp_path / "three").write_bytes(bytes(2))
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    link = (tmp_path / "a" / "loop").lstat().st_size
    assert size([tmp_path / "a", tmp_path / "three", tmp_path / "gone"]) == 17 + link


def test_staging_files_are_known_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "instruments12ab.ktrace").touch()
    (tmp_path / "other.ktrace").touch()
    assert staging_files() == {tmp_path / "instruments12ab.ktrace"}
