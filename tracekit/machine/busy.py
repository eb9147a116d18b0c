"""Find the processes of others that use the cores, by their names, over a short time."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

_LOOK = 0.3  # seconds: CPU times tick in hundredths of a second
_LEAST = 0.1  # cores: a smaller use makes no machine busy
_FEW = 3


@dataclass(frozen=True)
class Busy:
    """Processes of one name: how many there are, and how many cores they used together."""

    name: str
    processes: int
    cores: float


def find_busiest(ours: Iterable[int] = (), *, seconds: float = _LOOK) -> tuple[Busy, ...]:
    """Return the users of cores over a few seconds, the largest first.

    The processes `ours` and their children are excluded. Processes whose times this user may not
    read are left out, as those of others are on macOS.
    """
    excluded_pids = _with_children({os.getpid(), *ours})
    earlier_times = _read_times(excluded_pids)
    start = time.monotonic()
    time.sleep(seconds)
    later = _read_times(excluded_pids)
    passed = time.monotonic() - start
    cores: dict[str, list[float]] = {}
    for pid, (name, worked) in later.items():
        if pid in earlier_times:
            usage = (worked - earlier_times[pid][1]) / passed
            cores.setdefault(name, []).append(usage)
    busiest: list[Busy] = []
    for name, usages in cores.items():
        if sum(usages) >= _LEAST:
            busy_count = sum(usage >= _LEAST for usage in usages)
            busiest.append(Busy(name, busy_count, sum(usages)))
    busiest.sort(key=lambda busy: -busy.cores)
    return tuple(busiest)


def _with_children(pids: Iterable[int]) -> set[int]:
    family = set(pids)
    for pid in pids:
        with suppress(psutil.Error):
            children = psutil.Process(pid).children(recursive=True)
            family.update(child.pid for child in children)
    return family


def _read_times(excluded_pids: set[int]) -> dict[int, tuple[str, float]]:
    """Return name and CPU seconds of processes by pid."""
    times: dict[int, tuple[str, float]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in excluded_pids:
                cpu_times = process.cpu_times()
                spent_time = cpu_times.user + cpu_times.system
                times[process.pid] = (process.name(), spent_time)
    return times


def busy_words(busiest: Sequence[Busy]) -> str:
    """Return the users of cores: "python3.11 (2) 1.4 cores, ld 0.5"; empty if there are none."""
    words: list[str] = []
    for number, group in enumerate(busiest[:_FEW]):
        name = group.name
        if group.processes > 1:
            name += f" ({group.processes})"
        unit = " cores" if number == 0 else ""
        words.append(f"{name} {group.cores:.1f}{unit}")
    return ", ".join(words)
