"""A history as other programs read it.

Source: https://bencher.dev/docs/reference/bencher-metric-format

A file of it is a list of entries with `name`, `unit` and `value`, and `range` and `extra` where
they are known; all of one direction, which the action's `tool` says.
Source: https://github.com/benchmark-action/github-action-benchmark, `src/extract.ts`.

Otava takes the columns that its configuration names, a time, and no empty cell.
Source: https://github.com/apache/otava/blob/master/docs/CSV.md, and `otava/importer.py` there.
"""

import codecs
import csv
import dataclasses
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InconclusiveError, UsageError
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.asking import Value


def newest(series: Sequence[Series]) -> list[tuple[Series, Point]]:
    """Return the points of the last night that have a value, in the order of the series.

    Raises:
        UsageError: They are of several machines or plans, or of no night.
        InconclusiveError: The last night has no value; what others take for today's must not be
            an earlier one's.
    """
    of_one_machine(series)
    points = [(one, point) for one in series for point in one.points]
    if not points:
        raise UsageError("There is no night here.", hint="`tracekit history` lists the nights.")
    last = max((point for _, point in points), key=lambda point: (point.at, point.night))
    known = [(one, at) for one, at in points if at.night == last.night and at.value is not None]
    if not known:
        raise InconclusiveError(
            f"The last night, {last.night}, has no value: {last.reason}",
            hint="Name an earlier end to export an earlier night: --until TIME",
        )
    return known


def of_one_machine(series: Sequence[Series]) -> None:
    """Raise UsageError where series are of several machines or plans."""
    for what in ("machine", "plan"):
        names = sorted({str(getattr(one, what)) for one in series})
        if len(names) > 1:
            raise UsageError(
                f"This format takes one {what} at a time, and there are {', '.join(names)}.",
                hint=f"Choose one: --{what} NAME",
            )


Metric = dict[str, float]

AGAINST = "-against-reference"


def bencher(series: Sequence[Series]) -> dict[str, dict[str, Metric]]:
    """Return the last night: captures are benchmarks, metrics are measures.

    A metric's value is the median over pairs, its lower and upper value those of the extreme
    pairs. Beside it stands its change against the reference, with its 95 % interval.

    Raises:
        UsageError: The series are of several machines or plans, or of no night.
        InconclusiveError: The last night has no value.
    """
    found: dict[str, dict[str, Metric]] = {}
    for one, point in newest(series):
        own = found.setdefault(f"{one.plan}/{one.capture}", {})
        own[one.metric] = _metric(point.value, point.least, point.most)
        if point.change is not None:
            own[one.metric + AGAINST] = _metric(point.change, point.low, point.high)
    return found


def _metric(value: float | None, lower: float | None, upper: float | None) -> Metric:
    named = {"value": value, "lower_value": lower, "upper_value": upper}
    return {name: number for name, number in named.items() if number is not None}


Direction = Literal["lower", "higher"]
TOOLS: dict[Direction, str] = {
    "lower": "customSmallerIsBetter",
    "higher": "customBiggerIsBetter",
}
_OTHER: dict[Direction, Direction] = {"lower": "higher", "higher": "lower"}


def benchmarks(series: Sequence[Series], better: Direction) -> list[dict[str, str | float]]:
    """Return the entries of the last night, of the metrics of which less, or more, is better.

    Raises:
        UsageError: The series are of several machines or plans, or none of them is of that
            direction.
        InconclusiveError: The last night has no value.
    """
    of_direction = [one for one in series if one.better == better]
    if not of_direction:
        raise UsageError(
            f"No metric here is better if it is {better}.",
            hint=f"Ask for the others: --better {_OTHER[better]}",
        )
    found: list[dict[str, str | float]] = []
    for one, point in newest(of_direction):
        assert point.value is not None
        entry: dict[str, str | float] = {
            "name": f"{one.plan}/{one.capture}: {one.metric}",
            "unit": one.unit,
            "value": point.value,
        }
        if point.least is not None and point.most is not None:
            entry["range"] = f"{point.least:g} … {point.most:g}"
        entry["extra"] = f"night {point.night}\npairs {point.pairs}"
        found.append(entry)
    return found


_FIXED = ("time", "night", "commit")


@dataclass(frozen=True)
class Otava:
    """A table for Otava.

    Attributes:
        csv: The table.
        test: What Otava's configuration must say of it, as lines of YAML.
        left_out: How many nights are not in it, because a metric has no value.
    """

    csv: str
    test: str
    left_out: int


