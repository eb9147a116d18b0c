"""`compute-bound`: arithmetic is near its limit while memory has time to spare."""

import pandas as pd

from tracekit.analysis.counters import Pressure, extremes
from tracekit.analysis.metrics.roofline import Roof
from tracekit.analysis.rule import Findings, Severity, finding

_ADVICE = (
    "Candidates, each to be validated by moving the number: arithmetic on vectors (half4, float4) "
    "instead of scalars, reductions across a simdgroup instead of one thread after another, "
    "indices and scales computed once outside the inner loop, several independent sums in each "
    "thread (more instruction-level parallelism), a larger threadgroup, half instead of float "
    "where accuracy allows."
)
_BY_NATURE = (
    "Such steps take many operations for each byte, so this is where good kernels end up. Less "
    "work is what is left: skip masked tiles, use simdgroup matrices where shapes allow."
)


def compute_bound(
    counter_samples: pd.DataFrame,
    loads: Pressure,
    steady_roof: Roof | None,
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    *,
    high: float = 0.70,
    low: float = 0.50,
    margin: float = 0.10,
) -> Findings:
    """Arithmetic bounds the work, and memory waits for it.

    What it looks for:
        Counters while the target's work ran in the steady window. It fires when a limiter or a
        utilization of arithmetic is at least `high` (70 %), bandwidth and the limiters of the
        last-level and L1 caches stay below `low` (50 %), and no other unit's limiter exceeds both
        by `margin` (10 points). It is a note where the workload's own account of operations and
        bytes says that arithmetic must be the limit.

    Why it matters:
        Attention that decodes reads much and computes little. Where arithmetic is its limit,
        threads do work that the model does not need: scalars, serial reductions, index sums.

    When it abstains:
        When counters of memory or of arithmetic are missing or count other processes too, and
        where a CPU did the work.
    """
    arithmetic, memory = loads.both()
    if arithmetic.share < high or memory.share >= low or loads.dominated(margin):
        return
    found = steady_roof
    natural = found is not None and found.by_memory is False
    yield finding(
        severity=Severity.NOTE if natural else Severity.WARNING,
        message=f"{arithmetic.words} while {memory.words}: arithmetic bounds the work."
        + _expected(found),
        advice=_BY_NATURE if natural else _ADVICE,
        evidence=extremes(counter_samples, arithmetic.counter),
    )


def _expected(roof: Roof | None) -> str:
    """Say what the workload's own account lets expect."""
    if roof is None or roof.intensity is None:
        return ""
    side = "memory" if roof.by_memory else "arithmetic"
    return (
        f" By the workload's account a step takes {roof.intensity:.3g} operations for each byte, "
        f"which would make {side} the limit."
    )
