"""Runs whose every moment can be worked out by hand, from the schedule to the metrics."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from tracekit.analysis import serving
from tracekit.analysis.metrics import METRICS

MS = 1_000_000
Tables = dict[str, pd.DataFrame]


def tables_of(rig: Any) -> Tables:
    """Lay what an engine told on the time of its run, as a recording's tables do."""
    requests, tokens = [], []
    for number, one in sorted(rig.requests.items()):
        known = one.tokens or (None, None)
        first, last = (None if at is None else at - one.scheduled for at in (known[0], known[-1]))
        at = one.scheduled - rig.begun
        requests.append((at, number, one.state, first, last, len(one.tokens)))
        tokens += [(at - rig.begun, number, index) for index, at in enumerate(one.tokens)]
    gauges = [(one.at - rig.begun, one.name, one.value) for told in rig.told for one in told.gauges]
    names = ["start", "number", "state", "first_token", "last_token", "produced"]
    integers = dict.fromkeys(("first_token", "last_token", "produced"), "Int64")
    return {
        "requests": pd.DataFrame(requests, columns=names).astype(integers),
        "request_tokens": pd.DataFrame(tokens, columns=["time", "request", "index"]),
        "gauges": pd.DataFrame(gauges, columns=["time", "name", "value"]),
    }


def test_prompts_queue_one_behind_the_other(rig: Callable[..., Any]) -> None:
    # four come at once: the k-th waits for k pieces, and for the decode steps beside them
    one = tables_of(rig([(0, 8, 1)] * 4, prefill=10 * MS).run())
    assert serving.first_token_times(one["requests"]).tolist() == [10e6, 20e6, 30e6, 40e6]
    assert METRICS["ttft_mean"].measure(one["requests"], one["request_tokens"]) == 25e6
    assert METRICS["ttft_p50"].measure(one["requests"], one["request_tokens"]) == 25e6


def test_a_stalled_loop_shows_in_every_latency_that_it_touched(rig: Callable[..., Any]) -> None:
    """Ten requests come while the loop stands still; a closed loop would have asked one."""
    one = rig([(0, 8, 2), *((10 * n, 8, 1) for n in range(1, 11))], slots=16, prefill=1 * MS)
    one.begin()
    one.tick()
    one.clock.time += 500 * MS
    while not one.engine.exhausted():
        one.tick()
    first = serving.first_token_times(tables_of(one)["requests"])
    assert first[0] == 1e6
    assert (first[1:] > 400e6).all()
    assert METRICS["ttft_p50"].measure(tables_of(one)["requests"], pd.DataFrame()) > 400e6
