"""Nights in a line each, series in a row for each night, and both as one table in a file.

For nights in a line, only their outcome is read, so that nights of a newer tracekit count as well.
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

from tracekit.base import documents, units
from tracekit.comparison import shifts
from tracekit.nightly.history.night import (
    DOCUMENT,
    LEADS,
    Accepted,
    Judged,
    Missed,
    Night,
    Outcome,
    moment_in,
)
from tracekit.nightly.history.pairs import plain_change
from tracekit.nightly.history.steps import Point, Series


@dataclass(frozen=True)
class NightSummary:
    """The start of a night, and its outcome; times are ISO 8601."""

    id: str
    started: str
    ended: str = ""
    outcome: str | None = None
    reason: str = ""
    partial: bool = False
    plan: str = ""

    @property
    def start_time(self) -> datetime | None:
        """The start; None if `started` is not a time with a zone."""
        return moment_in(self.started)


def course_in(folder: Path) -> NightSummary | None:
    """Return the summary of the night in a folder; None if it cannot be read."""
    with suppress(OSError, msgspec.MsgspecError):
        content = (folder / DOCUMENT).read_bytes()
        return documents.decode_json(content, NightSummary)
    return None


def last_course(output: Path, plan: str) -> NightSummary | None:
    """Return the summary of the plan's latest night; None if none can be read."""
    latest_night = None
    latest_start = None
    for path in sorted(output.glob(f"*/{DOCUMENT}")):
        night = course_in(path.parent)
        if night is None or night.plan != plan:
            continue
        start = night.start_time
        if start and (latest_start is None or start >= latest_start):
            latest_night = night
            latest_start = start
    return latest_night


_DIGITS = 9  # of a commit or a digest
_REASON = 120  # characters of a reason in a terminal
_NIGHTS = ("night", "plan", "machine", "outcome", "change", "pairs", "commit")
_POINTS = ("began", "value", "reference", "change", "pairs", "outcome", "commit")


@dataclass(frozen=True)
class Line:
    """A night in short: so many `pairs` without a trace count, of all that were `measured`.

    `capture` and `metric` are the most telling of the night, empty if none was judged. Their
    `change`, also in `words`, and its 95 % interval are as in `Judged`.
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
    """An acceptance on a machine, and whether it still holds."""

    machine: str
    holds: bool
    accepted: Accepted


def line(night: Night) -> Line:
    """Return a night in short."""
    measured = 0
    counting = 0
    deciding: list[tuple[str, Judged]] = []
    for entry in night.entries:
        for pair in entry.pairs:
            if not pair.traced:
                measured += 1
                counting += not pair.rejections
        for judged in entry.judged:
            is_judged = judged.outcome is not None and judged.change is not None
            if judged.gated and is_judged:
                deciding.append((entry.capture, judged))
    short = Line(
        id=night.id,
        plan=night.plan,
        machine=night.machine,
        started=night.started,
        outcome=night.outcome,
        reason=night.reason,
        commit=night.commit,
        partial=night.partial,
        pairs=counting,
        measured=measured,
    )
    if not deciding:
        return short
    capture, judged = max(deciding, key=lambda contender: _weight(contender[1]))
    change = judged.formatter.format_change(judged.change, judged.low, judged.high)
    return replace(
        short,
        capture=capture,
        metric=judged.metric,
        change=judged.change,
        low=judged.low,
        high=judged.high,
        words=f"{capture} {judged.metric} {change}",
    )


def _weight(judged: Judged) -> tuple[int, float]:
    """Return the weight of a metric: first by its outcome, then by its change for the worse."""
    assert judged.outcome is not None
    assert judged.change is not None
    worse = abs(judged.change)
    if judged.better == "lower":
        worse = judged.change
    elif judged.better == "higher":
        worse = -judged.change
    rank = list(LEADS).index(judged.outcome)
    return -rank, worse / (judged.threshold or 1)


def table_of(
    lines: Sequence[Line], missed_nights: Sequence[Missed], pinned: Collection[str]
) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return columns and rows of nights, those that were missed among them, oldest first.

    Plan and machine are columns if there are several; a night without a change has its reason.
    """
    rows = [_row_of_night(night, pinned) for night in lines]
    rows += [_row_of_missed(miss) for miss in missed_nights]
    rows.sort(key=lambda row: row["at"])
    columns = list(_NIGHTS)
    for name in ("plan", "machine"):
        distinct_values = {row[name] for row in rows}
        if len(distinct_values) <= 1:
            columns.remove(name)
    cells: list[Sequence[str]] = []
    for row in rows:
        row_cells = [row.get(column, "") for column in columns]
        cells.append(row_cells)
    return columns, cells


