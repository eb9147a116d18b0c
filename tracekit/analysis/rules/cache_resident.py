"""`cache-resident`: the numbers are those of caches, not of memory."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.intervals import clip, spans
from tracekit.analysis.metrics.roofline import Roof, roof
from tracekit.analysis.rule import Finding, Severity, finding, longest
from tracekit.analysis.scope import of_target
from tracekit.base import percent, size

_ADVICE = (
    "Make the working set as large as in use: pages of its own for every sequence, all layers and "
    "their weights, longer contexts; `tracekit capture --workload paged` has disjoint pages. If "
    "the data are as large as in use, the workload's account of bytes counts too many."
)


def cache_resident(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    machine: pd.DataFrame,
    *,
    margin: float = 0.05,
    smallest_cache: int = 8_000_000,
    fast: float = 0.50,
) -> Iterator[Finding]:
    """The data of a step came from caches, so its speed says nothing of a real working set.

    What it looks for:
        The bytes that the workload says its steady steps must move, over the time in which the
        GPU ran for them. It fires, as an error, when this exceeds what the chip's memory
        delivers by more than `margin` (5 %); and as a note when a step's bytes fit into
        `smallest_cache` (8 MB, the least last-level cache of these chips) and arrive at more
        than `fast` of the memory's bandwidth (50 %), so that they may come from either.

    Why it matters:
        Every step of a benchmark reads the same data. Where they stay in a cache, tokens per
        second, bandwidth and comparisons are those of the cache; a model with all its layers
        would read from memory.

    What to do:
        Give the benchmark the data of real use, or correct its account of bytes.

    When it abstains:
        When the chip's bandwidth is not known, the workload does not say what a step moves, steps
        have no work in the trace, or a CPU did the work.
    """
    found = roof(steps, step_models, gpu_intervals, targets, machine)
    rate = found.reached.bandwidth
    if rate > (1 + margin) * found.bandwidth:
        yield _finding(Severity.ERROR, _too_fast(found), gpu_intervals, targets, found)
    elif found.per_step <= smallest_cache and rate > fast * found.bandwidth:
        message = (
            f"A step's {size(found.per_step)} fit into the last-level cache of any of these chips; "
            f"at {percent(rate / found.bandwidth)} of the memory's bandwidth they may have come "
            f"from either."
        )
        yield _finding(Severity.NOTE, message, gpu_intervals, targets, found)


def _too_fast(found: Roof) -> str:
    return (
        f"While the GPU ran, the steady steps moved {found.reached.bandwidth / 1e9:,.0f} GB/s by "
        f"the workload's account, more than the {found.bandwidth / 1e9:g} GB/s that the memory of "
        f"{found.chip.name} delivers: caches did, or the account is wrong."
    )


def _finding(
    severity: Severity,
    message: str,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    found: Roof,
) -> Finding:
    starts, ends = spans(of_target(gpu_intervals, targets))
    inside = clip(starts, ends, found.window.start, found.window.end)
    return finding(message, _ADVICE, longest("gpu_intervals", *inside), severity=severity)
