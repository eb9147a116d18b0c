"""Nights in a line each, series in a row for each night, and both as one table in a file.

Of nights in a line no more is read than how they ended, so that a newer tracekit's counts as well.
"""

import codecs
import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import quantity, short_commit, stamp
from tracekit.compare import middle
from tracekit.nightly.gate.decision import plain_change
from tracekit.nightly.history.night import (
    DOCUMENT,
    LEADS,
    Accepted,
    Judged,
    Night,
    Outcome,
    moment_in,
)
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.decisions import Missed


@dataclass(frozen=True)
class NightSummary:
    """When a night began, and how it ended; times are ISO 8601."""

    id: str
    started: str
    ended: str = ""
    outcome: str | None = None
    reason: str = ""
    partial: bool = False
    plan: str = ""

    @property
    def start_time(self) -> datetime | None:
        """When it began; None where that is no time with a zone."""
        return moment_in(self.started)


def course_in(folder: Path) -> NightSummary | None:
    """Return the course of the night in a folder; None where it cannot be read."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((folder / DOCUMENT).read_bytes(), type=NightSummary)
    return None


def last_course(output: Path, plan: str) -> NightSummary | None:
    """Return the course of the plan's night that began last; None where none can be read."""
    summaries = [course_in(path.parent) for path in sorted(output.glob(f"*/{DOCUMENT}"))]
    nights_by_start = {
        night.start_time: night
        for night in summaries
        if night and night.plan == plan and night.start_time
    }
    return nights_by_start[max(nights_by_start)] if nights_by_start else None


_DIGITS = 9  # of a commit or a digest
_REASON = 120  # characters of a reason in a terminal
_NIGHTS = ("night", "plan", "machine", "outcome", "change", "pairs", "commit")
_POINTS = ("began", "value", "reference", "change", "pairs", "outcome", "commit")


@dataclass(frozen=True)
class Line:
    """A night in short: so many `pairs` without a trace count, of all that were `measured`.

    `capture` and `metric` say most of it, empty where none was judged; their `change`, in `words`
    too, and its 95 % interval are as of `Judged`.
    """

    id: str
    plan: str
    machine: str
    started: str
    outcome: Outcome | None
    reason: str
    commit: str
    partial: bool
    pairs: int = 0
    measured: int = 0
    capture: str = ""
    metric: str = ""
    change: float | None = None
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True)
class Held:
    """What was accepted on a machine, and whether it holds still."""

    machine: str
    holds: bool
    accepted: Accepted


def line(night: Night) -> Line:
    """Return a night in short."""
    pairs = [pair for entry in night.entries for pair in entry.pairs if not pair.traced]
    short = Line(
        id=night.id,
        plan=night.plan,
        machine=night.machine,
        started=night.started,
        outcome=night.outcome,
        reason=night.reason,
        commit=night.commit,
        partial=night.partial,
        pairs=sum(not pair.contaminated for pair in pairs),
        measured=len(pairs),
    )
    deciding = [
        (entry.capture, judged)
        for entry in night.entries
        for judged in entry.judged
        if judged.gated and judged.outcome is not None and judged.change is not None
    ]
    if not deciding:
        return short
    capture, judged = max(deciding, key=lambda contender: _says(contender[1]))
    change = judged.formatter.format_change(judged.change, judged.low, judged.high)
    words = f"{capture} {judged.metric} {change}"
    judged_fields = {name: getattr(judged, name) for name in ("metric", "change", "low", "high")}
    return replace(short, capture=capture, words=words, **judged_fields)


def _says(judged: Judged) -> tuple[int, float]:
    """Return how much a metric says: first by how it ended, then by how far it got worse."""
    assert judged.outcome is not None
    assert judged.change is not None
    sign = {"lower": 1, "higher": -1, "neither": 0}[judged.better]
    worse = sign * judged.change if sign else abs(judged.change)
    return -[*LEADS].index(judged.outcome), worse / (judged.threshold or 1)


