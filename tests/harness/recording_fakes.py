"""Targets, deadlines and types for recordings with the fake xctrace."""

import os
import signal
from collections.abc import Callable

from tracekit.record.recorder import Launch, Recorded
from tracekit.record.xctrace.recording_process import Deadlines

Scenario = Callable[..., None]
Record = Callable[..., Recorded]

# Generous where a busy machine must not fail a test, short where a scenario hangs on purpose.
DEADLINES = Deadlines(
    start=20, slack=20, stopping=20, saving=20, exit=20, finished=0.2, signals=(20, 20, 20, 20),
    poll=0.02, survey=0.1,
)  # fmt: skip
STEEP = (0.2, 0.2, 0.2, 10)

QUICK = Launch(("/bin/true",))
SLOW = Launch(("/bin/sleep", "60"))


def interrupting(moment: str, told: list[str]) -> Callable[[str], None]:
    """Make a progress that sends us SIGINT when it is told `moment`."""

    def progress(text: str) -> None:
        told.append(text)
        if text == moment:
            os.kill(os.getpid(), signal.SIGINT)

    return progress
