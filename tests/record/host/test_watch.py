"""Samples as they come, the worker's marks as they are heard, and when watching ends."""

import os
import threading
from collections.abc import Callable, Iterator
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
SECOND = 1_000_000_000


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[Sampler]:
    made = Sampler(os.getpid(), tmp_path / "samples.jsonl")
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
    sampler: Sampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, done = tmp_path / "samples.jsonl", threading.Event()
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


def test_what_is_not_there_or_not_waited_for_does_not_run() -> None:
    ended = os.fork()
    if not ended:
        os._exit(0)
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
    for pid in (4194304, ended):
        with pytest.raises(UsageError, match=f"There is no process {pid} to attach to"):
            running(pid)
    os.waitpid(ended, 0)
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
    listener.paused = True
    journal.write("end")
    assert not listener.listen()
    assert not listener.paused


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


def interrupted() -> bool:
    raise KeyboardInterrupt


def lasting(looks: int) -> Callable[[], bool]:
    left = iter(range(looks))
    return lambda: next(left, None) is not None


@pytest.mark.parametrize(
    ("runs", "end", "taken"), [(lasting(5), End.EXITED, 6), (interrupted, End.INTERRUPTED, 1)]
)
def test_it_samples_until_the_target_ends_or_somebody_stops_it(
    runs: Callable[[], bool], end: End, taken: int, sampler: Sampler, tmp_path: Path
) -> None:
    told: list[str] = []
    assert watch(sampler, Listener(None), PATIENT, told.append, running=runs) is end
    assert told == []
    assert len(read_samples(tmp_path / "samples.jsonl")) == taken


def test_the_workers_phases_are_told_and_its_time_counts_from_its_steady_one(
    sampler: Sampler, journal: Journal
) -> None:
    journal.write("phase", name="prepare", start=1)
    told: list[str] = []
    now = ClockAnchor.now().monotonic

    def runs() -> bool:
        journal.write("phase", name="steady", start=now)
        return True

    pace = Pace(0.001, 0.02, Timeouts(ready=600.0, grace=0.02))
    listener = Listener(journal.path)
    assert watch(sampler, listener, pace, told.append, running=runs) is End.LIMIT
    assert told == ["prepare", "steady"]
    assert ClockAnchor.now().monotonic - now >= 40_000_000


@pytest.mark.parametrize(
    ("steady", "busy", "moment"),
    [(None, 0, 600), (7, 0, 327), (7, 328, 348)],  # it measures what recording cost
)
def test_a_worker_has_the_time_that_it_says_it_needs(
    steady: int | None, busy: int, moment: int, journal: Journal
) -> None:
    listener = Listener(journal.path)
    if steady is not None:
        journal.write("phase", name="steady", start=steady * SECOND)
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
