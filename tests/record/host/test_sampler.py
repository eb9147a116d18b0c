import os
import threading
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tracekit.base.errors import RecordingError, UsageError
from tracekit.record.host.sampler import Sampler, process_name, read_samples
from tracekit.record.recorder import running


def test_switches_of_a_thread_that_ended_still_count(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    sampler = Sampler(os.getpid(), path)
    done = threading.Event()
    waiting = threading.Thread(target=done.wait)
    waiting.start()
    sampler.take()
    done.set()
    waiting.join()
    sampler.take()
    sampler.close()
    before, after = read_samples(path)
    assert after.voluntary >= before.voluntary


def test_samples_are_kept_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    sampler = Sampler(os.getpid(), path)
    sampler.take()
    (first,) = read_samples(path)
    total = sum(number * number for number in range(200_000))
    assert total > 0
    sampler.take()
    _, second = read_samples(path)
    sampler.close()
    assert second.at > first.at
    assert second.cpu > first.cpu
    assert second.machine >= first.machine
    assert second.memory > 1 << 20
    assert second.voluntary >= first.voluntary


class Times(NamedTuple):
    """A clock and what it reads."""

    user: float = 2.0
    system: float = 0.5
    idle: float = 90.0
    iowait: float = 7.0
    guest: float = 1.0  # is in that of users already


def test_cores_that_wait_are_not_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_times", Times)
    with closing(Sampler(os.getpid(), tmp_path / "samples.jsonl")) as sampler:
        sampler.take()
    (sample,) = read_samples(tmp_path / "samples.jsonl")
    assert sample.machine == 2_500_000_000


def test_a_line_cut_in_half_ends_the_samples(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    sampler = Sampler(os.getpid(), path)
    sampler.take()
    sampler.take()
    sampler.close()
    path.write_bytes(path.read_bytes()[:-3])
    assert len(read_samples(path)) == 1


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
