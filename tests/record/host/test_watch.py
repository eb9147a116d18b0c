"""Samples as they come, the worker's marks as they are heard, and when watching ends."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tracekit.base.errors import RecordingError, UsageError
from tracekit.record.host.recorder import (
    End,
    Listener,
    Pace,
    Timeouts,
    last_moment,
    phase_in_words,
    watch,
)
from tracekit.record.host.sampler import Sampler, process_name, read_samples
from tracekit.record.recorder import running
from tracekit.workload.journal import ClockAnchor, Journal

PATIENT = Pace(0.001, 600.0, Timeouts(ready=600.0, grace=600.0))


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    return tmp_path / "samples.jsonl"


@pytest.fixture
def sampler(samples: Path) -> Iterator[Sampler]:
    made = Sampler(os.getpid(), samples)
    yield made
    made.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "workload.jsonl")
    yield made
    made.close()


class Times(NamedTuple):
    """A clock and what it reads."""

    user: float = 2.0
    system: float = 0.5
    idle: float = 90.0
    iowait: float = 7.0
    guest: float = 1.0  # is in that of users already


def test_samples_are_kept_as_they_come(
    sampler: Sampler, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    sampler.take()
    (first,) = read_samples(samples)
    assert sum(number * number for number in range(200_000)) > 0
    done.set()
    waiting.join()  # switches of a thread that ended still count
    sampler.take()
    _, second = read_samples(samples)
    assert second.at > first.at
    assert second.cpu > first.cpu
    assert second.machine >= first.machine
    assert second.memory > 1 << 20
    assert second.voluntary >= first.voluntary
    monkeypatch.setattr(psutil, "cpu_times", Times)
    sampler.take()
    assert read_samples(samples)[-1].machine == 2_500_000_000  # cores that wait are not in use
    samples.write_bytes(samples.read_bytes()[:-3])
    assert len(read_samples(samples)) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_reported() -> None:
    sampler = Sampler(os.getpid(), Path("/dev/full"))
    with pytest.raises(RecordingError, match="/dev/full cannot be written: No space left"):
        sampler.take()
    sampler.close()


def test_what_is_not_there_does_not_run() -> None:
    with pytest.raises(UsageError, match="There is no process 4194304 to attach to"):
        running(4194304)
    assert process_name(4194304) == ""
    assert running(os.getpid())()


def test_phases_and_pauses_are_heard(journal: Journal) -> None:
    listener = Listener(journal.path)
    assert not listener.listen()
    journal.write("phase", name="steady", start=50)
    journal.write("step", phase="steady", start=50, submitted=51, completed=52)
    assert listener.listen()
    assert (listener.phase, listener.steady, listener.paused) == ("steady", 50, False)
    for on in (False, True):
        journal.write("sampling", on=on, at=60)
        assert not listener.listen()
        assert listener.paused is not on


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b'{"mark":"phase"}', b'{"mark":"phase","name":1,"start":2}', b"\xff"]
)
def test_nonsense_is_not_heard_and_half_a_line_once_whole(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "workload.jsonl"
    whole = line + b'\n{"mark":"phase","name":"steady","start":1}\n'
    listener = Listener(path)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        assert not listener.listen()
    path.write_bytes(whole)
    assert listener.listen()
    assert listener.phase == "steady"


def test_it_samples_until_the_target_ends_or_somebody_stops_it(
    sampler: Sampler, samples: Path
) -> None:
    left, told = iter(range(5)), list[str]()

    def runs() -> bool:
        raise KeyboardInterrupt

    end = watch(
        sampler, Listener(None), PATIENT, told.append, running=lambda: next(left, None) is not None
    )
    assert (end, told) == (End.EXITED, [])
    assert len(read_samples(samples)) == 6
    assert watch(sampler, Listener(None), PATIENT, str, running=runs) is End.INTERRUPTED


def test_the_workers_phases_are_told(sampler: Sampler, journal: Journal) -> None:
    journal.write("phase", name="prepare", start=1)
    told: list[str] = []

    def runs() -> bool:
        journal.write("phase", name="steady", start=ClockAnchor.now().monotonic)
        return len(told) < 2

    assert watch(sampler, Listener(journal.path), PATIENT, told.append, running=runs) is End.EXITED
    assert told == ["prepare", "steady"]


def test_a_workers_time_counts_from_its_steady_phase(sampler: Sampler, journal: Journal) -> None:
    now = ClockAnchor.now().monotonic
    journal.write("phase", name="steady", start=now)
    pace = Pace(0.001, 0.02, Timeouts(ready=0.0, grace=0.02))
    assert watch(sampler, Listener(journal.path), pace, str, running=lambda: True) is End.LIMIT
    assert ClockAnchor.now().monotonic - now >= 40_000_000


SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("steady", "busy", "moment"),
    [
        (None, None, 600),
        (7, None, 327),
        (7, 328, 348),  # after 300 s it measures for 20 s what recording cost
    ],
)
def test_a_worker_has_the_time_that_it_says_it_needs(
    steady: int | None, busy: int | None, moment: int, journal: Journal
) -> None:
    listener = Listener(journal.path)
    if steady is not None:
        journal.write("phase", name="steady", start=steady * SECOND)
    if busy is not None:
        journal.write("busy", until=busy * SECOND)
    listener.listen()
    pace = Pace(0.025, 300.0, Timeouts(grace=20.0))
    assert last_moment(0, listener, pace) == moment * SECOND
    assert last_moment(SECOND, Listener(None), pace) == 301 * SECOND


@pytest.mark.parametrize(
    ("phase", "busy", "words"),
    [
        ("steady", 0, "steady"),
        ("steady", 22, "steady"),
        ("steady", 23, "steady, 16 s for steps that are long"),
        ("warm-up", 23, "warm-up"),
    ],
)
def test_who_watches_long_steps_hears_how_long_they_go_on(
    phase: str, busy: int, words: str
) -> None:
    listener = Listener(None, phase, 7 * SECOND, busy=busy * SECOND)
    assert phase_in_words(listener, 10.0) == words
