"""How far a batch is: counts, the pace, and the time that is left."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracekit.base.units import count, span
from tracekit.fleet.batch.row import Row

_MANY = 10
_LEAST = 3  # recordings from which a pace is known


@dataclass
class Tally:
    """What became of the sources of a batch.

    Attributes:
        total: How many there are.
        kept: How many were done before.
        failed_before: How many failed before, and are not tried again.
        done: How many were analysed now.
        failed: How many failed now.
        recordings: How many recordings those hold that were analysed now.
        failures: The first of them: name, error and hint.
    """

    total: int
    kept: int = 0
    failed_before: int = 0
    done: int = 0
    failed: int = 0
    recordings: int = 0
    failures: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    began: float = field(default_factory=time.monotonic)

    def add(self, rows: Iterable[Row]) -> None:
        """Count a source that came to its end."""
        every = list(rows)
        bad = [row for row in every if row.state != "ok"]
        self.recordings += len(every) - len(bad)
        self.done += not bad
        self.failed += bool(bad)
        self.failures += [(one.recording, one.error, one.hint) for one in bad]
        del self.failures[_MANY:]

    @property
    def all_failed(self) -> int:
        """How many failed, now or before."""
        return self.failed + self.failed_before

    def words(self) -> str:
        """Say how far it is."""
        now, before = self.done + self.failed, self.kept + self.failed_before
        told = [f"{count(now + before)} of {count(self.total)}"]
        if self.all_failed:
            told.append(f"{count(self.all_failed)} failed")
        if now >= _LEAST:
            pace = now / max(1e-9, time.monotonic() - self.began)
            left = self.total - now - before
            told.append(f"{pace:.3g} per s" if pace >= 1 else f"{1 / pace:.3g} s each")
            told += [f"{span(left / pace)} left"] if left else []
        return " · ".join(told)
