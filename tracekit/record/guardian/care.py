"""What a guardian looks after: which processes to stop, how, what they have written."""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracekit.base import start_of


def size(paths: Iterable[Path]) -> int:
    """Return the bytes in files and folders; what vanishes meanwhile counts as nothing."""
    return sum(_size(path) for path in paths)


def _size(path: Path) -> int:
    try:
        if not path.is_dir():
            return path.stat().st_size
        with os.scandir(path) as entries:
            return sum(
                _size(Path(entry))
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:
        return 0


KILL = ((signal.SIGKILL, 5.0),)


@dataclass(frozen=True)
class Care:
    """How to stop a process.

    Attributes:
        rungs: Signals to send, in order, and the seconds to wait after each.
        group: Each signal goes to its whole process group, not to the process alone.
        grows: Files and folders; while they grow, the wait begins again.
    """

    rungs: tuple[tuple[int, float], ...] = KILL
    group: bool = False
    grows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ward:
    """A process that must not outlive tracekit; `start` tells it from a later one of its number."""

    pid: int
    start: int
    care: Care


@dataclass(frozen=True)
class Order:
    """One line from tracekit to its guardian; several parts may be given at once.

    Attributes:
        watch: From now on this process is to be stopped if tracekit ends.
        handles: So many file descriptors come along: what the process writes to, to be read on.
        forget: The process of that number has ended, or is no longer ours.
        doing: What goes on, in words, to be told in `recording.json`.
        patience: Seconds to wait before the first signal, because it ends by itself.
        journal: The file in which a worker tells its process id.
        done: All went well; the guardian is not needed any more.
    """

    watch: Ward | None = None
    handles: int = 0
    forget: int | None = None
    doing: str | None = None
    patience: float | None = None
    journal: str | None = None
    done: bool = False


def encode(order: Order) -> bytes:
    """Return the order as a line."""
    return msgspec.json.encode(order) + b"\n"


def decode(line: bytes) -> Order:
    """Return the order of a line."""
    return msgspec.json.decode(line, type=Order)


def ward(pid: int, care: Care) -> Ward:
    """Return the running process `pid` as a ward; raise psutil.NoSuchProcess if it is gone."""
    return Ward(pid, start_of(pid), care)