def otava(series: Sequence[Series], file: str = "history.csv") -> Otava:
    """Return the medians of metrics over nights; of works of one capture, the last one's.

    A metric that has no value in any night in which the others have one is left out.

    Raises:
        UsageError: They are of several machines or plans, or no night has a value.
    """
    of_one_machine(series)
    columns = _columns([one for one in series if any(map(_known, one.points))])
    nights = {point.night: point for _, own in columns.items() for point in own.points}
    cells = {
        name: {point.night: point.value for point in own.points if _known(point)}
        for name, own in columns.items()
    }
    whole = [night for night in nights if all(night in own for own in cells.values())]
    if not columns or not whole:
        raise UsageError(
            "No night has a value of all these metrics.", hint="Choose some: --metric NAME"
        )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FIXED, *columns])
    for night in sorted(whole, key=lambda one: nights[one].at):
        at = nights[night]
        writer.writerow([at.at, night, at.commit, *(own[night] for own in cells.values())])
    return Otava(out.getvalue(), _test(columns, file), len(nights) - len(whole))


def _known(point: Point) -> bool:
    return point.value is not None


def _columns(series: Sequence[Series]) -> dict[str, Series]:
    """Return the series by their column's name; a later work takes an earlier one's place."""
    several = len({one.capture for one in series}) > 1
    found: dict[str, Series] = {}
    for one in sorted(series, key=lambda own: own.points[-1].at):
        found[f"{one.capture}.{one.metric}" if several else one.metric] = one
    return dict(sorted(found.items()))


def _test(columns: dict[str, Series], file: str) -> str:
    first = next(iter(columns.values()))
    directions = {"lower": -1, "higher": 1}
    # A string of JSON is one of YAML, whatever is in it.
    lines = [
        "tests:",
        f"  {_quoted(first.plan)}:",
        "    type: csv",
        f"    file: {_quoted(file)}",
        "    time_column: time",
        "    attributes: [night, commit]",
        "    metrics:",
    ]
    for name, one in columns.items():
        direction = directions.get(one.better, 1)
        named = _quoted(name)
        lines.append(f"      {named}: {{column: {named}, direction: {direction}}}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


FlatFormat = Literal["csv", "json", "parquet"]
Redact = Callable[[str], str]

_BATCH = 50_000  # rows that are in memory at once
_KINDS: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    float | None: pa.float64(),
    str | None: pa.string(),
}


@dataclass(frozen=True)
class PointRow:
    """One night's point of one series; see `Series` and `Point` for what the fields are."""

    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    unit: str
    better: str
    scale: str
    threshold: float
    gated: bool
    night: str
    at: str
    value: float | None
    reference: float | None
    change: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    pairs: int
    outcome: str | None
    night_outcome: str | None
    reason: str
    commit: str
    folder: str
    environment: str


def point_rows(series: Iterable[Series], redact: Redact) -> Iterator[PointRow]:
    """Yield a row for each point of each series, without names of persons."""
    for one in series:
        for point in one.points:
            yield _row(one, point, redact)


def write_points(
    file: BinaryIO, series: Iterable[Series], kind: FlatFormat, redact: Redact
) -> None:
    """Write a row for each point of each series; the environment is a text of JSON."""
    _write(file, PointRow, point_rows(series, redact), kind)


def write_values(file: BinaryIO, values: Iterable[Value], kind: FlatFormat, redact: Redact) -> None:
    """Write a row for each value of each turn."""
    told = (dataclasses.replace(one, reason=redact(one.reason)) for one in values)
    _write(file, Value, told, kind)


def _row(series: Series, point: Point, redact: Redact) -> PointRow:
    names = [one.name for one in dataclasses.fields(PointRow)]
    known: dict[str, Any] = vars(point) | vars(series)
    told: dict[str, Any] = {
        "reason": redact(point.reason),
        "folder": redact(point.folder),
        "environment": redact(
            msgspec.json.encode(point.environment, order="deterministic").decode()
        ),
    }
    return PointRow(**{name: told.get(name, known[name]) for name in names})


def _write(file: BinaryIO, kind: type[Any], rows: Iterable[Any], as_format: FlatFormat) -> None:
    fields = {one.name: _KINDS[one.type] for one in dataclasses.fields(kind)}
    if as_format == "parquet":
        _write_parquet(file, fields, rows)
    elif as_format == "json":
        _write_json(file, rows)
    else:
        _write_csv(file, list(fields), rows)


def _write_csv(file: BinaryIO, names: Sequence[str], rows: Iterable[Any]) -> None:
    writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)


def _write_json(file: BinaryIO, rows: Iterable[Any]) -> None:
    before = b"[\n"
    for row in rows:
        file.write(before + msgspec.json.encode(row))
        before = b",\n"
    file.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def _write_parquet(file: BinaryIO, fields: dict[str, pa.DataType], rows: Iterable[Any]) -> None:
    schema = pa.schema(list(fields.items()))
    with pq.ParquetWriter(file, schema) as writer:
        for batch in _batches(rows):
            columns = [[getattr(row, name) for row in batch] for name in fields]
            writer.write_table(
                pa.table(
                    [pa.array(own, schema.field(at).type) for at, own in enumerate(columns)],
                    schema=schema,
                )
            )


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield batch
