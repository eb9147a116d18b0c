"""What is seen of processes, clocks and files around a recording."""

import os
import subprocess

import psutil
import pytest

from tracekit.record.event_export import align
from tracekit.record.xctrace.attempts import Family
from tracekit.workload.journal import ClockAnchor


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


def test_the_nearest_anchor_counts_and_a_step_of_the_clock_is_uncertainty() -> None:
    near = ClockAnchor(monotonic=10 * SECOND, epoch=1_774_906_691 * SECOND)
    far = ClockAnchor(monotonic=90 * SECOND, epoch=1_774_906_771 * SECOND + 5_000)
    known = align("2026-03-30T21:38:10.000+00:00", [far, near])
    assert known["origin"] == 9 * SECOND
    assert known["uncertainty"] == 1_005_000


@pytest.mark.parametrize("date", ["", "yesterday", "2026-03-30T21:38:10.000"])
def test_without_a_date_and_its_zone_nothing_is_known(date: str) -> None:
    assert align(date, [ClockAnchor(1, 2)]) == {}
