"""The program: `python -P -m tracekit.workload.turns`; see `tracekit.workload.turns.protocol`.

Exit codes: 0 it was asked to finish; 130 asked to stop by SIGINT or SIGTERM, or by nobody asking
any more, after the current step; those of `base.errors` for a failure, which is answered too.
"""

import sys
import traceback

from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.workload.turns.line import Lines, answer, answering, asked
from tracekit.workload.turns.protocol import Answer, Failed, request_of
from tracekit.workload.turns.resident import Resident, hello
from tracekit.workload.worker.loop import Stop


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
