"""A night as one text that is kept whole, and as rows, so that SQL can ask for it."""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from tracekit.base import InputError
from tracekit.compare import Scale
from tracekit.machine import State
from tracekit.nightly.gate.changes import changes, values
from tracekit.nightly.gate.statistics import middle, shift
from tracekit.nightly.history.night import DOCUMENT, FORMAT, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.store.schema import (
    ENTRIES,
    ENVIRONMENTS,
    FINDINGS,
    JUDGEMENTS,
    NIGHTS,
    PAIRS,
    SAMPLES,
    STATES,
)

_CUT_SHORT = "The night was cut short: its process was killed, or the machine went down."


def as_document(night: Night) -> str:
    """Return the night as JSON.

    Raises:
        InputError: It could not be read again, as where a value is no finite number.
    """
    try:
        text = msgspec.json.encode(night).decode()
        msgspec.json.decode(text, type=Night)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        # Letters that are no text in UTF-8; JSON has null for what is no number.
        raise InputError(
            f"The night {night.id} cannot be kept: {error}.",
            hint="All its values must be finite numbers, and all its words text.",
        ) from error
    return text


def decoded(text: str | bytes, name: str) -> Night:
    """Return the night that a text holds.

    Raises:
        InputError: It cannot be understood, or a newer tracekit wrote it.
    """
    try:
        night = msgspec.json.decode(text, type=Night)
    except msgspec.MsgspecError as error:
        raise InputError(f"The night {name} cannot be read: {error}.") from error
    if night.format > FORMAT:
        raise InputError(
            f"The night {name} has format {night.format}; this tracekit reads up to {FORMAT}.",
            hint="Update tracekit on this machine.",
        )
    return night