def table_of(
    lines: Sequence[Line], missed_nights: Sequence[Missed], pinned: Collection[str]
) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return columns and rows of nights, those that were missed among them, oldest first.

    Plan and machine are shown where there are several, the reason where there is no change.
    """
    rows = [
        {
            "at": night.started,
            "night": night.id + (" (pinned)" if night.id in pinned else ""),
            "plan": night.plan,
            "machine": night.machine,
            "outcome": f"{night.outcome or 'not ended'}{' (partial)' if night.partial else ''}",
            "change": night.words or _shorten_reason(night.reason),
            "pairs": f"{night.pairs} of {night.measured}",
            "commit": short_commit(night.commit, _DIGITS),
        }
        for night in lines
    ]
    rows += [
        {"at": miss.due, "night": stamp(miss.due), "plan": miss.plan, "machine": miss.machine}
        | {"outcome": "missed", "change": _shorten_reason(miss.reason)}
        for miss in missed_nights
    ]
    rows.sort(key=lambda row: row["at"])
    varying_columns = {name for name in ("plan", "machine") if len({row[name] for row in rows}) > 1}
    columns = [
        name for name in _NIGHTS if name not in {"plan", "machine"} or name in varying_columns
    ]
    return columns, [[row.get(column, "") for column in columns] for row in rows]


def _shorten_reason(reason: str) -> str:
    return shorten(reason, _REASON, placeholder=" …")


def series_table(series: Series) -> tuple[str, Sequence[str], list[Sequence[str]]]:
    """Return title, columns and rows of a metric over nights."""
    title = f"{series.capture} {series.metric}, {series.better} is better"
    title += f": {series.plan} on {series.machine}, work {series.work[:_DIGITS]}"
    rows: list[Sequence[str]] = [
        (
            stamp(point.at),
            "" if point.value is None else quantity(point.value, series.unit),
            "" if point.reference is None else quantity(point.reference, series.unit),
            series.formatter.format_change(point.change, point.low, point.high)
            or _shorten_reason(point.reason),
            str(point.pairs),
            str(point.outcome or point.night_outcome or ""),
            short_commit(point.commit, _DIGITS),
        )
        for point in series.points
    ]
    return title, _POINTS, rows


def held_on(machine: str, accepted: Sequence[Accepted]) -> list[Held]:
    """Return what was accepted on a machine, oldest first; the last of a work holds."""
    latest_baselines = {(baseline.capture, baseline.work): baseline for baseline in accepted}
    return [
        Held(
            machine,
            bool(acceptance.changes)
            and acceptance is latest_baselines[acceptance.capture, acceptance.work],
            acceptance,
        )
        for acceptance in accepted
    ]


def expected_words(night: Night, accepted: Accepted, metric: str) -> str:
    """Return the change that is expected of a metric since a night was accepted, in words."""
    entry = next(
        night_entry for night_entry in night.entries if night_entry.capture == accepted.capture
    )
    judged = next(entry_metric for entry_metric in entry.judged if entry_metric.metric == metric)
    expected_change = plain_change(middle(accepted.changes[metric]), judged.scale)
    return f"{judged.formatter.change(expected_change)} against the reference"


FlatFormat = Literal["csv", "json", "parquet"]
Redact = Callable[[str], str]

_BATCH = 50_000  # rows that are in memory at once
_TEXT, _NUMBER, _INTEGER, _FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
# `Series` and `Point` say what these are; the environment is a text of JSON. Of values, `turn` is
# that of this side in the pair, from 0; `counted` whether the pair counts, `reason` why not.
_OF_POINTS = pa.schema(
    [
        *((name, _TEXT) for name in ("machine", "plan", "capture", "work", "metric", "unit")),
        *(("better", _TEXT), ("scale", _TEXT), ("threshold", _NUMBER), ("gated", _FLAG)),
        *(("night", _TEXT), ("at", _TEXT)),
        *((name, _NUMBER) for name in ("value", "reference", "change", "low", "high")),
        *(("least", _NUMBER), ("most", _NUMBER), ("pairs", _INTEGER)),
        *((name, _TEXT) for name in ("outcome", "night_outcome", "reason", "commit", "folder")),
        ("environment", _TEXT),
    ]
)
_OF_VALUES = pa.schema(
    [
        *((name, _TEXT) for name in ("night", "at", "machine", "plan", "capture", "work")),
        *(("metric", _TEXT), ("side", _TEXT), ("sitting", _INTEGER), ("pair", _INTEGER)),
        *(("traced", _FLAG), ("turn", _INTEGER), ("value", _NUMBER), ("counted", _FLAG)),
        ("reason", _TEXT),
    ]
)


def write_points(
    file: BinaryIO, series: Iterable[Series], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each point of each series, without names of persons."""
    rows = (
        _row(metric_series, point, redact)
        for metric_series in series
        for point in metric_series.points
    )
    _write(file, _OF_POINTS, rows, kind)


def write_values(
    file: BinaryIO, values: Iterable[dict[str, Any]], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each value of each turn, without names of persons."""
    redacted_values = (value | {"reason": redact(value["reason"])} for value in values)
    rows = ({name: value[name] for name in _OF_VALUES.names} for value in redacted_values)
    _write(file, _OF_VALUES, rows, kind)


def _row(series: Series, point: Point, redact: Redact) -> dict[str, Any]:
    row_values = vars(point) | vars(series)
    environment = msgspec.json.encode(point.environment, order="deterministic").decode()
    row_values |= {"reason": redact(point.reason), "folder": redact(point.folder)}
    row_values |= {"environment": redact(environment)}
    return {name: row_values[name] for name in _OF_POINTS.names}


def _write(
    file: BinaryIO, schema: pa.Schema, rows: Iterator[dict[str, Any]], kind: FlatFormat
) -> None:
    if kind == "parquet":
        with pq.ParquetWriter(file, schema) as writer:
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(pa.Table.from_pylist(batch, schema))
    elif kind == "json":
        file.write(b"[")
        file.writelines(
            (b",\n" if number else b"\n") + msgspec.json.encode(row)
            for number, row in enumerate(rows)
        )
        file.write(b"\n]\n")
    else:
        writer = csv.DictWriter(codecs.getwriter("utf-8")(file), schema.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