def _row_of_night(night: Line, pinned: Collection[str]) -> dict[str, str]:
    name = night.id
    if name in pinned:
        name += " (pinned)"
    outcome = str(night.outcome or "not ended")
    if night.partial:
        outcome += " (partial)"
    change = night.words or _shorten_reason(night.reason)
    pairs = f"{night.pairs} of {night.measured}"
    commit = units.short_commit(night.commit, _DIGITS)
    return {
        "at": night.started,
        "night": name,
        "plan": night.plan,
        "machine": night.machine,
        "outcome": outcome,
        "change": change,
        "pairs": pairs,
        "commit": commit,
    }


def _row_of_missed(miss: Missed) -> dict[str, str]:
    return {
        "at": miss.due,
        "night": units.stamp(miss.due),
        "plan": miss.plan,
        "machine": miss.machine,
        "outcome": "missed",
        "change": _shorten_reason(miss.reason),
    }


def _shorten_reason(reason: str) -> str:
    return shorten(reason, _REASON, placeholder=" …")


def series_table(series: Series) -> tuple[str, Sequence[str], list[Sequence[str]]]:
    """Return title, columns and rows of a metric over nights."""
    title = f"{series.capture} {series.metric}, {series.better} is better"
    title += f": {series.plan} on {series.machine}, work {series.work[:_DIGITS]}"
    rows = [_row_of_point(series, point) for point in series.points]
    return title, _POINTS, rows


def _row_of_point(series: Series, point: Point) -> Sequence[str]:
    change = series.formatter.format_change(point.change, point.low, point.high)
    outcome = str(point.outcome or point.night_outcome or "")
    return (
        units.stamp(point.at),
        _format_value(point.value, series),
        _format_value(point.reference, series),
        change or _shorten_reason(point.reason),
        str(point.pairs),
        outcome,
        units.short_commit(point.commit, _DIGITS),
    )


def _format_value(value: float | None, series: Series) -> str:
    if value is None:
        return ""
    return units.quantity(value, series.unit)


def held_on(machine: str, accepted: Sequence[Accepted]) -> list[Held]:
    """Return the acceptances on a machine, oldest first; the last of a work holds."""
    latest: dict[tuple[str, str], Accepted] = {}
    for acceptance in accepted:
        latest[acceptance.capture, acceptance.work] = acceptance
    acceptances: list[Held] = []
    for acceptance in accepted:
        is_latest = acceptance is latest[acceptance.capture, acceptance.work]
        holds = bool(acceptance.changes) and is_latest
        acceptances.append(Held(machine, holds, acceptance))
    return acceptances


def expected_words(night: Night, accepted: Accepted, metric: str) -> str:
    """Describe the change that is expected of a metric since a night was accepted."""
    entries_of_capture = (entry for entry in night.entries if entry.capture == accepted.capture)
    entry = next(entries_of_capture)
    judged_metrics = (judged for judged in entry.judged if judged.metric == metric)
    judged = next(judged_metrics)
    middle_change = shifts.find_middle(accepted.changes[metric])
    expected_change = plain_change(middle_change, judged.scale)
    return f"{judged.formatter.change(expected_change)} against the reference"


FlatFormat = Literal["csv", "json", "parquet"]
Redact = Callable[[str], str]

