"""The latencies of requests, as their senders saw them, and the work of a server."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Metric, Unavailable, metric
from tracekit.analysis.result import Better
from tracekit.analysis.scope import steady_steps
from tracekit.analysis.serving import (
    Part,
    Values,
    deviation,
    first_token_times,
    gaps_between_tokens,
    limit,
    mean,
    parts,
    readings_named,
    require_requests,
    select_completed,
    steady_phase,
    time_weighted,
    times_per_token,
    whole_times,
)


@dataclass(frozen=True)
class Latency:
    """A latency of requests: its name, its meaning, and a function that reads it from tables."""

    name: str
    meaning: str
    values: Callable[[pd.DataFrame, pd.DataFrame], Values]


LATENCIES = (
    Latency(
        "ttft",
        "time to first token, from the scheduled arrival, of all requests that got one",
        lambda requests, _: first_token_times(requests),
    ),
    Latency(
        "tpot",
        "time per output token after the first, a mean for each completed request",
        lambda requests, _: times_per_token(requests),
    ),
    Latency(
        "itl", "inter-token latency, all gaps between tokens of a request", gaps_between_tokens
    ),
    Latency(
        "e2e",
        "time to the last token, from the scheduled arrival, of completed requests",
        lambda requests, _: whole_times(requests),
    ),
)


def _percentile(percent: float) -> Callable[[Values], float]:
    return lambda values: float(np.percentile(values, percent))


STATISTICS: dict[str, tuple[str, Callable[[Values], float]]] = {
    "mean": ("Mean", mean),
    "p50": ("Median", _percentile(50)),
    "p95": ("95th percentile, linear between ranks,", _percentile(95)),
    "p99": ("99th percentile, linear between ranks,", _percentile(99)),
    "std": ("Standard deviation", deviation),
}


def _statistic(latency: Latency, name: str) -> Metric:
    words, number = STATISTICS[name]

    def measure(requests: pd.DataFrame, request_tokens: pd.DataFrame) -> float:
        return number(latency.values(requests, request_tokens))

    measure.__doc__ = f"{words} of the {latency.meaning}."
    return Metric(f"{latency.name}_{name}", "ns", Better.LOWER, measure)


LATENCY_METRICS = tuple(_statistic(latency, name) for latency in LATENCIES for name in STATISTICS)


@metric("requests/s")
def request_rate_offered(requests: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were to arrive, up to the last scheduled one of the run."""
    arrivals = require_requests(requests)["start"]
    last_arrival = int(arrivals.max())
    length = last_arrival - steady_phase(steps).start
    if length <= 0:
        raise Unavailable("all requests were to arrive when the run began.")
    return len(arrivals) * 1e9 / length


@metric("requests/s", Better.HIGHER)
def request_rate_served(requests: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were completed, over the whole run."""
    return len(select_completed(requests)) * 1e9 / _length(steps)


@metric("ratio", Better.HIGHER)
def slo_attainment(requests: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Share of all requests that were completed within `--slo-ttft` and `--slo-tpot`."""
    return _good(requests, gauges) / len(require_requests(requests))


@metric("requests/s", Better.HIGHER)
def goodput(requests: pd.DataFrame, gauges: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were completed within `--slo-ttft` and `--slo-tpot`."""
    return _good(requests, gauges) * 1e9 / _length(steps)


def _make_state_metric(state: str, better: Better, meaning: str) -> Metric:
    def measure(requests: pd.DataFrame) -> int:
        return int((require_requests(requests)["state"] == state).sum())

    measure.__doc__ = meaning
    return Metric(f"requests_{state}", "count", better, measure)


REQUEST_METRICS = (
    *LATENCY_METRICS,
    _make_state_metric("completed", Better.HIGHER, "Requests that got all their tokens."),
    _make_state_metric(
        "unfinished",
        Better.LOWER,
        "Requests that were to arrive in the run and were not complete at its end.",
    ),
    _make_state_metric(
        "rejected",
        Better.LOWER,
        "Requests that the server refused, because they could never be served.",
    ),
    request_rate_offered,
    request_rate_served,
    goodput,
    slo_attainment,
)


def _good(requests: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Count the completed requests within all limits; one token alone has no time per token."""
    offered_requests = require_requests(requests)
    longest_ttft = limit(gauges, "ttft")
    longest_tpot = limit(gauges, "tpot")
    if longest_ttft is None and longest_tpot is None:
        raise Unavailable("neither --slo-ttft nor --slo-tpot was given.")
    done = offered_requests[offered_requests["state"] == "completed"]
    good = np.ones(len(done), bool)
    if longest_ttft is not None:
        ttft = done["first_token"].to_numpy(dtype=np.float64)
        good &= ttft <= longest_ttft
    if longest_tpot is not None:
        decode_time = done["last_token"] - done["first_token"]
        decode_times = decode_time.to_numpy(dtype=np.float64)
        later_tokens = (done["produced"] - 1).to_numpy(dtype=np.float64)
        good &= decode_times <= longest_tpot * later_tokens
    return int(good.sum())


def _length(steps: pd.DataFrame) -> int:
    length = steady_phase(steps).length
    if not length:
        raise Unavailable("the run has no length.")
    return length


@metric("tokens/s", Better.HIGHER)
def steady_token_rate(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Median of tokens over duration, of the ticks in a server's steady part.

    That part runs from the first to the last tick with at least 80 % of the slots taken.
    """
    rate = _part(requests, steps, gauges, "steady").rate
    if rate is None:
        raise Unavailable("the ticks of the steady part have no length.")
    return rate


def _make_length_metric(part: str, meaning: str) -> Metric:
    def measure(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
        return _part(requests, steps, gauges, part).window.length

    measure.__doc__ = meaning
    return Metric(f"{part}_time", "ns", Better.NEITHER, measure)


@metric("count", Better.LOWER)
def tick_spikes(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Ticks of a server that took longer than `--slow-tick` (200 ms unless given)."""
    require_requests(requests)
    longest = limit(gauges, "tick")
    if longest is None:
        raise Unavailable("the workload does not tell which ticks are too long.")
    return int((steady_steps(steps)["duration"] > longest).sum())


@metric("ratio")
def block_occupancy_mean(
    requests: pd.DataFrame, gauges: pd.DataFrame, steps: pd.DataFrame
) -> float:
    """Share of the block pool in use, the mean over the time of the run."""
    require_requests(requests)
    return time_weighted(gauges, "used_blocks", steady_phase(steps)) / _pool(gauges)


@metric("ratio")
def block_occupancy_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Share of the block pool in use at most."""
    require_requests(requests)
    _, used_blocks = readings_named(gauges, "used_blocks")
    return float(used_blocks.max()) / _pool(gauges)


@metric("count", Better.LOWER)
def queue_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Requests that waited to be admitted, at most."""
    require_requests(requests)
    _, queued_requests = readings_named(gauges, "queued_requests")
    return int(queued_requests.max())


SERVING_METRICS = (
    steady_token_rate,
    _make_length_metric("ramp", "From the start of the run to a server's steady part."),
    _make_length_metric("steady", "How long a server's steady part lasted."),
    _make_length_metric("tail", "From the end of a server's steady part to the end of the run."),
    tick_spikes,
    block_occupancy_mean,
    block_occupancy_peak,
    queue_peak,
)


def _part(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame, name: str) -> Part:
    require_requests(requests)
    return parts(steps, gauges)[name]


def _pool(gauges: pd.DataFrame) -> float:
    blocks = limit(gauges, "blocks")
    if not blocks:
        raise Unavailable("the workload does not tell how many blocks it has.")
    return blocks
