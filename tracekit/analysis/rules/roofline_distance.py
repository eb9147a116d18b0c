"""`roofline-distance`: the GPU runs, and takes longer than its bytes need."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import Window, busy
from tracekit.analysis.machine import Machine
from tracekit.analysis.metrics.roofline import ATTAINABLE, roof_of
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.scope import Device, of_a_server
from tracekit.analysis.work_names import Chore, named_work


def roofline_distance(
    gpu: Device,
    steps: pd.DataFrame | None,
    step_models: pd.DataFrame | None,
    machine: Machine,
    shader_runs: pd.DataFrame | None,
    requests: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    *,
    limit: float = 0.50,
) -> Findings:
    """Kernels reach only a small part of the chip's memory bandwidth.

    What it looks for:
        The bytes that the steady steps must move according to the workload, each counted once, over
        the time in which the GPU ran for them, for steps that memory bounds by their operations for
        each byte. It fires when this is less than `limit` of the chip's bandwidth (default 50 %);
        about 80 % is the most that has been seen. The saving is the time above those 80 %, less the
        time of work that other rules judge by its name: gathers, scatters, metadata.

    Why it matters:
        It is the one number that shows how much a better kernel could save: it does not include
        waiting for the host.

    When it abstains:
        When the chip's bandwidth is not known, when the workload does not report the bytes and
        operations of a step, when data came from caches, when steps have no work in the trace, when
        a CPU did the work, and for a server, some of whose steps prefill prompts.
    """
    if steps is not None and of_a_server(steps, requests, spans):
        raise NotApplicable(
            "the steps are a server's: some prefill prompts, and only the bytes of steps that "
            "decode are known."
        )
    roof = roof_of(steps, step_models, gpu, machine)
    share = roof.reached.share
    if share is None:
        raise NotApplicable("the data are cache-resident: memory is not as fast as the steps were.")
    if roof.by_memory is None:
        raise Unavailable("the workload does not say how many operations a step takes.")
    if not roof.by_memory or share >= limit:
        return
    facts = (
        Fact("reached", share, "ratio"),
        Fact("bandwidth", roof.bandwidth, "bytes/s"),
        Fact("chip", roof.chip.name),
        Fact("ran", roof.busy_time, "ns"),
        Fact("least", roof.least_time, "ns"),
        Fact("attainable", ATTAINABLE, "ratio"),
    )
    window_spans = gpu.clip_to_window(roof.window)
    evidence = longest("gpu_intervals", *window_spans)
    chore_time = _chores(gpu, shader_runs, roof.window)
    lost_time = roof.busy_time - roof.least_time - chore_time
    saving = max(lost_time, 0)
    yield finding(
        wording="roofline-distance",
        facts=facts,
        lever="roofline-distance",
        evidence=evidence,
        saving=saving,
    )


def _chores(gpu: Device, shader_runs: pd.DataFrame | None, window: Window) -> int:
    """Return the time of work that only moves data, if names identify it."""
    try:
        work = named_work(gpu, window, shader_runs)
    except Unavailable:
        return 0
    chore_flags = [work.are(chore) for chore in Chore]
    chosen = np.logical_or.reduce(chore_flags)
    chore_starts = work.starts[chosen]
    chore_ends = work.ends[chosen]
    return busy(chore_starts, chore_ends)
