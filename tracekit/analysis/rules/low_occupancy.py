"""`low-occupancy`: too few threads in flight to hide latency."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.evidence import longest_rows
from tracekit.analysis.finding import Finding, Severity
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, spans, steady_window
from tracekit.analysis.rule import rule
from tracekit.analysis.target import of_target, on_gpu
from tracekit.units import percent

# Names differ between chips: M3 and later say Kernel, M1 and M2 say Compute.
COUNTERS = ("Kernel Occupancy", "Compute Occupancy")

_HOW_TO_GET = (
    "A stock Metal System Trace records none. `tracekit record --counters on` asks for them; "
    "where this chip and Xcode reject that, choose Recording Options > GPU > Counter Set in "
    "Instruments, save it as a template and pass its path with --template, or let "
    "`tracekit templates make` make one."
)
_ADVICE = (
    "Candidates, each to be validated by moving the number: a larger threadgroup (128 to 256 "
    "threads), less threadgroup memory (a smaller block size or tile), fewer registers (fewer "
    "values kept per thread), a larger grid (split the sequence). Higher occupancy is no aim of "
    "its own: keep a change only if tokens per second follow."
)


@rule
def low_occupancy(
    gpu_counters: pd.DataFrame | None,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    *,
    limit: float = 0.30,
    contention: float = 0.05,
) -> Iterator[Finding]:
    """Too few threads were in flight.

    What it looks for:
        The mean of the compute occupancy counter over its samples in the steady window. It
        fires below `limit` (default 30 %).

    Why it matters:
        A GPU hides the latency of memory with other threads. With few of them in flight, each
        load and each barrier stops the core.

    What to do:
        Larger threadgroups, less threadgroup memory, fewer registers, a larger grid; keep what
        moves tokens per second.

    When it abstains:
        When the recording has no occupancy counter, and when other processes used the GPU for
        more than `contention` (5 %) of the window: counters are device-wide.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    window = steady_window(phases, own)
    assert window is not None
    samples = _samples(gpu_counters, window)
    others = gpu_intervals[~gpu_intervals["target"]]
    taken = busy(*clip(*spans(others), window.start, window.end))
    if taken > contention * window.length:
        raise Unavailable(
            f"counters are device-wide, and other processes used the GPU for "
            f"{percent(taken / window.length)} of the window that is judged."
        )
    mean = _mean(samples)
    if mean < limit:
        name = samples["counter"].iloc[0]
        yield Finding(
            rule="low-occupancy",
            severity=Severity.WARNING,
            message=f"{name} was {percent(mean)} on average over {len(samples):,} samples.",
            advice=_ADVICE,
            evidence=longest_rows("gpu_counters", samples),
        )


def _samples(counters: pd.DataFrame | None, window: Window) -> pd.DataFrame:
    if counters is None or counters.empty:
        raise Unavailable(f"the recording has no counter samples. {_HOW_TO_GET}")
    inside = counters[(counters["start"] >= window.start) & (counters["start"] < window.end)]
    inside = inside[np.isfinite(inside["value"].astype("float64"))]
    for name in COUNTERS:
        samples = inside[inside["counter"] == name]
        if not samples.empty:
            return samples
    there = ", ".join(sorted(set(counters["counter"].dropna().astype(str)))[:5])
    raise Unavailable(f"no occupancy counter was recorded, only: {there}. {_HOW_TO_GET}")


def _mean(samples: pd.DataFrame) -> float:
    values = samples["value"].astype("float64").to_numpy()
    weights = samples["duration"].fillna(0).astype("float64").to_numpy()
    return float(np.average(values, weights=weights if weights.sum() > 0 else None)) / 100