def night_in(folder: Path) -> Night | None:
    """Read the night that a folder holds; None where it holds none."""
    try:
        text = (folder / DOCUMENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{folder / DOCUMENT} cannot be read: {error.strerror}.") from error
    return decoded(text, str(folder / DOCUMENT))


def cut_short(night: Night) -> Night:
    """Return a night whose process ended before it did, as what the history keeps of it.

    It failed, unless a regression was found before.
    """
    if night.ended and night.outcome is not None:
        return night
    worst = any(one.outcome is Outcome.REGRESSION for one in night.entries)
    return replace(
        night,
        partial=True,
        outcome=Outcome.REGRESSION if worst else Outcome.FAILED,
        reason=f"{night.reason} {_CUT_SHORT}".strip(),
    )


Row = dict[str, Any]
_FACTS = ("chip", "os", "os_build", "xcode_build", "python", "mlx", "tracekit", "recorder")


def moment(at: str | datetime) -> str:
    """Return a time as the history has it: ISO 8601 in UTC, so that text sorts by time.

    Raises:
        InputError: It is no time.
    """
    try:
        found = at if isinstance(at, datetime) else datetime.fromisoformat(at)
    except ValueError as error:
        raise InputError(
            f"{at!r} is no time.", hint="Write it as 2026-03-01T02:30+00:00."
        ) from error
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found.astimezone(UTC).isoformat(timespec="milliseconds")


def environment_row(night: Night) -> Row:
    """Return the machine and its software, by a digest of all that is known of them."""
    document = msgspec.json.encode(night.environment, order="deterministic")
    cores = night.environment.get("cores")
    return {
        "digest": hashlib.sha256(document).hexdigest()[:16],
        "cores": cores if isinstance(cores, int) else None,
        "document": document.decode(),
        **{name: plain(str(night.environment.get(name, ""))) for name in _FACTS},
    }


def night_row(night: Night, environment: str, document: str) -> Row:
    """Return the night itself."""
    return {
        **{name: plain(getattr(night, name)) for name in ("id", "plan", "digest", "machine")},
        "environment": environment,
        "started": moment(night.started),
        "ended": moment(night.ended) if night.ended else "",
        "git_commit": plain(night.commit),
        "outcome": night.outcome,
        "reason": plain(night.reason),
        "partial": night.partial,
        "folder": plain(night.folder),
        "format": night.format,
        "document": document,
    }


def of_entries(night: Night, rows: Callable[[Entry], Iterator[Row]]) -> list[Row]:
    """Return the rows of all entries, each with its entry's place."""
    numbered = enumerate(night.entries)
    return [{"entry": place, **row} for place, entry in numbered for row in rows(entry)]


def entry_rows(night: Night) -> list[Row]:
    """Return the captures of a night."""
    return [
        {
            "position": place,
            "capture": plain(entry.capture),
            "work": plain(entry.work),
            "workload": plain(entry.candidate.workload),
            "parameters": msgspec.json.encode(entry.candidate.parameters).decode(),
            "candidate": plain(entry.candidate.words),
            "candidate_commit": plain(entry.candidate.commit),
            "candidate_mlx": plain(entry.candidate.mlx),
            "reference": plain(entry.reference.words) if entry.reference else None,
            "outcome": entry.outcome,
            "reason": plain(entry.reason),
            "parity": plain(entry.parity),
            "backend": plain(entry.backend),
            "overhead": entry.overhead.ratio if entry.overhead else None,
            "overhead_spread": entry.overhead.spread if entry.overhead else None,
        }
        for place, entry in enumerate(night.entries)
    ]


def pair_rows(entry: Entry) -> Iterator[Row]:
    """Yield the pairs of an entry."""
    for place, pair in enumerate(entry.pairs):
        yield {
            "position": place,
            "sitting": pair.sitting,
            "number": pair.number,
            "turns": plain(pair.order),
            "traced": pair.traced,
            "counted": not pair.contaminated,
            "reason": plain("; ".join(pair.contaminated)),
            "runs": msgspec.json.encode(pair.runs).decode(),
        }


def sample_rows(entry: Entry) -> Iterator[Row]:
    """Yield every value of every turn."""
    for place, pair in enumerate(entry.pairs):
        for side, measured in (("candidate", pair.candidate), ("reference", pair.reference)):
            for metric, turns in measured.items():
                for turn, value in enumerate(turns):
                    named = {"pair": place, "side": side, "metric": plain(metric)}
                    yield {**named, "turn": turn, "value": value}


def state_rows(entry: Entry) -> Iterator[Row]:
    """Yield what was read of the machine beside each pair, and what could not be."""
    for place, pair in enumerate(entry.pairs):
        for when, state in (("before", pair.before), ("after", pair.after)):
            if state is not None:
                named = {"pair": place, "moment": when, "at": plain(state.at)}
                yield from ({**named, **row} for row in _readings(state))


def judgement_rows(entry: Entry) -> Iterator[Row]:
    """Yield what became of each metric, and what was measured before anything was expected."""
    for place, judged in enumerate(entry.judged):
        yield {
            "position": place,
            "metric": plain(judged.metric),
            "unit": plain(judged.unit),
            "baseline": plain(judged.baseline),
            "reason": plain(judged.reason),
            **{
                name: getattr(judged, name)
                for name in (
                    *("better", "scale", "threshold", "gated", "outcome", "candidate"),
                    *("reference", "change", "low", "high", "expected", "pairs", "reproduced"),
                )
            },
            **_measured(entry.pairs, judged),
        }


def finding_rows(entry: Entry) -> Iterator[Row]:
    """Yield the findings of an entry."""
    for place, found in enumerate(entry.findings):
        yield {
            "position": place,
            **{name: plain(getattr(found, name)) for name in ("rule", "message", "severity")},
            "traces": found.traces,
            "of_traces": found.of,
            "in_reference": found.in_reference,
            "saving_per_token": found.saving_per_token,
            "saving": found.saving,
        }


def plain(text: str) -> str:
    """Return text that both databases take: PostgreSQL takes no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _readings(state: State) -> Iterator[Row]:
    for name, value in state.readings.items():
        yield {"name": plain(name), "value": value, "absence": ""}
    for name, why in state.absences.items():
        if name not in state.readings:
            yield {"name": plain(name), "value": None, "absence": plain(why)}


def _measured(pairs: tuple[Pair, ...], judged: Judged) -> Row:
    """Return the change as it was measured, on the metric's own scale, and the extreme pairs."""
    found = changes(pairs, judged.metric, judged.scale)
    interval = shift(found)
    candidate = values(pairs, judged.metric, "candidate")
    return {
        "measured": _scaled(middle(found), judged.scale) if found else None,
        "measured_low": _scaled(interval.low, judged.scale) if interval else None,
        "measured_high": _scaled(interval.high, judged.scale) if interval else None,
        "least": min(candidate, default=None),
        "most": max(candidate, default=None),
    }


def _scaled(change: float, scale: Scale) -> float:
    return math.expm1(change) if scale == "ratio" else change


_OF_ENTRIES = (
    (PAIRS, pair_rows),
    (SAMPLES, sample_rows),
    (STATES, state_rows),
    (JUDGEMENTS, judgement_rows),
    (FINDINGS, finding_rows),
)


def append(connection: Connection, night: Night) -> bool:
    """Add a night; return False where the very same is there.

    Raises:
        InputError: There is another one of its id, or it cannot be kept as a document.
    """
    document = as_document(night)
    stored = connection.scalar(select(NIGHTS.c.document).where(NIGHTS.c.id == night.id))
    if stored is not None:
        if decoded(stored, night.id) != decoded(document, night.id):
            raise InputError(
                f"The history has another night {night.id} already.",
                hint="A history is append-only; the one that was there first stays as it is.",
            )
        return False
    environment = environment_row(night)
    _insert_new(connection, environment)
    row = night_row(night, environment["digest"], document)
    number = connection.scalar(insert(NIGHTS).values(row).returning(NIGHTS.c.number))
    _insert(connection, ENTRIES, number, entry_rows(night))
    for table, of_entry in _OF_ENTRIES:
        _insert(connection, table, number, of_entries(night, of_entry))
    return True


def _insert(connection: Connection, table: Table, number: int | None, found: list[Row]) -> None:
    if found:
        connection.execute(insert(table), [{"night": number, **row} for row in found])


def _insert_new(connection: Connection, environment: dict[str, Any]) -> None:
    """Insert what may be there; neither database says so in the other's words."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(ENVIRONMENTS).values(environment).on_conflict_do_nothing())
