"""The requests to a server and its answers: latencies, the parts of the run, its levels."""

from collections.abc import Iterator
from contextlib import suppress

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.chart import Chart, make_integer_axis
from tracekit.pages.panel import Context, Tables, panel, rows
from tracekit.pages.panels.work import by_time
from tracekit.pages.plots import course, sample_level
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
    """Sum up the requests; None if the run served none."""
    request_rows = rows(tables, "requests")
    if request_rows.absence:
        return None
    requests = request_rows.frame
    tokens = rows(tables, "request_tokens").frame
    steps = rows(tables, "steps").frame
    gauges = rows(tables, "gauges").frame
    spans = rows(tables, "spans").frame
    served_spans = spans[spans["name"] != REFERENCE]
    parts_absence = ""
    try:
        in_parts = analysis.serving.parts(steps, gauges)
    except analysis.Unavailable as reason:
        in_parts = {}
        parts_absence = str(reason)
    latencies = [_latency(latency, requests, tokens) for latency in analysis.server.LATENCIES]
    charts = list(_charts(steps, gauges))
    return {
        "total": len(requests),
        "states": _count_states(requests),
        "reasons": _count_reasons(requests),
        "statistics": list(analysis.server.STATISTICS),
        "latencies": latencies,
        **_select_metrics(result),
        "parts": in_parts,
        "parts_absence": parts_absence,
        "spans": by_time(served_spans, "name", None),
        "charts": charts,
    }


def _count_states(requests: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the number of requests in each final state that occurs."""
    numbers = requests["state"].value_counts()
    states = [(state, int(numbers.get(state, 0))) for state in _STATES]
    return [(state, number) for state, number in states if number]


def _count_reasons(requests: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the reasons of rejections, each with the number of its requests."""
    is_rejected = requests["state"] == "rejected"
    rejected = requests.loc[is_rejected, "reason"].fillna("").value_counts()
    return [(str(reason), int(number)) for reason, number in rejected.items() if reason]


def _select_metrics(result: Result) -> Context:
    """Return the known metrics of the panel: rates, and how late requests arrived."""
    all_metrics = (*result.metrics, *result.results)
    known_metrics = {metric.name: metric for metric in all_metrics if metric.value is not None}
    lateness_names = [name for name in known_metrics if name.startswith("arrival_lateness")]
    return {
        "rates": [known_metrics[name] for name in _RATES if name in known_metrics],
        "lateness": [known_metrics[name] for name in lateness_names],
    }


def _latency(
    latency: analysis.server.Latency, requests: pd.DataFrame, tokens: pd.DataFrame
) -> tuple[str, str, int, list[float]]:
    """Return a latency's name, its meaning, its number of values, and each statistic in ns."""
    try:
        values = latency.values(requests, tokens)
    except analysis.Unavailable:
        return latency.name, _NAMES[latency.name], 0, []
    numbers = [number(values) for _, number in analysis.server.STATISTICS.values()]
    return latency.name, _NAMES[latency.name], values.size, numbers


def _charts(steps: pd.DataFrame, gauges: pd.DataFrame) -> Iterator[Chart]:
    """Draw levels over the steady phase, below their limit if the workload reports one."""
    with suppress(analysis.Unavailable):
        run = analysis.serving.steady_phase(steps)
        for name, title, bound, color in _LEVELS:
            with suppress(analysis.Unavailable):
                times, values = analysis.serving.readings_named(gauges, name)
                summary = f"At most {units.count(float(values.max()))}"
                top = 0.0
                level_limit = None
                if bound:
                    level_limit = analysis.serving.limit(gauges, bound)
                if level_limit is not None:
                    summary = f"{summary} of {units.count(level_limit)}"
                    top = level_limit
                level = sample_level(name, times, values, run, color)
                yield course(
                    title, f"{summary}.", level, units.count, upward=make_integer_axis, top=top
                )
