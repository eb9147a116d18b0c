"""The worker's account of itself: a journal as it goes, a folded report now and then."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tracekit.base.recording import save
from tracekit.workload.journal import ClockAnchor, Journal, fold


class Teller(Protocol):
    """Takes what a worker's life tells, wherever it keeps it."""

    @property
    def mark(self) -> Callable[..., None]:
        """Take a mark of a kind, with its values by name."""
        ...

    def enter(self, phase: str, state: str) -> None:
        """Begin a phase."""
        ...


class Account:
    """What the worker tells, and the files that keep it."""

    def __init__(self, journal: Path, report: Path) -> None:
        self._journal = Journal(journal)
        self._report = report
        self.mark = self._journal.write

    def anchor(self) -> None:
        """Note one moment on both clocks."""
        anchor = ClockAnchor.now()
        self.mark("anchor", monotonic=anchor.monotonic, epoch=anchor.epoch)

    def enter(self, phase: str, state: str) -> None:
        """Begin a phase; the report is saved first, so that its time is nobody's."""
        self.mark("about", state=state)
        self.save()
        self.mark("phase", name=phase, start=time.monotonic_ns())

    def end(self, state: str, **values: Any) -> None:
        """Close the account: nothing more will be told."""
        self.mark("end", at=time.monotonic_ns())
        self.anchor()
        self.mark("about", state=state, complete=True, **values)
        self.save()
        self._journal.close()

    def save(self) -> None:
        """Write `workload.json` from all marks so far."""
        save(self._report, fold(self._journal.path))
