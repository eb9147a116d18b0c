"""Who uses the cores: processes that are not ours, by their names, over a short time."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

_LOOK = 0.3  # seconds: CPU times tick in hundredths of a second
_LEAST = 0.1  # cores: what uses less makes no machine busy
_FEW = 3


@dataclass(frozen=True)
class Busy:
    """Processes of one name: how many there are, and how many cores they used together."""

    name: str
    processes: int
    cores: float


def find_busiest(ours: Iterable[int] = (), *, seconds: float = _LOOK) -> tuple[Busy, ...]:
    """Return who uses cores over so many seconds, the most first; ours and their children are not.

    Processes whose times this user may not read are left out, as those of others are on macOS.
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
    groups = [
        Busy(name, sum(process_cores >= _LEAST for process_cores in used), sum(used))
        for name, used in cores.items()
    ]
    return tuple(
        sorted((group for group in groups if group.cores >= _LEAST), key=lambda busy: -busy.cores)
    )


def _with_children(pids: Iterable[int]) -> set[int]:
    family = set(pids)
    for pid in pids:
        with suppress(psutil.Error):
            family.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return family


def _read_times(excluded_pids: set[int]) -> dict[int, tuple[str, float]]:
    """Return name and CPU seconds of processes by pid."""
    times: dict[int, tuple[str, float]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in excluded_pids:
                cpu_times = process.cpu_times()
                times[process.pid] = (process.name(), cpu_times.user + cpu_times.system)
    return times


def busy_words(busiest: Sequence[Busy]) -> str:
    """Say who uses the cores: "python3.11 (2) 1.4 cores, ld 0.5"; empty where nobody is seen."""
    words = [
        f"{group.name}{f' ({group.processes})' if group.processes > 1 else ''} {group.cores:.1f}"
        for group in busiest[:_FEW]
    ]
    if not words:
        return ""
    words[0] = f"{words[0]} cores"
    return ", ".join(words)
