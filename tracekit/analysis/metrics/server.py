"""The latencies of requests, as their senders saw them, and the work of a server."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
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


def _make_statistic_measure(latency: Latency, name: str) -> Callable[..., float]:
    words, number = STATISTICS[name]

    def measure(requests: pd.DataFrame, request_tokens: pd.DataFrame) -> float:
        return number(latency.values(requests, request_tokens))

    measure.__doc__ = f"{words} of the {latency.meaning}."
    return measure


def _make_statistic_measures(latency: Latency) -> list[Callable[..., float]]:
    """Return the functions of a latency, in the order of `STATISTICS`."""
    return [_make_statistic_measure(latency, name) for name in STATISTICS]


_TTFT, _TPOT, _ITL, _E2E = LATENCIES
ttft_mean, ttft_p50, ttft_p95, ttft_p99, ttft_std = _make_statistic_measures(_TTFT)
tpot_mean, tpot_p50, tpot_p95, tpot_p99, tpot_std = _make_statistic_measures(_TPOT)
itl_mean, itl_p50, itl_p95, itl_p99, itl_std = _make_statistic_measures(_ITL)
e2e_mean, e2e_p50, e2e_p95, e2e_p99, e2e_std = _make_statistic_measures(_E2E)


def request_rate_offered(requests: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were to arrive, up to the last scheduled one of the run."""
    arrivals = require_requests(requests)["start"]
    last_arrival = int(arrivals.max())
    length = last_arrival - steady_phase(steps).start
    if length <= 0:
        raise Unavailable("all requests were to arrive when the run began.")
    return len(arrivals) * 1e9 / length


def request_rate_served(requests: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were completed, over the whole run."""
    return len(select_completed(requests)) * 1e9 / _length(steps)


def slo_attainment(requests: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Share of all requests that were completed within `--slo-ttft` and `--slo-tpot`."""
    return _good(requests, gauges) / len(require_requests(requests))


def goodput(requests: pd.DataFrame, gauges: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Requests per second that were completed within `--slo-ttft` and `--slo-tpot`."""
    return _good(requests, gauges) * 1e9 / _length(steps)


def _make_state_measure(state: str, meaning: str) -> Callable[..., int]:
    def measure(requests: pd.DataFrame) -> int:
        return int((require_requests(requests)["state"] == state).sum())

    measure.__doc__ = meaning
    return measure


requests_completed = _make_state_measure("completed", "Requests that got all their tokens.")
requests_unfinished = _make_state_measure(
    "unfinished", "Requests that were to arrive in the run and were not complete at its end."
)
requests_rejected = _make_state_measure(
    "rejected", "Requests that the server refused, because they could never be served."
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


def steady_token_rate(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Median of tokens over duration, of the ticks in a server's steady part.

    That part runs from the first to the last tick with at least 80 % of the slots taken.
    """
    rate = _part(requests, steps, gauges, "steady").rate
    if rate is None:
        raise Unavailable("the ticks of the steady part have no length.")
    return rate


def _make_length_measure(part: str, meaning: str) -> Callable[..., int]:
    def measure(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
        return _part(requests, steps, gauges, part).window.length

    measure.__doc__ = meaning
    return measure


ramp_time = _make_length_measure("ramp", "From the start of the run to a server's steady part.")
steady_time = _make_length_measure("steady", "How long a server's steady part lasted.")
tail_time = _make_length_measure(
    "tail", "From the end of a server's steady part to the end of the run."
)


def tick_spikes(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Ticks of a server that took longer than `--slow-tick` (200 ms unless given)."""
    require_requests(requests)
    longest = limit(gauges, "tick")
    if longest is None:
        raise Unavailable("the workload does not tell which ticks are too long.")
    return int((steady_steps(steps)["duration"] > longest).sum())


def block_occupancy_mean(
    requests: pd.DataFrame, gauges: pd.DataFrame, steps: pd.DataFrame
) -> float:
    """Share of the block pool in use, the mean over the time of the run."""
    require_requests(requests)
    return time_weighted(gauges, "used_blocks", steady_phase(steps)) / _pool(gauges)


def block_occupancy_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> float:
    """Share of the block pool in use at most."""
    require_requests(requests)
    _, used_blocks = readings_named(gauges, "used_blocks")
    return float(used_blocks.max()) / _pool(gauges)


def queue_peak(requests: pd.DataFrame, gauges: pd.DataFrame) -> int:
    """Requests that waited to be admitted, at most."""
    require_requests(requests)
    _, queued_requests = readings_named(gauges, "queued_requests")
    return int(queued_requests.max())


def _part(requests: pd.DataFrame, steps: pd.DataFrame, gauges: pd.DataFrame, name: str) -> Part:
    require_requests(requests)
    return parts(steps, gauges)[name]


def _pool(gauges: pd.DataFrame) -> float:
    blocks = limit(gauges, "blocks")
    if not blocks:
        raise Unavailable("the workload does not tell how many blocks it has.")
    return blocks
