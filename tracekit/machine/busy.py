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
    left_out = _with_children({os.getpid(), *ours})
    earlier = _read_times(left_out)
    began = time.monotonic()
    time.sleep(seconds)
    later = _read_times(left_out)
    passed = time.monotonic() - began
    cores: dict[str, list[float]] = {}
    for pid, (name, worked) in later.items():
        if pid in earlier:
            used = (worked - earlier[pid][1]) / passed
            cores.setdefault(name, []).append(used)
    groups = [
        Busy(name, sum(each >= _LEAST for each in used), sum(used)) for name, used in cores.items()
    ]
    return tuple(
        sorted((each for each in groups if each.cores >= _LEAST), key=lambda busy: -busy.cores)
    )


def _with_children(pids: Iterable[int]) -> set[int]:
    family = set(pids)
    for pid in pids:
        with suppress(psutil.Error):
            family.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return family


def _read_times(left_out: set[int]) -> dict[int, tuple[str, float]]:
    """Return name and CPU seconds of processes by pid."""
    times: dict[int, tuple[str, float]] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in left_out:
                spent = process.cpu_times()
                times[process.pid] = (process.name(), spent.user + spent.system)
    return times


def busy_words(busiest: Sequence[Busy]) -> str:
    """Say who uses the cores: "python3.11 (2) 1.4 cores, ld 0.5"; empty where nobody is seen."""
    words = [
        f"{each.name}{f' ({each.processes})' if each.processes > 1 else ''} {each.cores:.1f}"
        for each in busiest[:_FEW]
    ]
    if not words:
        return ""
    words[0] = f"{words[0]} cores"
    return ", ".join(words)
