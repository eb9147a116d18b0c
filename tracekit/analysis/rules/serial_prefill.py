"""`serial-prefill`: requests that decode wait while a prompt is prefilled alone."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
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
    prefill, decode = (spans[spans["name"] == name] for name in ("prefill", "decode"))
    if window is None or prefill.empty or decode.empty:
        raise Unavailable("the workload has no spans named prefill and decode.")
    starts, ends = _decoding(requests, window)
    answering = busy(starts, ends)
    if answering == 0:
        raise Unavailable(f"no request got more than one token in {window.name}.")
    median_decode = float(decode["duration"].median())
    window_bounds = window.start, window.end
    # A prompt stops tokens while a prefill runs, no decode does, and requests are decoding.
    excluded_stretches = (
        bounds(decode),
        gaps(*bounds(prefill), *window_bounds),
        gaps(starts, ends, *window_bounds),
    )
    starts = np.concatenate([stretch_starts for stretch_starts, _ in excluded_stretches])
    ends = np.concatenate([stretch_ends for _, stretch_ends in excluded_stretches])
    starts, ends = gaps(starts, ends, *window_bounds)
    long = ends - starts > stall * median_decode
    starts, ends = starts[long], ends[long]
    stalled = int((ends - starts).sum())
    if stalled <= limit * answering:
        return
    yield finding(
        wording="serial-prefill",
        facts=(
            Fact("share", stalled / answering, "ratio"),
            Fact("stalled", stalled, "ns"),
            Fact("decoding", answering, "ns"),
            Fact("stalls", starts.size),
            Fact("longest", int((ends - starts).max()), "ns"),
            Fact("decode", median_decode, "ns"),
        ),
        lever="serial-prefill",
        evidence=longest("spans", starts, ends),
    )


def _decoding(requests: pd.DataFrame, window: Window) -> tuple[Times, Times]:
    """Return the times in which at least one request was between its first and its last token."""
    answered_requests = requests.dropna(subset=["first_token", "last_token"])
    scheduled = answered_requests["start"].to_numpy(np.int64)
    first_tokens = scheduled + answered_requests["first_token"].to_numpy(np.int64)
    last_tokens = scheduled + answered_requests["last_token"].to_numpy(np.int64)
    return union(*clip(first_tokens, last_tokens, window.start, window.end))
