"""What people decide: whether a night can be what is expected from now on, pins, missed nights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import Connection, insert, select

from tracekit.base import UsageError, suggest_name
from tracekit.nightly.gate.decision import changes
from tracekit.nightly.history.night import Accepted, Entry, Night, Outcome
from tracekit.nightly.history.store.documents import replace_nul
from tracekit.nightly.history.store.schema import ACCEPTANCES, PINS

_ANOTHER = "Accept another night; `tracekit history` lists them."


@dataclass(frozen=True)
class Refused:
    """A capture that cannot be accepted, and why."""

    capture: str
    reason: str


def require_reason(subject: str, reason: str) -> str:
    """Return a reason without spaces around it; raise UsageError where there is none."""
    if not reason.strip():
        raise UsageError(f"{subject} needs a reason.", hint="Say why: --reason TEXT")
    return reason.strip()


def acceptances_of(
    nights: Sequence[Night],
    captures: Sequence[str],
    reason: str,
    decision_time: str,
    *,
    min_pairs: int,
    who: str,
) -> tuple[list[Accepted], list[Refused]]:
    """Return what is expected from now on: the changes of the nights' pairs that count.

    Several nights are taken together, as pairs of one: each must have done the same work on the
    same machine. What is accepted is called by the first, and its reason names the others.
    Without names it is every capture that can be accepted; those that cannot come second. A
    capture can be accepted if each ratio that decides has `min_pairs` pairs.
    """
    words = require_reason("A baseline", reason)
    nights = tuple({night.id: night for night in nights}.values())
    night, *other_nights = nights
    if failed := next(
        (given_night for given_night in nights if given_night.outcome is Outcome.FAILED), None
    ):
        raise UsageError(
            f"The night {failed.id} failed, so nothing can be expected of it: {failed.reason}",
            hint=_ANOTHER,
        )
    entries = {entry.capture: entry for entry in night.entries}
    for name in captures:
        if name not in entries:
            raise UsageError(
                f"The night {night.id} has no capture {name!r}.", hint=suggest_name(name, entries)
            )
    if other_nights:
        words += f" (together with {', '.join(other_night.id for other_night in other_nights)})"
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for name in dict.fromkeys(captures or entries):
        metric_changes = _merge_changes(nights, name, min_pairs)
        if isinstance(metric_changes, str):
            refused.append(Refused(name, metric_changes))
        else:
            accepted.append(
                Accepted(
                    night.id, name, entries[name].work, decision_time, words, metric_changes, who
                )
            )
    if refused and (captures or not accepted):
        reasons = "; ".join(f"{refusal.capture}: {refusal.reason}" for refusal in refused)
        raise UsageError(f"The night {night.id} cannot be accepted. {reasons}", hint=_ANOTHER)
    return accepted, refused


def revocations_of(
    baselines: Sequence[Accepted],
    night: str,
    captures: Sequence[str],
    reason: str,
    *,
    decision_time: str,
    who: str,
) -> list[Accepted]:
    """Return what ends acceptances of a night that are in force: one without changes for each."""
    words = require_reason("A revocation", reason)
    latest_baselines = {(baseline.capture, baseline.work): baseline for baseline in baselines}
    night_baselines = [
        baseline
        for baseline in latest_baselines.values()
        if baseline.night == night and baseline.changes
    ]
    revocations = [
        replace(baseline, at=decision_time, reason=f"revoked: {words}", changes={}, who=who)
        for baseline in night_baselines
        if not captures or baseline.capture in captures
    ]
    if not revocations:
        raise UsageError(
            f"Nothing that was accepted of the night {night} is in force.",
            hint="`tracekit baseline list` shows what is.",
        )
    return revocations


def _merge_changes(
    nights: Sequence[Night], name: str, min_pairs: int
) -> dict[str, tuple[float, ...]] | str:
    """Return the changes of a capture in all nights, or why it cannot be accepted."""
    merged_changes: dict[str, tuple[float, ...]] = {}
    first_entry = next(entry for entry in nights[0].entries if entry.capture == name)
    for night in nights:
        entry = next(
            (night_entry for night_entry in night.entries if night_entry.capture == name), None
        )
        if entry is None or (night.machine, entry.work) != (nights[0].machine, first_entry.work):
            return f"the night {night.id} did other work, or on another machine."
        night_changes = _changes(entry)
        if isinstance(night_changes, str):
            return (
                night_changes if night is nights[0] else f"in the night {night.id} {night_changes}"
            )
        earlier_changes = dict.fromkeys(night_changes, ()) if night is nights[0] else merged_changes
        merged_changes = {
            metric: (*earlier_changes[metric], *night_changes[metric])
            for metric in earlier_changes
            if metric in night_changes
        }
    for judged in first_entry.judged:
        pairs = len(merged_changes.get(judged.metric, ()))
        if judged.gated and judged.scale == "ratio" and 0 < pairs < min_pairs:
            return (
                f"only {pairs} pairs of {judged.metric} count, and a judgement takes {min_pairs}: "
                "accept several nights together, or one with more pairs."
            )
    return merged_changes or "the nights have no metric in common."


def _changes(entry: Entry) -> dict[str, tuple[float, ...]] | str:
    if entry.reference is None:
        return "it has no reference that it could be expected to differ from."
    if entry.outcome is Outcome.FAILED:
        return f"it failed: {entry.reason}"
    metric_changes = {
        judged.metric: changes(entry.pairs, judged.metric, judged.scale) for judged in entry.judged
    }
    return {
        name: pair_changes for name, pair_changes in metric_changes.items() if pair_changes
    } or "it has no pair that counts."


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
            **{name: replace_nul(getattr(baseline, name)) for name in _WORDS},
            "machine": replace_nul(machine),
            "changes": msgspec.json.encode(baseline.changes).decode(),
        }
        for baseline in accepted
    ]
    connection.execute(insert(ACCEPTANCES), rows)


def all_accepted(connection: Connection, **filters: str) -> list[Accepted]:
    """Return what was accepted, oldest first; of a machine, capture or work where named."""
    query = select(ACCEPTANCES).where(
        *(ACCEPTANCES.c[name] == text for name, text in filters.items())
    )
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
    latest_pins = {row.name: row.pinned for row in connection.execute(query)}
    return frozenset(name for name, is_pinned in latest_pins.items() if is_pinned)
