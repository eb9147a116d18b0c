"""What a server was asked, and how it answered: latencies, the parts of the run, its levels."""

from collections.abc import Iterator
from contextlib import suppress

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import count
from tracekit.report.chart import Chart, make_integer_axis
from tracekit.report.panel import Context, Tables, panel, rows
from tracekit.report.panels.work import by_time
from tracekit.report.plots import course, sample_level
from tracekit.workload import REFERENCE

_STATES = ("completed", "unfinished", "rejected")
_NAMES = {
    "ttft": "to the first token",
    "tpot": "for each token after it",
    "itl": "between two tokens",
    "e2e": "to the last token",
}
_LEVELS = (
    ("queued_requests", "Waiting requests", "", "others"),
    ("active_sequences", "Active sequences", "active_sequences", "steps"),
    ("used_blocks", "Blocks in use", "blocks", "device"),
)
_RATES = (
    *("offered_load", "request_rate_offered", "request_rate_served", "goodput", "slo_attainment"),
    *("tokens_per_second", "steady_token_rate", "tick_spikes"),
    *("block_occupancy_mean", "block_occupancy_peak", "queue_peak"),
)


@panel("Requests", "requests", "request_tokens", "steps", "gauges", "spans")
def requests(result: Result, tables: Tables) -> Context | None:
    """Sum up the requests; None where the run served none."""
    request_rows = rows(tables, "requests")
    if request_rows.absence:
        return None
    requests, tokens = request_rows.frame, rows(tables, "request_tokens").frame
    steps, gauges = rows(tables, "steps").frame, rows(tables, "gauges").frame
    did = rows(tables, "spans").frame
    known_metrics = {
        metric.name: metric
        for metric in (*result.metrics, *result.results)
        if metric.value is not None
    }
    states = requests["state"].value_counts()
    rejected = requests.loc[requests["state"] == "rejected", "reason"].fillna("").value_counts()
    try:
        in_parts, parts_absence = analysis.parts(steps, gauges), ""
    except analysis.Unavailable as reason:
        in_parts, parts_absence = {}, str(reason)
    return {
        "total": len(requests),
        "states": [(name, int(states.get(name, 0))) for name in _STATES if states.get(name, 0)],
        "reasons": [(str(reason), int(number)) for reason, number in rejected.items() if reason],
        "statistics": list(analysis.STATISTICS),
        "latencies": [_latency(latency, requests, tokens) for latency in analysis.LATENCIES],
        "rates": [known_metrics[name] for name in _RATES if name in known_metrics],
        "lateness": [
            known_metrics[name] for name in known_metrics if name.startswith("arrival_lateness")
        ],
        "parts": in_parts,
        "parts_absence": parts_absence,
        "spans": by_time(did[did["name"] != REFERENCE], "name", None),
        "charts": list(_charts(steps, gauges)),
    }


def _latency(
    latency: analysis.Latency, requests: pd.DataFrame, tokens: pd.DataFrame
) -> tuple[str, str, int, list[float]]:
    """Return a latency's name, its meaning, of how many it is, and each statistic in ns."""
    try:
        values = latency.values(requests, tokens)
    except analysis.Unavailable:
        return latency.name, _NAMES[latency.name], 0, []
    numbers = [number(values) for _, number in analysis.STATISTICS.values()]
    return latency.name, _NAMES[latency.name], values.size, numbers


def _charts(steps: pd.DataFrame, gauges: pd.DataFrame) -> Iterator[Chart]:
    """Draw levels over the steady phase, below their limit where the workload reports one."""
    with suppress(analysis.Unavailable):
        run = analysis.steady_phase(steps)
        for name, title, bound, color in _LEVELS:
            with suppress(analysis.Unavailable):
                times, values = analysis.readings_named(gauges, name)
                level_limit = analysis.limit(gauges, bound) if bound else None
                limit = "" if level_limit is None else f" of {count(level_limit)}"
                summary = f"At most {count(float(values.max()))}{limit}."
                level = sample_level(name, times, values, run, color)
                yield course(
                    title, summary, level, count, upward=make_integer_axis, top=level_limit or 0
                )
