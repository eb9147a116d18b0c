"""The decisions of people: which nights are the expectation from now on, pins, missed nights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import Connection, insert, select

from tracekit.base import UsageError, suggest_name
from tracekit.machine import chips
from tracekit.nightly.history.documents import replace_nul
from tracekit.nightly.history.night import Accepted, Entry, Night, Outcome
from tracekit.nightly.history.pairs import changes
from tracekit.nightly.history.store.schema import ACCEPTANCES, PINS

_MetricChanges = dict[str, tuple[float, ...]]  # by metric, one of each pair
_ANOTHER = "Accept another night; `tracekit nightly history` lists them."


@dataclass(frozen=True)
class Refused:
    """A capture that cannot be accepted, and why."""

    capture: str
    reason: str


def require_reason(subject: str, reason: str) -> str:
    """Return a reason without spaces around it; raise UsageError if it is empty."""
    reason = reason.strip()
    if not reason:
        raise UsageError(f"{subject} needs a reason.", hint="Say why: --reason TEXT")
    return reason


def acceptances_of(
    nights: Sequence[Night],
    captures: Sequence[str],
    reason: str,
    decision_time: str,
    *,
    min_pairs: int,
    who: str,
) -> tuple[list[Accepted], list[Refused]]:
    """Return the expectations from now on: the changes of the nights' pairs that count.

    Several nights are taken together, as pairs of one: each must have done the same work on the
    same machine. The acceptance has the id of the first, and its reason names the others. Without
    names it is every capture that can be accepted; those that cannot come second. A capture can be
    accepted if each ratio that decides has `min_pairs` pairs.
    """
    words = require_reason("A baseline", reason)
    nights_by_id = {night.id: night for night in nights}
    nights = list(nights_by_id.values())
    night = nights[0]
    _refuse_unfit(nights)
    entries = {entry.capture: entry for entry in night.entries}
    for name in captures:
        if name not in entries:
            raise UsageError(
                f"The night {night.id} has no capture {name!r}.", hint=suggest_name(name, entries)
            )
    other_ids = list(nights_by_id)[1:]
    if other_ids:
        words += f" (together with {', '.join(other_ids)})"
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for name in dict.fromkeys(captures or entries):
        metric_changes = _merge_changes(nights, name, min_pairs)
        if isinstance(metric_changes, str):
            refused.append(Refused(name, metric_changes))
        else:
            work = entries[name].work
            acceptance = Accepted(night.id, name, work, decision_time, words, metric_changes, who)
            accepted.append(acceptance)
    if refused and (captures or not accepted):
        reasons = "; ".join(f"{refusal.capture}: {refusal.reason}" for refusal in refused)
        raise UsageError(f"The night {night.id} cannot be accepted. {reasons}", hint=_ANOTHER)
    return accepted, refused


def _refuse_unfit(nights: Sequence[Night]) -> None:
    """Raise UsageError for nights of which nothing can be expected."""
    for night in nights:
        if night.environment.get("virtual"):
            raise UsageError(
                f"The night {night.id} ran on a virtual machine, so nothing can be expected of it.",
                hint=f"Accept a night of a Mac of your own. {chips.VIRTUAL_GPU}",
            )
        if night.outcome is Outcome.FAILED:
            raise UsageError(
                f"The night {night.id} failed, so nothing can be expected of it: {night.reason}",
                hint=_ANOTHER,
            )


def revocations_of(
    baselines: Sequence[Accepted],
    night: str,
    captures: Sequence[str],
    reason: str,
    *,
    decision_time: str,
    who: str,
) -> list[Accepted]:
    """Return the revocations of a night's acceptances in force: one without changes for each."""
    words = require_reason("A revocation", reason)
    latest_baselines = {(baseline.capture, baseline.work): baseline for baseline in baselines}
    revocations: list[Accepted] = []
    for baseline in latest_baselines.values():
        is_in_force = baseline.night == night and baseline.changes
        is_wanted = not captures or baseline.capture in captures
        if is_in_force and is_wanted:
            revocation = replace(
                baseline, at=decision_time, reason=f"revoked: {words}", changes={}, who=who
            )
            revocations.append(revocation)
    if not revocations:
        raise UsageError(
            f"No accepted change of the night {night} is in force.",
            hint="`tracekit nightly baseline list` shows the changes in force.",
        )
    return revocations


