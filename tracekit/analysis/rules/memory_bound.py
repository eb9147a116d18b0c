"""`memory-bound`: memory is near its limit while arithmetic has time to spare."""

import pandas as pd

from tracekit.analysis.counters import Pressure, extremes
from tracekit.analysis.metrics.roofline import Roof
from tracekit.analysis.rule import Fact, Findings, Severity, finding


def memory_bound(
    counter_samples: pd.DataFrame,
    loads: Pressure,
    steady_roof: Roof | None,
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    *,
    high: float = 0.70,
    low: float = 0.50,
    margin: float = 0.10,
    roof: float = 0.65,
) -> Findings:
    """Memory bounds the work, and arithmetic waits for it.

    What it looks for:
        Counters while the target's work ran in the steady window. It fires when the highest of
        bandwidth and the limiters of the last-level and L1 caches is at least `high` (70 %), every
        counter of arithmetic stays below `low` (50 %), and no other unit's limiter exceeds both by
        `margin` (10 points). It is a note if the bytes that the workload must move reach `roof` (65
        %) of the chip's bandwidth while the GPU runs: then it is good news.

    Why it matters:
        Threads wait for data, so faster arithmetic saves nothing. Decoding is bound by memory by
        its nature; you can only save bytes that are read twice or in small pieces.

    When it abstains:
        When counters of memory or of arithmetic are missing or count other processes too, and when
        a CPU did the work.
    """
    arithmetic, memory = loads.require_loads()
    if memory.share < high or arithmetic.share >= low or loads.has_other_bottleneck(margin):
        return
    measured_roof = steady_roof
    good = measured_roof is not None and (measured_roof.reached.share or 0.0) >= roof
    severity = Severity.WARNING
    if good:
        severity = Severity.NOTE
    reached_share = None
    bandwidth = None
    if measured_roof is not None:
        reached_share = measured_roof.reached.share
        bandwidth = measured_roof.bandwidth
    facts = (
        *memory.facts("memory"),
        *arithmetic.facts("arithmetic"),
        Fact("reached", reached_share, "ratio"),
        Fact("bandwidth", bandwidth, "bytes/s"),
    )
    counter_name = memory.counter.split(" + ")[0]
    evidence = extremes(counter_samples, counter_name)
    yield finding(
        severity=severity,
        wording="memory-bound",
        facts=facts,
        lever="memory-at-roof" if good else "memory-bound",
        evidence=evidence,
    )
