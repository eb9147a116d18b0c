"""`bubbles`: the device waits for work of the target."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.evidence import longest
from tracekit.analysis.finding import Finding, Severity
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, busy, clip, gaps, overlap, steady_window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.rule import rule
from tracekit.analysis.target import of_target
from tracekit.told import COMPILE, IDLE
from tracekit.units import duration, percent

_MOST = 0.5  # of the idle time, for a span to be named as what the host did
_ADVICE = (
    "Submit ahead, so that the next step is queued before this one is done: evaluate "
    "asynchronously, read results back less often, build arguments and tables outside the loop, "
    "and batch small steps. Look at what the host does in the longest gaps."
)


@rule
def bubbles(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    *,
    limit: float = 0.05,
    shortest: int = 10_000,
) -> Iterator[Finding]:
    """The device had nothing of the target to do.

    What it looks for:
        Gaps between the target's device intervals in the whole steady window, its lead-in and
        tail included. Gaps shorter than `shortest` (10 µs) are not counted, nor is the time in
        which a server says by spans `idle` that it had no request to serve. It fires when the
        rest covers more than `limit` of the window without that time (default 5 %). Where spans
        that the workload told of cover most of it, they are named; what lies within spans
        `compile` is left to pipeline-churn to save.

    Why it matters:
        In a steady decode loop the device should never wait for the host. Idle time is the
        distance between the tokens per second that you get and those the kernel allows.

    What to do:
        Submit ahead, read back less often, move set-up out of the loop, batch small steps.

    When it abstains:
        When the target is not known or has no device intervals, or when there was no load in the
        whole window.
    """
    own = of_target(gpu_intervals, targets)
    window = steady_window(phases, own)
    assert window is not None
    if window.length == 0:
        raise Unavailable(f"{window.name} has no length.")
    waits = _without_load(spans, window)
    loaded = window.length - busy(*waits)
    if loaded == 0:
        raise Unavailable(f"there was no load in {window.name}.")
    starts, ends = (np.concatenate(pair) for pair in zip(bounds(own), waits, strict=True))
    starts, ends = gaps(starts, ends, window.start, window.end)
    long = ends - starts >= shortest
    starts, ends = starts[long], ends[long]
    idle = int((ends - starts).sum())
    if idle <= limit * loaded:
        return
    during = _during(spans, starts, ends)
    device = "CPU backend" if (own["clock"] == "host").any() else "GPU"
    yield Finding(
        rule="bubbles",
        severity=Severity.WARNING,
        message=(
            f"The {device} had nothing of the target to do for {percent(idle / loaded)} of "
            f"{window.name}{_less(window.length - loaded)} "
            f"({duration(idle)} of {duration(loaded)}), in "
            f"{starts.size:,} gap{'s' if starts.size > 1 else ''}; "
            f"the longest lasted {duration(int((ends - starts).max()))}.{_named(during, idle)}"
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", starts, ends),
        saving=idle - during.get(COMPILE, 0),
    )


def _during(spans: pd.DataFrame | None, starts: Times, ends: Times) -> dict[str, int]:
    """Return how much of the gaps the spans of each name cover."""
    if spans is None:
        return {}
    return {
        str(name): overlap(starts, ends, *bounds(own))
        for name, own in spans.groupby("name", sort=True)
    }


def _named(during: dict[str, int], idle: int) -> str:
    """Say what the workload did in most of the idle time, if it told."""
    name = max(during, key=during.__getitem__, default="")
    if not name or during[name] < _MOST * idle:
        return ""
    return f" {percent(during[name] / idle)} of that time lies within spans named “{name}”."


def _without_load(spans: pd.DataFrame | None, window: Window) -> tuple[Times, Times]:
    """Return when the workload says that it had nothing to do, within the window."""
    if spans is None:
        nothing = np.empty(0, np.int64)
        return nothing, nothing
    return clip(*bounds(spans[spans["name"] == IDLE]), window.start, window.end)


def _less(idle: int) -> str:
    return f" less {duration(idle)} without load" if idle else ""
