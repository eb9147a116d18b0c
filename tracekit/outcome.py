"""What a command's end says to a script: data that are missing are no success."""

from collections.abc import Sequence

from tracekit.analysis.result import Result, Status
from tracekit.errors import InconclusiveError, InputError
from tracekit.recording import Recording

_GATE = "capture-empty"


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
