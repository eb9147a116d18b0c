"""The program `python -P -m tracekit.workload.interleaved`: its ends of the protocol, and its loop.

A workload that prints or reads does not reach the protocol's ends.

Exit codes: 0 after a request to finish; 130 after the current step, stopped by SIGINT or SIGTERM,
or by the end of the requests; those of `base.errors` for a failure, which is answered too.
"""

import os
import platform
import sys
from io import TextIOWrapper
from queue import SimpleQueue

from tracekit.base import InterruptedRunError, distribution
from tracekit.machine import find_package_version
from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    ChildAnswer,
    Failed,
    Hello,
    line_of,
    request_of,
)
from tracekit.workload.interleaved.resident import Resident
from tracekit.workload.worker.stopping import Stop, failure_of

Lines = SimpleQueue[bytes | None]


def answering() -> int:
    """Take standard output for the answers; from now on, prints go to standard error."""
    output_handle = os.dup(1)
    os.dup2(2, 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return output_handle


def take_requests(stop: Stop) -> Lines:
    """Take standard input for the requests; it is empty for the workload from now on.

    The lines end with None at the end of the requests, or at a signal to stop.
    """
    lines: Lines = SimpleQueue()
    handle = os.dup(0)
    null_handle = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_handle, 0)
    os.close(null_handle)
    rest = b""

    def take(chunk: bytes) -> None:
        nonlocal rest
        *full_lines, rest = (rest + chunk).split(b"\n")
        for line in full_lines:
            lines.put(line)

    def end() -> None:
        lines.put(None)  # of all queues this one may be put to in a handler of signals

    stop.on_signals(end)
    stop.on_end_of(handle, take, end)
    return lines


def answer(handle: int, message: ChildAnswer) -> None:
    """Write an answer; raise OSError if it has no reader."""
    unsent_bytes = memoryview(line_of(message))
    while unsent_bytes:
        byte_count = os.write(handle, unsent_bytes)
        unsent_bytes = unsent_bytes[byte_count:]


def main() -> int:
    """Answer until there is nothing more to do; return the exit code."""
    output_handle = answering()
    stop = Stop()
    lines = take_requests(stop)
    try:
        python_version = platform.python_version()
        mlx_version = find_package_version("mlx")
        hello = Hello(
            PROTOCOL,
            find_package_version(distribution.DISTRIBUTION),
            python_version,
            mlx_version,
            os.getpid(),
        )
        answer(output_handle, ChildAnswer(hello=hello))
        return _serve(output_handle, lines, Resident(stop))
    except OSError:  # the answers have no reader any more
        return InterruptedRunError.exit_code


def _serve(output_handle: int, lines: Lines, resident: Resident) -> int:
    while (line := lines.get()) is not None:
        try:
            request = request_of(line)
            reply = resident.answer(request)
        except BaseException as raised:  # noqa: BLE001 - whatever a workload raises is answered
            error = failure_of(raised)
            failed = Failed(error.message, error.hint, error.exit_code)
            answer(output_handle, ChildAnswer(failed=failed))
            return error.exit_code
        if resident.stop.requested:  # the reply was cut short
            break
        answer(output_handle, reply)
        if request.finish is not None:
            return 0
    return InterruptedRunError.exit_code


if __name__ == "__main__":
    sys.exit(main())
