"""The program: `python -m tracekit.workload.worker SPEC.json`.

Exit codes: 0 done; 130 asked to stop by SIGINT or SIGTERM, after the current step; those of
`tracekit.base.errors` for a failure, whose sentence goes to stderr and into the journal.
"""

import sys
from contextlib import suppress
from pathlib import Path

from tracekit.base import InterruptedRunError, TracekitError, UsageError
from tracekit.workload.worker.phases import run, stay
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.worker.stopping import Stop, failure_of


def main(arguments: list[str]) -> int:
    """Run the worker that `arguments` describe; return its exit code."""
    stop = Stop()
    stop.on_signals()
    try:
        if len(arguments) != 1:
            raise UsageError("A worker takes one argument: the file with its instructions.")
        spec = Spec.load(Path(arguments[0]))
        account = Account(spec.journal, spec.report)
    except TracekitError as error:
        return _complain(error)
    if spec.lifeline:
        stop.on_end_of(sys.stdin.fileno())
    code = _work(spec, account, stop)
    stay(spec, stop)
    return code


def _work(spec: Spec, account: Account, stop: Stop) -> int:
    try:
        run(spec, account, stop)
        stopped = stop.settle()
        state = "interrupted" if stopped else "done"
        account.end(state)
    except BaseException as raised:  # noqa: BLE001 - whatever a workload raises is reported
        stop.settle()
        error = failure_of(raised)
        with suppress(TracekitError):  # if the disk is full, stderr must do
            account.end("failed", error=error.message, hint=error.hint, exit_code=error.exit_code)
        return _complain(error)
    if stopped:
        return InterruptedRunError.exit_code
    return 0


def _complain(error: TracekitError) -> int:
    sys.stderr.write(f"error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"hint: {error.hint}\n")
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
