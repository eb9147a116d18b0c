"""Targets and deadlines for recordings with the fake xctrace; an Xcode that lists; an archive."""

import os
import plistlib
import signal
from collections.abc import Callable
from typing import Any

from tracekit.record.recorder import FinishedRecording, ProgramLaunch
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.recording_process import Deadlines
from tracekit.record.xctrace.tool import ToolTimeouts, Xctrace

Scenario = Callable[..., None]
Record = Callable[..., FinishedRecording]

# Generous where a busy machine must not fail a test, short where a scenario hangs on purpose.
DEADLINES = Deadlines(
    start=20, rest=0.1, idle=20, slack=20, stopping=20, saving=20, exit=20, finished=0.2,
    signals=(20, 20, 20, 20), poll=0.02, survey=0.1,
)  # fmt: skip
STEEP = (0.2, 0.2, 0.2, 10)

QUICK = ProgramLaunch(("/bin/true",))
SLOW = ProgramLaunch(("/bin/sleep", "60"))


def interrupting(moment: str, told_texts: list[str]) -> Callable[[str], None]:
    """Make a progress that sends us SIGINT when it is told `moment`."""

    def progress(text: str) -> None:
        told_texts.append(text)
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


def xcode(**answers: str) -> Xctrace:
    """Return an xctrace that only says what it knows, as given."""

    def run(argv: tuple[str, ...], timeout: float) -> Completed:
        assert timeout > 0
        assert argv[1:] in _QUESTIONS
        return Completed(argv, 0, (_ANSWERS | answers)[argv[2] if argv[1] == "list" else argv[1]])

    return Xctrace("/X/xctrace", run, ToolTimeouts(pauses=()))


def binary(plist: Any) -> bytes:
    return plistlib.dumps(plist, fmt=plistlib.FMT_BINARY, sort_keys=False)


def archive(*dictionaries: dict[str, Any]) -> bytes:
    """Archive flat dictionaries as NSKeyedArchiver does: equal values once, each as two rows."""
    objects: list[Any] = ["$null"]
    uids: dict[str, plistlib.UID] = {}

    def uid(value: Any) -> plistlib.UID:
        if repr(value) not in uids:
            uids[repr(value)] = plistlib.UID(len(objects))
            objects.append(value)
        return uids[repr(value)]

    for values in dictionaries:
        rows = {"NS.keys": [*map(uid, values)], "NS.objects": [*map(uid, values.values())]}
        objects.append(rows)
    top = {"root": plistlib.UID(1)}
    return binary({"$archiver": "NSKeyedArchiver", "$top": top, "$objects": objects})
