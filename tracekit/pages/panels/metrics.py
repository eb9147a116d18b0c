"""All numbers of the run, and the reason in place of each that is missing."""

from tracekit.analysis import Better, Result
from tracekit.pages.panel import REPORTED, Context, Tables, group_by_key, meaning, of_metric, panel

_DIRECTIONS = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better"}


@panel("Metrics")
def metrics(result: Result, tables: Tables) -> Context:
    """List each known metric with its source and meaning, then the workload's measurements.

    Metrics that are missing for one reason are joined: reasons are read, names looked up.
    """
    metric_rows = [
        (metric, of_metric(tables, metric.name), meaning(metric.name)) for metric in result.metrics
    ]
    metric_rows += [(metric, REPORTED, "") for metric in result.results]
    unknown = [metric for metric, *_ in metric_rows if metric.value is None]
    known_rows = [row for row in metric_rows if row[0].value is not None]
    names_by_reason = [(metric.reason, metric.name) for metric in unknown]
    return {
        "known": known_rows,
        "unknown": group_by_key(names_by_reason),
        "number_unknown": len(unknown),
        "directions": _DIRECTIONS,
        "gist": f"{len(known_rows)} available, {len(unknown)} not",
    }
