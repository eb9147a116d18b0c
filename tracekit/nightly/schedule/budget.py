"""How long a night may take."""

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Budget:
    """Seconds that a night may take, from when this was made.

    Attributes:
        seconds: How many there are.
        began: When it began, on the clock of `time.monotonic`.
    """

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> float:
        """When it is spent, on the clock of `time.monotonic`."""
        return self.began + self.seconds

    def spent(self) -> float:
        """Return how many seconds have gone by."""
        return time.monotonic() - self.began

    def left(self) -> float:
        """Return how many seconds are left; 0 where it is spent."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether it is spent."""
        return self.left() == 0


@contextmanager
def enforced(budget: Budget, grace: float = 300.0) -> Generator[None]:
    """Stop this process as SIGTERM does, where it is still here `grace` seconds too late.

    Whoever runs a night looks at its budget between pairs, and ends in good order. This is for
    a night that hangs in between: SIGTERM is what launchd and systemd send too, so what was
    measured is kept.
    """
    timer = threading.Timer(budget.left() + grace, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
