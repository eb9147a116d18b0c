"""What is seen of processes, clocks and files around a recording."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tracekit.record.event_export import align
from tracekit.record.xctrace.attempts import Family
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
