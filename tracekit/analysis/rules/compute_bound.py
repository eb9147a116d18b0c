"""`compute-bound`: arithmetic is near its limit while memory has time to spare."""

import pandas as pd

from tracekit.analysis.counters import Pressure, extremes
from tracekit.analysis.metrics.roofline import Roof
from tracekit.analysis.rule import Fact, Findings, Severity, finding


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
        by `margin` (10 points). It is a note if arithmetic must be the limit according to the
        workload's own account of operations and bytes.

    Why it matters:
        Attention that decodes reads much and computes little. If arithmetic is its limit, threads
        do work that the model does not need: scalars, serial reductions, index sums.

    When it abstains:
        When counters of memory or of arithmetic are missing or count other processes too, and when
        a CPU did the work.
    """
    arithmetic, memory = loads.require_loads()
    if arithmetic.share < high or memory.share >= low or loads.has_other_bottleneck(margin):
        return
    roof = steady_roof
    natural = roof is not None and roof.by_memory is False
    severity = Severity.WARNING
    if natural:
        severity = Severity.NOTE
    intensity = None
    if roof is not None:
        intensity = roof.intensity
    expected_limit = _expect_limit(roof)
    facts = (
        *arithmetic.facts("arithmetic"),
        *memory.facts("memory"),
        Fact("intensity", intensity, "FLOP/byte"),
        Fact("expected", expected_limit),
    )
    evidence = extremes(counter_samples, arithmetic.counter)
    yield finding(
        severity=severity,
        wording="compute-bound",
        facts=facts,
        lever="compute-by-nature" if natural else "compute-bound",
        evidence=evidence,
    )


def _expect_limit(roof: Roof | None) -> str | None:
    """Return the limit to expect from the workload's own account."""
    if roof is None or roof.intensity is None:
        return None
    if roof.by_memory:
        return "memory"
    return "arithmetic"
