"""The child's ends of the protocol, out of reach of what a workload prints and reads."""

import os
import signal
import sys
import threading
import time
from io import TextIOWrapper
from queue import SimpleQueue
from types import FrameType

from tracekit.base.errors import InterruptedRunError
from tracekit.workload.turns.protocol import Answer, line_of
from tracekit.workload.worker.lifeline import GRACE
from tracekit.workload.worker.loop import Stop

_CHUNK = 1 << 16

Lines = SimpleQueue[bytes | None]


def answering() -> int:
    """Take standard output for the answers; what is printed goes to standard error from now on."""
    out = os.dup(1)
    os.dup2(2, 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return out


def asked(stop: Stop, grace: float = GRACE) -> Lines:
    """Take standard input for the requests; whoever reads it from now on finds it empty.

    The lines end with None when nobody asks any more, or a signal asks to stop. Where nobody asks
    any more the process ends after `grace` seconds, whatever it does.
    """
    lines: Lines = SimpleQueue()
    handle = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stop.requests += 1
        lines.put(None)  # of all queues this one may be put to in a handler of signals

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    threading.Thread(
        target=_read, args=(handle, lines, stop, grace), name="requests", daemon=True
    ).start()
    return lines


def answer(handle: int, message: Answer) -> None:
    """Write an answer; raise OSError where nobody reads it."""
    left = memoryview(line_of(message))
    while left:
        left = left[os.write(handle, left) :]


def _read(handle: int, lines: Lines, stop: Stop, grace: float) -> None:
    rest = b""
    while chunk := os.read(handle, _CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            lines.put(line)
    stop.abandoned = True
    stop.requests += 1
    lines.put(None)
    time.sleep(grace)
    os._exit(InterruptedRunError.exit_code)
