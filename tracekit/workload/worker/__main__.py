"""The program: `python -m tracekit.workload.worker SPEC.json`.

Exit codes: 0 done; 130 asked to stop by SIGINT or SIGTERM, after the current step; those of
`tracekit.base.errors` for a failure, whose sentence goes to stderr and into the journal.
"""

import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType

from tracekit.base import InterruptedRunError, TracekitError, UsageError
from tracekit.workload.worker.loop import Stop, hold
from tracekit.workload.worker.phases import run, stay
from tracekit.workload.worker.spec import Account, Spec


def main(arguments: list[str]) -> int:
    """Run the worker that `arguments` describe; return its exit code."""
    begun = time.monotonic_ns()
    stop = _listen()
    try:
        if len(arguments) != 1:
            raise UsageError("A worker takes one argument: the file that tells it what to do.")
        spec = Spec.load(Path(arguments[0]))
        account = Account(spec.journal, spec.report)
    except TracekitError as error:
        return _complain(error)
    if spec.lifeline:
        hold(stop)
    code = _work(spec, account, stop, begun)
    stay(spec, stop)
    return code


def _work(spec: Spec, account: Account, stop: Stop, begun: int) -> int:
    try:
        run(spec, account, stop, begun)
        stopped = stop.settle()
        account.end("interrupted" if stopped else "done")
    except BaseException as error:  # noqa: BLE001 - whatever a workload raises is told
        stop.settle()
        return _fail(account, error)
    return InterruptedRunError.exit_code if stopped else 0


def _listen() -> Stop:
    stop = Stop()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        stop.requests += 1

    signal.signal(signal.SIGINT, ask)
    signal.signal(signal.SIGTERM, ask)
    return stop


def _fail(account: Account, error: BaseException) -> int:
    if isinstance(error, TracekitError):
        told, code = error, error.exit_code
    else:
        traceback.print_exception(error)
        told, code = TracekitError(f"The workload failed: {_words(error)}"), 3
    with suppress(TracekitError):  # where the disk is full, stderr must do
        account.end("failed", error=told.message, hint=told.hint, exit_code=code)
    return _complain(told)


def _words(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _complain(error: TracekitError) -> int:
    sys.stderr.write(f"error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"hint: {error.hint}\n")
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
