"""`gpu-contended`: other processes used the GPU meanwhile."""

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sources import name_missing_sources
from tracekit.analysis.idle.sums import gaps_of, loaded_time
from tracekit.analysis.intervals import Window, busy, clip, overlap, spans, union
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.scope import Device, owners
from tracekit.base import units


def gpu_contended(
    gpu: Device,
    loop: Loop,
    loaded: pd.DataFrame,
    gaps: pd.DataFrame,
    idle_by_cause: dict[Cause, int],
    causes: pd.DataFrame,
    *,
    limit: float = 0.05,
) -> Findings:
    """Other processes used the GPU while the target had work for it.

    What it looks for:
        Delay: queued work of the target waited while another process ran on its channel. Sharing:
        another process ran, on any channel, while work of the target did. It fires when both
        together are more than `limit` of the window (default 5 %). The possible saving is the
        delay. Work of other processes during the target's own idle time does not count.

    Why it matters:
        The table holds every process, including the window server. Their work delays the target's
        work or takes a part of the same cores and memory, and counters cannot distinguish
        processes.

    When it abstains:
        When the target is not known or has no rows, and when a CPU did the work.
    """
    other_spans = spans(gpu.other_intervals)
    starts, ends = clip(*other_spans, loop.start, loop.end)
    gpu_spans = gpu.clip_to_window(loop)
    shared = overlap(*gpu_spans, starts, ends)
    delay = idle_by_cause[Cause.OTHER_PROCESS]
    load = loaded_time(loaded)
    foreign_time = delay + shared
    if foreign_time <= limit * load:
        return
    waited = gaps_of(gaps, Cause.OTHER_PROCESS)
    missing = name_missing_sources(causes, Cause.OTHER_PROCESS)
    share = (delay + shared) / load
    owners = _list_owners(gpu.other_intervals, loop)
    facts = (
        Fact("share", share, "ratio"),
        Fact("window", loop.name),
        Fact("delay", delay, "ns"),
        Fact("shared", shared, "ns"),
        Fact("owners", owners),
        Fact("lacking", missing),
    )
    foreign_spans = (waited.starts, waited.ends)
    if not delay:
        foreign_spans = union(starts, ends)
    evidence = longest("gpu_intervals", *foreign_spans)
    saving = None
    if not missing:
        saving = delay
    yield finding(
        wording="gpu-contended",
        facts=facts,
        lever="other-process",
        evidence=evidence,
        saving=saving,
    )


def _list_owners(other_intervals: pd.DataFrame, window: Window) -> str:
    shares: dict[str, int] = {}
    interval_owners = owners(other_intervals)
    for who, rows in other_intervals.groupby(interval_owners):
        row_spans = spans(rows)
        owner_spans = clip(*row_spans, window.start, window.end)
        covered = busy(*owner_spans)
        if covered:
            shares[str(who)] = covered
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{who} {units.duration(covered)}" for who, covered in ranked[:4]]
    more_owners = len(ranked) - len(words)
    return ", ".join(words) + (f" and {more_owners} more" if more_owners else "")
