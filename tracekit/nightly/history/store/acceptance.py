"""Whether a night can be what is expected from now on, and what that is then."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.base.errors import UsageError, nearest
from tracekit.compare.accepted import Accepted
from tracekit.nightly.gate.changes import changes
from tracekit.nightly.history.night import Entry, Night, Outcome


@dataclass(frozen=True)
class Refused:
    """A capture that cannot be accepted, and why."""

    capture: str
    reason: str


def acceptances_of(
    nights: Sequence[Night], captures: Sequence[str], reason: str, at: str
) -> tuple[list[Accepted], list[Refused]]:
    """Return what is expected from now on: the changes of the nights' pairs that count.

    Several nights are taken together, as pairs of one: each must have done the same work on the
    same machine. What is accepted is called by the first, and its reason names the others.
    Without names it is every capture that can be accepted; those that cannot come second.

    Raises:
        UsageError: No reason is given, a night failed, a name is unknown, a named capture
            cannot be accepted, or none can.
    """
    if not reason.strip():
        raise UsageError("A baseline needs a reason.", hint="Say why: --reason TEXT")
    nights = tuple({one.id: one for one in nights}.values())
    night, *others = nights
    for one in nights:
        _require_ended_well(one)
    known = {one.capture: one for one in night.entries}
    for name in captures:
        if name not in known:
            raise UsageError(
                f"The night {night.id} has no capture {name!r}.", hint=nearest(name, known)
            )
    words = reason.strip()
    if others:
        words += f" (together with {', '.join(one.id for one in others)})"
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for name in dict.fromkeys(captures or known):
        found = _together(nights, name)
        if isinstance(found, str):
            refused.append(Refused(name, found))
        else:
            accepted.append(Accepted(night.id, name, known[name].work, at, words, found))
    if refused and (captures or not accepted):
        told = "; ".join(f"{one.capture}: {one.reason}" for one in refused)
        raise UsageError(
            f"The night {night.id} cannot be accepted. {told}",
            hint="Accept another night; `tracekit history` lists them.",
        )
    return accepted, refused


def _require_ended_well(night: Night) -> None:
    if night.outcome is Outcome.FAILED:
        raise UsageError(
            f"The night {night.id} failed, so nothing can be expected of it: {night.reason}",
            hint="Accept another night; `tracekit history` lists them.",
        )


def _together(nights: Sequence[Night], name: str) -> dict[str, tuple[float, ...]] | str:
    """Return the changes of a capture in all nights, or why it cannot be accepted."""
    found: dict[str, tuple[float, ...]] = {}
    first = _work(nights[0], name)
    for night in nights:
        entry = next((one for one in night.entries if one.capture == name), None)
        if entry is None or _work(night, name) != first:
            return f"the night {night.id} did other work, or on another machine."
        own = _changes(entry)
        if isinstance(own, str):
            return own if night is nights[0] else f"in the night {night.id} {own}"
        kept = found or dict.fromkeys(own, ())
        found = {metric: (*kept[metric], *own[metric]) for metric in kept if metric in own}
    return found or "the nights have no metric in common."


def _work(night: Night, name: str) -> tuple[str, str]:
    return night.machine, next((one.work for one in night.entries if one.capture == name), "")


def _changes(entry: Entry) -> dict[str, tuple[float, ...]] | str:
    """Return the changes of an entry's metrics, or why it cannot be accepted."""
    if entry.reference is None:
        return "it has no reference that it could be expected to differ from."
    if entry.outcome is Outcome.FAILED:
        return f"it failed: {entry.reason}"
    found = {one.metric: changes(entry.pairs, one.metric, one.scale) for one in entry.judged}
    found = {metric: own for metric, own in found.items() if own}
    return found or "it has no pair that counts."
