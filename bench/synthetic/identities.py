"""Processes and threads as they stand in exports, with the ids nested in them."""

from collections.abc import Callable
from typing import NamedTuple

from synthetic.elements import Elements, quoted


class Process(NamedTuple):
    """A process: its name and its number."""

    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} ({self.pid})"


class Thread(NamedTuple):
    """A thread of a process."""

    name: str
    tid: int
    process: Process

    def __str__(self) -> str:
        return f"{self.name} {self.tid:#x} ({self.process.name}, pid: {self.process.pid})"


PROCESSES = (
    Process("python3", 4242),
    Process("WindowServer", 581),
    Process("Browser Helper (GPU)", 9913),
    Process("R&D <µ-probe>", 77),
)


def process_writer(elements: Elements) -> Callable[[Process], str]:
    """Return what writes processes."""
    pid = elements.integers("pid")
    session = elements.texts("device-session")
    return elements.kind(
        "process", lambda one: (f' fmt="{quoted(str(one))}"', pid(one.pid) + session("TODO"))
    )


def thread_writer(elements: Elements, process: Callable[[Process], str]) -> Callable[[Thread], str]:
    """Return what writes threads."""
    tid = elements.integers("tid", hex)
    return elements.kind(
        "thread",
        lambda one: (f' fmt="{quoted(str(one))}"', tid(one.tid) + process(one.process)),
    )
