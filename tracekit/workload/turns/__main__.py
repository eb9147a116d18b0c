"""The program `python -P -m tracekit.workload.turns`: its ends of the protocol, and its loop.

The protocol's ends are out of reach of what a workload prints and reads.

Exit codes: 0 it was asked to finish; 130 asked to stop by SIGINT or SIGTERM, or by nobody asking
any more, after the current step; those of `base.errors` for a failure, which is answered too.
"""

import os
import signal
import sys
import threading
import time
import traceback
from io import TextIOWrapper
from queue import SimpleQueue
from types import FrameType

from tracekit.base import InterruptedRunError, TracekitError
from tracekit.workload.turns.protocol import Answer, Failed, line_of, request_of
from tracekit.workload.turns.resident import Resident, hello
from tracekit.workload.worker.loop import GRACE, Stop

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


def main() -> int:
    """Answer until there is nothing more to do; return the exit code."""
    out, stop = answering(), Stop()
    lines = asked(stop)
    try:
        answer(out, Answer(hello=hello()))
        return _serve(out, lines, Resident(stop))
    except OSError:  # nobody listens any more
        return InterruptedRunError.exit_code


def _serve(out: int, lines: Lines, resident: Resident) -> int:
    while (line := lines.get()) is not None:
        try:
            request = request_of(line)
            found = resident.heed(request)
        except BaseException as error:  # noqa: BLE001 - whatever a workload raises is told
            failed = _failed(error)
            answer(out, Answer(failed=failed))
            return failed.exit_code
        if resident.stop.requested:  # what it found was cut short
            break
        answer(out, found)
        if request.finish is not None:
            return 0
    return InterruptedRunError.exit_code


def _failed(error: BaseException) -> Failed:
    if isinstance(error, TracekitError):
        return Failed(error.message, error.hint, error.exit_code)
    traceback.print_exception(error)
    text = str(error).strip()
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return Failed(f"The workload failed: {words}")


if __name__ == "__main__":
    sys.exit(main())
