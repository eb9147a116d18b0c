"""Targets, deadlines and types for recordings with the fake xctrace, and an Xcode that lists."""

import os
import signal
from collections.abc import Callable

from tracekit.record.recorder import Launch, Recorded
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.recording_process import Deadlines
from tracekit.record.xctrace.tool import Timeouts, Xctrace

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


_ANSWERS = {
    "version": "xctrace version 26.0 (17C529)",
    "help": "--no-prompt --template --instrument <name> --target-stdout",
    "templates": "== Standard Templates ==\nMetal System Trace\nTime Profiler\n\n"
    "== User Templates ==\nmine\n",
    "instruments": "== Standard Instruments ==\nMetal GPU Counters\nHangs\n",
}
_QUESTIONS = {
    ("version",), ("help", "record"), ("list", "templates"), ("list", "instruments"),
}  # fmt: skip


def xcode(**said: str) -> Xctrace:
    """Return an xctrace that only says what it knows, as given."""

    def run(argv: tuple[str, ...], timeout: float) -> Completed:
        assert timeout > 0
        assert argv[1:] in _QUESTIONS
        return Completed(argv, 0, (_ANSWERS | said)[argv[2] if argv[1] == "list" else argv[1]])

    return Xctrace("/X/xctrace", run, Timeouts(pauses=()))
