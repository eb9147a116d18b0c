"""Which process started which, noted while a recording runs."""

import psutil

from tracekit.base.recording import Process


class Family:
    """Parents of all processes that were seen, so that a target's children can be found later.

    The trace names one target, the process that was launched or attached to; a server or a
    `uv run` does its GPU work in a child. A child keeps the parent that it was first seen
    with, because it is handed to another one when its own ends.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def look(self) -> None:
        """Note who runs now."""
        for process in psutil.process_iter():
            if process.pid in self._parents:
                continue
            try:
                self._parents[process.pid] = process.ppid()
                self._names[process.pid] = process.name()
            except psutil.Error:
                continue

    def descendants(self, pid: int) -> tuple[Process, ...]:
        """Return the children of `pid`, their children and so on, by pid."""
        found: set[int] = set()
        parents = {pid}
        while parents:
            children = {child for child, parent in self._parents.items() if parent in parents}
            parents = children - found - {pid}
            found |= parents
        return tuple(Process(one, self._names.get(one, "")) for one in sorted(found))
