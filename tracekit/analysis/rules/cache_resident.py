"""`cache-resident`: the numbers are those of caches, not of memory."""

from tracekit.analysis.metrics.roofline import Roof
from tracekit.analysis.rule import Fact, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device


def cache_resident(
    gpu: Device,
    steady_roof: Roof,
    *,
    margin: float = 0.05,
    smallest_cache: int = 8_000_000,
    fast: float = 0.50,
) -> Findings:
    """The data of a step came from caches, so its speed does not apply to a real working set.

    What it looks for:
        The bytes that the steady steps must move according to the workload, over the time in which
        the GPU ran for them. It fires, as an error, when this exceeds the rate of the chip's memory
        by more than `margin` (5 %); and as a note when a step's bytes fit into `smallest_cache` (8
        MB, the smallest last-level cache of these chips) and arrive at more than `fast` of the
        memory's bandwidth (50 %), so that they may come from either.

    Why it matters:
        Every step of a benchmark reads the same data. If they stay in a cache, tokens per second,
        bandwidth and comparisons are those of the cache; a model with all its layers would read
        from memory.

    When it abstains:
        When the chip's bandwidth is not known, when the workload does not report the bytes of a
        step, when steps have no work in the trace, and when a CPU did the work.
    """
    roof = steady_roof
    rate = roof.reached.bandwidth
    window_spans = gpu.clip_to_window(roof.window)
    evidence = longest("gpu_intervals", *window_spans)
    if rate > (1 + margin) * roof.bandwidth:
        share_facts = (
            Fact("rate", rate, "bytes/s"),
            Fact("bandwidth", roof.bandwidth, "bytes/s"),
            Fact("chip", roof.chip.name),
        )
        yield finding(
            severity=Severity.ERROR,
            wording="cache-resident",
            facts=share_facts,
            lever="cache-resident",
            evidence=evidence,
        )
    elif roof.per_step <= smallest_cache and rate > fast * roof.bandwidth:
        share = rate / roof.bandwidth
        facts = (
            Fact("bytes_per_step", roof.per_step, "bytes"),
            Fact("share", share, "ratio"),
        )
        yield finding(
            severity=Severity.NOTE,
            wording="cache-resident-small",
            facts=facts,
            lever="cache-resident",
            evidence=evidence,
        )
