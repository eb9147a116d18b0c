"""What people decide: whether a night can be what is expected from now on, pins, missed nights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import Connection, insert, select

from tracekit.base import UsageError, nearest
from tracekit.nightly.gate.decision import changes
from tracekit.nightly.history.night import Accepted, Entry, Night, Outcome
from tracekit.nightly.history.store.documents import plain
from tracekit.nightly.history.store.schema import ACCEPTANCES, PINS

_ANOTHER = "Accept another night; `tracekit history` lists them."


@dataclass(frozen=True)
class Refused:
    """A capture that cannot be accepted, and why."""

    capture: str
    reason: str


def stated(what: str, reason: str) -> str:
    """Return a reason without spaces around it; raise UsageError where there is none."""
    if not reason.strip():
        raise UsageError(f"{what} needs a reason.", hint="Say why: --reason TEXT")
    return reason.strip()


def acceptances_of(
    nights: Sequence[Night], captures: Sequence[str], reason: str, at: str, *, least: int, who: str
) -> tuple[list[Accepted], list[Refused]]:
    """Return what is expected from now on: the changes of the nights' pairs that count.

    Several nights are taken together, as pairs of one: each must have done the same work on the
    same machine. What is accepted is called by the first, and its reason names the others.
    Without names it is every capture that can be accepted; those that cannot come second. A
    capture can be accepted if each ratio that decides has `least` pairs.
    """
    words = stated("A baseline", reason)
    nights = tuple({night.id: night for night in nights}.values())
    night, *others = nights
    if failed := next((given for given in nights if given.outcome is Outcome.FAILED), None):
        raise UsageError(
            f"The night {failed.id} failed, so nothing can be expected of it: {failed.reason}",
            hint=_ANOTHER,
        )
    known = {entry.capture: entry for entry in night.entries}
    for name in captures:
        if name not in known:
            raise UsageError(
                f"The night {night.id} has no capture {name!r}.", hint=nearest(name, known)
            )
    if others:
        words += f" (together with {', '.join(other.id for other in others)})"
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for name in dict.fromkeys(captures or known):
        found = _together(nights, name, least)
        if isinstance(found, str):
            refused.append(Refused(name, found))
        else:
            accepted.append(Accepted(night.id, name, known[name].work, at, words, found, who))
    if refused and (captures or not accepted):
        reasons = "; ".join(f"{refusal.capture}: {refusal.reason}" for refusal in refused)
        raise UsageError(f"The night {night.id} cannot be accepted. {reasons}", hint=_ANOTHER)
    return accepted, refused


def revocations_of(
    held: Sequence[Accepted], night: str, captures: Sequence[str], reason: str, *, at: str, who: str
) -> list[Accepted]:
    """Return what ends acceptances of a night that are in force: one without changes for each."""
    words = stated("A revocation", reason)
    last = {(baseline.capture, baseline.work): baseline for baseline in held}
    own = [baseline for baseline in last.values() if baseline.night == night and baseline.changes]
    ended = [
        replace(baseline, at=at, reason=f"revoked: {words}", changes={}, who=who)
        for baseline in own
        if not captures or baseline.capture in captures
    ]
    if not ended:
        raise UsageError(
            f"Nothing that was accepted of the night {night} is in force.",
            hint="`tracekit baseline list` shows what is.",
        )
    return ended


def _together(nights: Sequence[Night], name: str, least: int) -> dict[str, tuple[float, ...]] | str:
    """Return the changes of a capture in all nights, or why it cannot be accepted."""
    found: dict[str, tuple[float, ...]] = {}
    first = next(entry for entry in nights[0].entries if entry.capture == name)
    for night in nights:
        entry = next((known for known in night.entries if known.capture == name), None)
        if entry is None or (night.machine, entry.work) != (nights[0].machine, first.work):
            return f"the night {night.id} did other work, or on another machine."
        own = _changes(entry)
        if isinstance(own, str):
            return own if night is nights[0] else f"in the night {night.id} {own}"
        kept = dict.fromkeys(own, ()) if night is nights[0] else found
        found = {metric: (*kept[metric], *own[metric]) for metric in kept if metric in own}
    for judged in first.judged:
        pairs = len(found.get(judged.metric, ()))
        if judged.gated and judged.scale == "ratio" and 0 < pairs < least:
            return (
                f"only {pairs} pairs of {judged.metric} count, and a judgement takes {least}: "
                "accept several nights together, or one with more pairs."
            )
    return found or "the nights have no metric in common."


def _changes(entry: Entry) -> dict[str, tuple[float, ...]] | str:
    if entry.reference is None:
        return "it has no reference that it could be expected to differ from."
    if entry.outcome is Outcome.FAILED:
        return f"it failed: {entry.reason}"
    found = {
        judged.metric: changes(entry.pairs, judged.metric, judged.scale) for judged in entry.judged
    }
    return {name: own for name, own in found.items() if own} or "it has no pair that counts."


_WORDS = ("night", "capture", "work", "at", "reason", "who")


@dataclass(frozen=True)
class Missed:
    """A night that was due and did not run; `due` is ISO 8601 in UTC."""

    plan: str
    machine: str
    due: str
    reason: str


def add_accepted(connection: Connection, machine: str, accepted: Sequence[Accepted]) -> None:
    """Add what is expected of a machine from now on."""
    rows = [
        {
            **{name: plain(getattr(baseline, name)) for name in _WORDS},
            "machine": plain(machine),
            "changes": msgspec.json.encode(baseline.changes).decode(),
        }
        for baseline in accepted
    ]
    connection.execute(insert(ACCEPTANCES), rows)


def all_accepted(connection: Connection, **of: str) -> list[Accepted]:
    """Return what was accepted, oldest first; of a machine, capture or work where named."""
    query = select(ACCEPTANCES).where(*(ACCEPTANCES.c[name] == text for name, text in of.items()))
    kind = dict[str, tuple[float, ...]]
    return [
        Accepted(
            **{name: row[name] for name in _WORDS},
            changes=msgspec.json.decode(row["changes"], type=kind),
        )
        for row in connection.execute(query.order_by(ACCEPTANCES.c.number)).mappings()
    ]


def all_pinned(connection: Connection) -> frozenset[str]:
    """Return what is pinned: ids of nights, and whole paths of folders."""
    query = select(PINS.c.name, PINS.c.pinned).order_by(PINS.c.number)
    last = {row.name: row.pinned for row in connection.execute(query)}
    return frozenset(name for name, held in last.items() if held)
