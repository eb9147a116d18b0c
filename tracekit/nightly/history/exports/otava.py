"""Nights as Apache Otava reads them: CSV, a row a night, a column a metric.

Otava takes the columns that its configuration names, a time, and no empty cell.
Source: https://github.com/apache/otava/blob/master/docs/CSV.md, and `otava/importer.py` there.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tracekit.base.errors import UsageError
from tracekit.nightly.history.exports.newest import of_one_machine
from tracekit.nightly.history.series import Point, Series

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