def _merge_changes(nights: Sequence[Night], name: str, min_pairs: int) -> _MetricChanges | str:
    """Return the changes of a capture in all nights, or why it cannot be accepted."""
    first_night, *other_nights = nights
    first_entry = _find_entry(first_night, name)
    assert first_entry is not None
    merged_changes = _changes(first_entry)
    if isinstance(merged_changes, str):
        return merged_changes
    for night in other_nights:
        entry = _find_entry(night, name)
        if entry is None or entry.work != first_entry.work or night.machine != first_night.machine:
            return f"the night {night.id} did other work, or on another machine."
        night_changes = _changes(entry)
        if isinstance(night_changes, str):
            return f"in the night {night.id} {night_changes}"
        merged_changes = _join_changes(merged_changes, night_changes)
    for judged in first_entry.judged:
        pairs = len(merged_changes.get(judged.metric, ()))
        if judged.gated and judged.scale == "ratio" and 0 < pairs < min_pairs:
            return (
                f"only {pairs} pairs of {judged.metric} count, and a judgement takes {min_pairs}: "
                "accept several nights together, or one with more pairs."
            )
    return merged_changes or "the nights have no metric in common."


def _find_entry(night: Night, capture: str) -> Entry | None:
    for entry in night.entries:
        if entry.capture == capture:
            return entry
    return None


def _join_changes(earlier_changes: _MetricChanges, night_changes: _MetricChanges) -> _MetricChanges:
    """Return the changes of the metrics that both have."""
    joined: _MetricChanges = {}
    for metric, pair_changes in earlier_changes.items():
        if metric in night_changes:
            joined[metric] = (*pair_changes, *night_changes[metric])
    return joined


def _changes(entry: Entry) -> _MetricChanges | str:
    """Return the changes of a capture's pairs by metric, or why it cannot be accepted."""
    if entry.reference is None:
        return "it has no reference that it could be expected to differ from."
    if entry.outcome is Outcome.FAILED:
        return f"it failed: {entry.reason}"
    metric_changes: _MetricChanges = {}
    for judged in entry.judged:
        pair_changes = changes(entry.pairs, judged.metric, judged.scale)
        if pair_changes:
            metric_changes[judged.metric] = pair_changes
    return metric_changes or "it has no pair that counts."


def add_accepted(connection: Connection, machine: str, accepted: Sequence[Accepted]) -> None:
    """Add the expectations of a machine from now on."""
    rows: list[dict[str, str]] = []
    for baseline in accepted:
        encoded_changes = msgspec.json.encode(baseline.changes).decode()
        row = {
            "night": replace_nul(baseline.night),
            "machine": replace_nul(machine),
            "capture": replace_nul(baseline.capture),
            "work": replace_nul(baseline.work),
            "at": replace_nul(baseline.at),
            "reason": replace_nul(baseline.reason),
            "changes": encoded_changes,
            "who": replace_nul(baseline.who),
        }
        rows.append(row)
    connection.execute(insert(ACCEPTANCES), rows)


def all_accepted(connection: Connection, **filters: str) -> list[Accepted]:
    """Return all acceptances, oldest first; of a machine, capture or work if one is named."""
    query = select(ACCEPTANCES).order_by(ACCEPTANCES.c.number)
    for name, text in filters.items():
        query = query.where(ACCEPTANCES.c[name] == text)
    accepted: list[Accepted] = []
    for row in connection.execute(query).mappings():
        decoded_changes = msgspec.json.decode(row["changes"], type=_MetricChanges)
        baseline = Accepted(
            night=row["night"],
            capture=row["capture"],
            work=row["work"],
            at=row["at"],
            reason=row["reason"],
            changes=decoded_changes,
            who=row["who"],
        )
        accepted.append(baseline)
    return accepted


def all_pinned(connection: Connection) -> frozenset[str]:
    """Return the pins: ids of nights, and absolute paths of folders."""
    query = select(PINS.c.name, PINS.c.pinned).order_by(PINS.c.number)
    pinned: set[str] = set()
    for row in connection.execute(query):
        if row.pinned:
            pinned.add(row.name)
        else:
            pinned.discard(row.name)
    return frozenset(pinned)
