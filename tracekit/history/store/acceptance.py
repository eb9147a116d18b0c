"""Whether a night can be what is expected from now on, and what that is then."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.history.accepted import Accepted
from tracekit.history.gate.changes import changes
from tracekit.history.night import Entry, Night, Outcome
from tracekit.nearest import nearest


@dataclass(frozen=True)
class Refused:
    """A capture that cannot be accepted, and why."""

    capture: str
    reason: str


def acceptances_of(
    night: Night, captures: Sequence[str], reason: str, at: str
) -> tuple[list[Accepted], list[Refused]]:
    """Return what is expected from now on: the changes of the night's pairs that count.

    Without names it is every capture that can be accepted; those that cannot come second.

    Raises:
        UsageError: No reason is given, the night failed, a name is unknown, a named capture
            cannot be accepted, or none can.
    """
    if not reason.strip():
        raise UsageError("A baseline needs a reason.", hint="Say why: --reason TEXT")
    if night.outcome is Outcome.FAILED:
        raise UsageError(
            f"The night {night.id} failed, so nothing can be expected of it: {night.reason}",
            hint="Accept another night; `tracekit history` lists them.",
        )
    known = {one.capture: one for one in night.entries}
    for name in captures:
        if name not in known:
            raise UsageError(
                f"The night {night.id} has no capture {name!r}.", hint=nearest(name, known)
            )
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for name in dict.fromkeys(captures or known):
        found = _changes(known[name])
        if isinstance(found, str):
            refused.append(Refused(name, found))
        else:
            entry = known[name]
            accepted.append(Accepted(night.id, name, entry.work, at, reason.strip(), found))
    if refused and (captures or not accepted):
        words = "; ".join(f"{one.capture}: {one.reason}" for one in refused)
        raise UsageError(
            f"The night {night.id} cannot be accepted. {words}",
            hint="Accept another night; `tracekit history` lists them.",
        )
    return accepted, refused


def _changes(entry: Entry) -> dict[str, tuple[float, ...]] | str:
    """Return the changes of an entry's metrics, or why it cannot be accepted."""
    if entry.reference is None:
        return "it has no reference that it could be expected to differ from."
    if entry.outcome is Outcome.FAILED:
        return f"it failed: {entry.reason}"
    found = {one.metric: changes(entry.pairs, one.metric, one.scale) for one in entry.judged}
    found = {metric: own for metric, own in found.items() if own}
    return found or "it has no pair that counts."
