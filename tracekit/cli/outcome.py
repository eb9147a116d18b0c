"""What a command's end says to a script: data that are missing are no success."""

from collections.abc import Sequence

from tracekit.analysis.result import Result, Status
from tracekit.base.errors import InconclusiveError, InputError
from tracekit.base.recording import Recording
from tracekit.nightly.history.night import Outcome

_GATE = "capture-empty"
_CODES = {Outcome.OK: 0, Outcome.REGRESSION: 1, Outcome.FAILED: 3, Outcome.INCONCLUSIVE: 4}
_STOP = 128


def require_rows(result: Result) -> None:
    """Raise InconclusiveError if a recording of xctrace is not known to hold its target's work."""
    gate = next(one for one in result.checks if one.rule == _GATE)
    if gate.status is Status.FOUND:
        message = next(one.message for one in result.findings if one.rule == _GATE)
        raise InconclusiveError(message, hint=f"`tracekit rules {_GATE}` says what to do.")
    if gate.status is not Status.PASSED and result.provenance.recorder == "xctrace":
        raise InconclusiveError(
            f"Whether the target's work was recorded cannot be said: {gate.reason}",
            hint="The warnings say what went wrong; `tracekit export` can be run again.",
        )


def require_target_rows(recording: Recording) -> None:
    """Raise InconclusiveError if it is known that a recording lacks its target's work.

    Where it is not known, nothing is raised: the analysis looks closer.
    """
    provenance = recording.provenance()
    if provenance.target_rows is False:
        numbers = ", ".join(str(one.pid) for one in provenance.targets)
        raise InconclusiveError(
            f"No GPU work of the target (process {numbers}) was recorded; the trace is kept.",
            hint="See whether the target was awake and used Metal; "
            f"`tracekit rules {_GATE}` says more.",
        )


def require_whole(damage: Sequence[str]) -> None:
    """Raise InputError if the export was damaged; what could be read has been written."""
    if damage:
        raise InputError(" ".join(damage), hint="The rows before the damage were written.")


def require_tables(damage: Sequence[str]) -> None:
    """Raise InputError if tables were damaged; the others have been written."""
    if damage:
        raise InputError(" ".join(damage), hint="The other tables were written.")


def night_code(outcome: Outcome | None) -> int:
    """Return the exit code of how a night ended; one that did not end has failed."""
    return _CODES[outcome or Outcome.FAILED]


def bisect_code(code: int) -> int:
    """Return what `git bisect run` is to be told for an exit code of tracekit.

    Git takes 0 for good, 1 to 127 for bad, 125 for a commit to skip, and stops at all from 128 on
    (git-bisect(1)). So 0 and 1 stay; what failed (3) or is inconclusive (4) is skipped; whatever
    is no word on the commit, as a wrong command line (2) or a bug of ours (70), stops it.
    """
    if code in {3, 4}:
        return 125
    return code if code in {0, 1, 125} or code >= _STOP else _STOP + code % _STOP
