"""All numbers of the run, and the reason in place of each that is missing."""

from tracekit.analysis import Better, Result
from tracekit.base import unavailable
from tracekit.report.panel import REPORTED, Context, Tables, meaning, of_metric, panel, together

_DIRECTIONS = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better"}


@panel("Metrics")
def metrics(result: Result, tables: Tables) -> Context:
    """List each known metric with its source and meaning, then what the workload measured.

    What is missing for one reason stands together: reasons are read, names looked up.
    """
    made = [
        (metric, of_metric(tables, metric.name), meaning(metric.name)) for metric in result.metrics
    ]
    made += [(metric, REPORTED, "") for metric in result.results]
    unknown = [metric for metric, *_ in made if metric.value is None]
    return {
        "known": [row for row in made if row[0].value is not None],
        "unknown": together((unavailable(metric.reason), metric.name) for metric in unknown),
        "directions": _DIRECTIONS,
    }
