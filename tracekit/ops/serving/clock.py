"""The clock that an engine lives by, so that tests can have one of their own."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time and lets it pass; nanoseconds."""

    def now(self) -> int:
        """Return the time."""
        ...

    def wait(self, nanoseconds: int) -> None:
        """Let at least so much time pass."""
        ...


class SystemClock:
    """The system-wide monotonic clock, on which all marks of a workload are."""

    def now(self) -> int:
        """Return the time."""
        return time.monotonic_ns()

    def wait(self, nanoseconds: int) -> None:
        """Sleep."""
        time.sleep(nanoseconds / 1e9)