_BATCH = 50_000  # rows that are in memory at once
_TEXT = pa.string()
_NUMBER = pa.float64()
_INTEGER = pa.int64()
_FLAG = pa.bool_()
# `Series` and `Point` explain these columns; the environment is a text of JSON. Of values, `turn`
# is that of this side in the pair, from 0. `counted` tells whether the pair counts; if it does
# not, `reason` says why.
_OF_POINTS = pa.schema(
    [
        ("machine", _TEXT),
        ("plan", _TEXT),
        ("capture", _TEXT),
        ("work", _TEXT),
        ("metric", _TEXT),
        ("unit", _TEXT),
        ("better", _TEXT),
        ("scale", _TEXT),
        ("threshold", _NUMBER),
        ("gated", _FLAG),
        ("night", _TEXT),
        ("at", _TEXT),
        ("value", _NUMBER),
        ("reference", _NUMBER),
        ("change", _NUMBER),
        ("low", _NUMBER),
        ("high", _NUMBER),
        ("least", _NUMBER),
        ("most", _NUMBER),
        ("pairs", _INTEGER),
        ("outcome", _TEXT),
        ("night_outcome", _TEXT),
        ("reason", _TEXT),
        ("commit", _TEXT),
        ("folder", _TEXT),
        ("environment", _TEXT),
    ]
)
_OF_VALUES = pa.schema(
    [
        ("night", _TEXT),
        ("at", _TEXT),
        ("machine", _TEXT),
        ("plan", _TEXT),
        ("capture", _TEXT),
        ("work", _TEXT),
        ("metric", _TEXT),
        ("side", _TEXT),
        ("session", _INTEGER),
        ("pair", _INTEGER),
        ("traced", _FLAG),
        ("turn", _INTEGER),
        ("value", _NUMBER),
        ("counted", _FLAG),
        ("reason", _TEXT),
    ]
)


def write_points(
    file: BinaryIO, series: Iterable[Series], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each point of each series, without names of persons."""
    _write(file, _OF_POINTS, _iter_point_rows(series, redact), kind)


def _iter_point_rows(series: Iterable[Series], redact: Redact) -> Iterator[dict[str, Any]]:
    for metric_series in series:
        for point in metric_series.points:
            yield _row(metric_series, point, redact)


def write_values(
    file: BinaryIO, values: Iterable[dict[str, Any]], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each value of each turn, without names of persons."""
    _write(file, _OF_VALUES, _iter_value_rows(values, redact), kind)


def _iter_value_rows(values: Iterable[dict[str, Any]], redact: Redact) -> Iterator[dict[str, Any]]:
    for value in values:
        row = {name: value[name] for name in _OF_VALUES.names}
        row["reason"] = redact(value["reason"])
        yield row


def _row(series: Series, point: Point, redact: Redact) -> dict[str, Any]:
    row_values = vars(point) | vars(series)
    encoded = msgspec.json.encode(point.environment, order="deterministic")
    environment = encoded.decode()
    row_values["reason"] = redact(point.reason)
    row_values["folder"] = redact(point.folder)
    row_values["environment"] = redact(environment)
    return {name: row_values[name] for name in _OF_POINTS.names}


def _write(
    file: BinaryIO, schema: pa.Schema, rows: Iterator[dict[str, Any]], kind: FlatFormat
) -> None:
    if kind == "parquet":
        _write_parquet(file, schema, rows)
    elif kind == "json":
        _write_json(file, rows)
    else:
        encoded_file = codecs.getwriter("utf-8")(file)
        writer = csv.DictWriter(encoded_file, schema.names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(file: BinaryIO, schema: pa.Schema, rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(file, schema) as writer:
        while batch := list(islice(rows, _BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema))


def _write_json(file: BinaryIO, rows: Iterator[dict[str, Any]]) -> None:
    file.write(b"[")
    separator = b"\n"
    for row in rows:
        file.write(separator + msgspec.json.encode(row))
        separator = b",\n"
    file.write(b"\n]\n")
