"""All numbers of the run, and the reason in place of each that is missing."""

from dataclasses import dataclass, replace

from tracekit.analysis import Better, Measurement, Result
from tracekit.base import quantity, unavailable
from tracekit.report.panel import REPORTED, Context, Panel, Tables, meaning, of_metric

_DIRECTIONS = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better"}


@dataclass(frozen=True)
class Row:
    """One metric, in words; or all those that are missing for one and the same reason."""

    names: tuple[str, ...]
    value: str
    known: bool
    direction: str
    source: str
    meaning: str


def context(result: Result, tables: Tables) -> Context:
    """Put each metric into words, then what the workload measured; the unknown come last."""
    made = [
        _row(metric, of_metric(tables, metric.name), meaning(metric.name))
        for metric in result.metrics
    ]
    made += [_row(one, REPORTED, "") for one in result.results]
    return {
        "known": [row for row in made if row.known],
        "unknown": _together([row for row in made if not row.known]),
    }


def _together(unknown: list[Row]) -> list[Row]:
    """Put what is missing for one reason into one row: reasons are read, names looked up."""
    by_reason: dict[str, Row] = {}
    for row in unknown:
        there = by_reason.get(row.value)
        names = row.names if there is None else there.names + row.names
        by_reason[row.value] = replace(row, names=names)
    return list(by_reason.values())


def _row(measurement: Measurement, source: str, meant: str) -> Row:
    known = measurement.value is not None
    return Row(
        names=(measurement.name,),
        value=quantity(measurement.value, measurement.unit)
        if known
        else unavailable(measurement.reason),
        known=known,
        direction=_DIRECTIONS.get(measurement.better, ""),
        source=source if known else "",
        meaning=meant,
    )


metrics = Panel("metrics", "Metrics", context)
