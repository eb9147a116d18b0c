"""`serial-prefill`: requests that decode wait while a prompt is prefilled alone."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import Times, Window, busy, clip, gaps, steady_window, union
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.rule import Fact, Findings, finding, longest


def serial_prefill(
    spans: pd.DataFrame,
    requests: pd.DataFrame,
    phases: pd.DataFrame | None,
    *,
    limit: float = 0.05,
    stall: float = 2.0,
) -> Findings:
    """Requests that decode wait while a prompt is prefilled alone.

    What it looks for:
        Stretches in which the server's spans `prefill` run without spans `decode` while at least
        one request is between its first and its last token. Those longer than `stall` median
        decodes (2) are counted. It fires when they take more than `limit` of the time in which
        requests were decoding (default 5 %).

    Why it matters:
        Everyone who is being answered waits for someone else's prompt: this is the tail of the time
        between tokens. It delays tokens; whether it costs throughput depends on how well both would
        run together.

    When it abstains:
        When the workload serves no requests, or has no spans `prefill` and `decode`.
    """
    window = steady_window(phases, spans)
    prefill = spans[spans["name"] == "prefill"]
    decode = spans[spans["name"] == "decode"]
    if window is None or prefill.empty or decode.empty:
        raise NotApplicable("the workload has no spans named prefill and decode.")
    starts, ends = _decoding(requests, window)
    answering = busy(starts, ends)
    if answering == 0:
        raise Unavailable(f"no request got more than one token in {window.name}.")
    median_decode = float(decode["duration"].median())
    window_bounds = window.start, window.end
    # A prompt stops tokens while a prefill runs, no decode does, and requests are decoding.
    decode_bounds = bounds(decode)
    prefill_bounds = bounds(prefill)
    prefill_gaps = gaps(*prefill_bounds, *window_bounds)
    request_gaps = gaps(starts, ends, *window_bounds)
    excluded_stretches = (
        decode_bounds,
        prefill_gaps,
        request_gaps,
    )
    all_starts = [stretch_starts for stretch_starts, _ in excluded_stretches]
    starts = np.concatenate(all_starts)
    all_ends = [stretch_ends for _, stretch_ends in excluded_stretches]
    ends = np.concatenate(all_ends)
    starts, ends = gaps(starts, ends, *window_bounds)
    durations = ends - starts
    long = durations > stall * median_decode
    starts = starts[long]
    ends = ends[long]
    stall_durations = ends - starts
    stalled = int(stall_durations.sum())
    if stalled <= limit * answering:
        return
    longest_time = int((ends - starts).max())
    share = stalled / answering
    facts = (
        Fact("share", share, "ratio"),
        Fact("stalled", stalled, "ns"),
        Fact("decoding", answering, "ns"),
        Fact("stalls", starts.size),
        Fact("longest", longest_time, "ns"),
        Fact("decode", median_decode, "ns"),
    )
    evidence = longest("spans", starts, ends)
    yield finding(
        wording="serial-prefill",
        facts=facts,
        lever="serial-prefill",
        evidence=evidence,
    )


def _decoding(requests: pd.DataFrame, window: Window) -> tuple[Times, Times]:
    """Return the times in which at least one request was between its first and its last token."""
    answered_requests = requests.dropna(subset=["first_token", "last_token"])
    scheduled = answered_requests["start"].to_numpy(np.int64)
    first_delays = answered_requests["first_token"].to_numpy(np.int64)
    first_tokens = scheduled + first_delays
    last_delays = answered_requests["last_token"].to_numpy(np.int64)
    last_tokens = scheduled + last_delays
    token_spans = clip(first_tokens, last_tokens, window.start, window.end)
    return union(*token_spans)
