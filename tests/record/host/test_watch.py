import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.record.host.recorder import End, Listener, Pace, Timeouts, last_moment, watch
from tracekit.record.host.sampler import Sampler
from tracekit.workload.journal import ClockAnchor, Journal

PATIENT = Timeouts(ready=600.0, grace=600.0)


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[Sampler]:
    one = Sampler(os.getpid(), tmp_path / "samples.jsonl")
    yield one
    one.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    one = Journal(tmp_path / "workload.jsonl")
    yield one
    one.close()


def running_for(looks: int) -> Callable[[], bool]:
    """Be a target that has ended after a number of looks."""
    left = iter(range(looks))
    return lambda: next(left, None) is not None


def test_it_samples_until_the_target_ends(sampler: Sampler, tmp_path: Path) -> None:
    told: list[str] = []
    pace = Pace(0.001, 600.0, PATIENT)
    end = watch(sampler, Listener(None), pace, told.append, running=running_for(5))
    assert end is End.EXITED
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 6
    assert told == []


def test_the_workers_phases_are_told(sampler: Sampler, journal: Journal) -> None:
    journal.write("phase", name="prepare", start=1)
    told: list[str] = []
    pace = Pace(0.001, 600.0, PATIENT)

    def running() -> bool:
        journal.write("phase", name="steady", start=ClockAnchor.now().monotonic)
        return len(told) < 2

    assert watch(sampler, Listener(journal.path), pace, told.append, running=running) is End.EXITED
    assert told == ["prepare", "steady"]


def test_a_workers_time_counts_from_its_steady_phase(sampler: Sampler, journal: Journal) -> None:
    now = ClockAnchor.now().monotonic
    journal.write("phase", name="steady", start=now)
    pace = Pace(0.001, 0.02, Timeouts(ready=0.0, grace=0.02))
    end = watch(sampler, Listener(journal.path), pace, str, running=lambda: True)
    assert end is End.LIMIT
    assert ClockAnchor.now().monotonic - now >= 40_000_000


def test_a_worker_has_the_time_that_it_says_it_needs(journal: Journal) -> None:
    """After 300 s it measures for 20 s what recording cost, however much grace there is."""
    listener, second = Listener(journal.path), 1_000_000_000
    pace = Pace(0.025, 300.0, Timeouts(grace=20.0))
    journal.write("phase", name="steady", start=7 * second)
    listener.listen()
    assert last_moment(0, listener, pace) == 327 * second
    journal.write("phase", name="overhead", start=307 * second)
    journal.write("busy", until=328 * second)
    listener.listen()
    assert last_moment(0, listener, pace) == 348 * second


def test_ctrl_c_is_an_end(sampler: Sampler) -> None:
    def running() -> bool:
        raise KeyboardInterrupt

    pace = Pace(0.001, 600.0, PATIENT)
    assert watch(sampler, Listener(None), pace, str, running=running) is End.INTERRUPTED
