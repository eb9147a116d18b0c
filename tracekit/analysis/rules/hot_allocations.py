"""`hot-allocations`: the steady loop allocates memory for the GPU."""

import numpy as np
import pandas as pd

from tracekit.analysis.allocating import Allocating, Swing, find_swing
from tracekit.analysis.allocations import allocations, growing_sizes
from tracekit.analysis.growth import LIMIT, Growth
from tracekit.analysis.intervals import IntervalSet, busy
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.residency import habit
from tracekit.analysis.rule import Fact, Finding, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Targets
from tracekit.analysis.upkeep import wiring
from tracekit.base import units

_NAMED = 3
_FEWEST_REQUESTS = 3
_NO_COST = 0.02  # share of the loop in which the device waits for the host


def hot_allocations(
    loop: Loop,
    resource_allocations: pd.DataFrame,
    driver_events: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    growth: Growth | None,
    allocating: Allocating | None,
    allocated_sizes: pd.DataFrame | None,
    targets: Targets,
    *,
    per_step: float = 1.5,
    per_second: float = 50.0,
) -> Findings:
    """The steady loop allocates memory for the GPU.

    What it looks for:
        Metal resources that the target allocates in most parts of the window. It fires when there
        are `per_step` or more for each iteration (default 1.5), or, if iterations are not known,
        `per_second` or more for each second (50). A pool that fills at the beginning does not
        count. If the largest resources grow all the time, the finding reports it, because a pool of
        reused buffers does not help then; if the device's time for a step rises with them,
        growing-steps reports both. If the device is idle while the host allocates, and allocations
        take most of the host's time, that time is a part of bubbles. If memory falls again each
        time, the finding names the levels between which it swings: a pool is emptied in the loop,
        or, if few iterations begin with it, a model is loaded anew. The finding also gives the time
        in which the driver wired memory for the target.

    Why it matters:
        Making a buffer and wiring its memory takes time of the loop that asks for it. A loop that
        reuses its buffers does neither. The cost appears as idle time of the device, which bubbles
        counts.

    What to do:
        Preallocate, pool, and keep shapes the same; write growing data in place.

    When it abstains:
        When allocations were not recorded or their events have unknown names, and when the target
        is not known or has no device intervals.
    """
    resources = allocations(resource_allocations, loop)
    if allocating is not None and allocating.is_most and allocating.is_rare(iterations):
        for_requests = _for_each_request(resources, allocating, allocated_sizes, targets, loop)
        if for_requests is not None:
            yield for_requests
            return
    count = loop.length / 1e9
    unit_name = "second"
    if iterations is not None and not iterations.empty:
        count = len(iterations)
        unit_name = unit(iterations)
    rate = len(resources) / count
    least_rate = per_step
    if unit_name == "second":
        least_rate = per_second
    if rate < least_rate or resources.empty:
        return
    if growth is not None and growth.larger and growth.is_joint(LIMIT):
        return  # growing-steps reports it, with its cost in time
    times = resources["time"].to_numpy(dtype=np.int64)
    if not habit(times, loop):
        return
    growing = growing_sizes(resources, loop)
    if growing is not None:
        yield _growing(resources, growing, rate, unit_name)
        return
    swing = find_swing(allocated_sizes, targets, loop)
    wired = _measure_wiring(driver_events, loop)
    yield _in_the_loop(resources, allocating, swing, loop, wired, rate, unit_name)


def _measure_wiring(driver_events: pd.DataFrame | None, loop: Loop) -> int:
    """Return the time in which the driver wired memory; 0 without its events."""
    if driver_events is None:
        return 0
    wiring_spans = wiring(driver_events, loop)
    return busy(*wiring_spans)


def _in_the_loop(
    resources: pd.DataFrame,
    allocating: Allocating | None,
    swing: Swing | None,
    loop: Loop,
    wired: int,
    rate: float,
    unit_name: str,
) -> Finding:
    """Return the finding for allocations in most parts of the loop."""
    sizes = resources["size"].dropna()
    largest = resources.sort_values("size", ascending=False, kind="stable")
    is_most = allocating is not None and allocating.is_most
    given_back = swing is not None or is_most
    volume = None
    if len(sizes):
        volume = int(sizes.sum())
    wired_share = wired / loop.length
    lowest = None
    highest = None
    if swing:
        lowest = swing.lowest
        highest = swing.highest
    idle_while = None
    idle_while_share = None
    enclosing_rule = ""
    if allocating and is_most:
        enclosing_rule = "bubbles"
        idle_while = allocating.time
        idle_while_share = allocating.time / loop.length
    resource_count = len(resources)
    kind_text = _kinds(resources)
    facts = (
        Fact("number", resource_count),
        Fact("window", loop.name),
        Fact("volume", volume, "bytes"),
        Fact("rate", rate, ""),
        Fact("each", unit_name),
        Fact("kinds", kind_text),
        Fact("wired", wired, "ns"),
        Fact("wired_share", wired_share, "ratio"),
        Fact("lowest", lowest, "bytes"),
        Fact("highest", highest, "bytes"),
        Fact("idle_while", idle_while, "ns"),
        Fact("idle_while_share", idle_while_share, "ratio"),
    )
    lever = Mechanism.WIRING_ALLOCATIONS
    if given_back:
        lever = Mechanism.ALLOCATIONS_ANEW
    severity = Severity.WARNING
    if not wired and _is_free(allocating, loop):
        severity = Severity.NOTE
    size_texts = map(_describe_size, largest["size"])
    evidence = moments("resource_allocations", largest["time"], size_texts)
    return finding(
        wording="hot-allocations",
        facts=facts,
        lever=lever,
        severity=severity,
        saving=idle_while,
        within=enclosing_rule,
        evidence=evidence,
    )


def _describe_size(size: float) -> str:
    if pd.isna(size):
        return units.size(None)
    return units.size(int(size))


def _is_free(allocating: Allocating | None, loop: Loop) -> bool:
    """Return whether the host has time for its allocations: the device does not wait for it."""
    if loop.paced:
        return True
    return allocating is not None and allocating.host_time <= _NO_COST * loop.length


def _for_each_request(
    resources: pd.DataFrame,
    allocating: Allocating,
    allocated_sizes: pd.DataFrame | None,
    targets: Targets,
    loop: Loop,
) -> Finding | None:
    """Return the finding that buffers are made anew before some stretches of work.

    None if they are few, or if the level of memory shows that they are kept.
    """
    swing = find_swing(allocated_sizes, targets, loop, _FEWEST_REQUESTS)
    is_kept = swing is None and allocated_sizes is not None
    if allocating.starts.size < _FEWEST_REQUESTS or is_kept:
        return None
    lowest = None
    highest = None
    if swing is not None:
        lowest = swing.lowest
        highest = swing.highest
    times = resources["time"].to_numpy(dtype=np.int64)
    raw_sizes = resources["size"].fillna(0)
    sizes = raw_sizes.to_numpy(dtype=np.int64)
    after_ends = allocating.ends + 1
    gap_intervals = IntervalSet.from_spans(allocating.starts, after_ends)
    in_gaps = gap_intervals.contains(times)
    number = allocating.starts.size
    allocation_count = int(in_gaps.sum())
    count_each = round(allocation_count / number)
    gap_volume = int(sizes[in_gaps].sum())
    volume = round(gap_volume / number)
    allocation_time = allocating.time / number
    idle_while_share = allocating.time / loop.length
    facts = (
        Fact("window", loop.name),
        Fact("stretches", number),
        Fact("each", count_each),
        Fact("volume", volume, "bytes"),
        Fact("took", allocation_time, "ns"),
        Fact("idle_while", allocating.time, "ns"),
        Fact("idle_while_share", idle_while_share, "ratio"),
        Fact("lowest", lowest, "bytes"),
        Fact("highest", highest, "bytes"),
    )
    evidence = longest("resource_allocations", allocating.starts, allocating.ends)
    return finding(
        wording="hot-allocations-by-request",
        facts=facts,
        lever=Mechanism.MADE_FOR_EACH_REQUEST,
        saving=allocating.time,
        within="bubbles",
        evidence=evidence,
    )


def _growing(
    resources: pd.DataFrame, sizes: tuple[int, int], rate: float, unit_name: str
) -> Finding:
    resource_count = len(resources)
    first_size = sizes[0]
    last_size = sizes[1]
    facts = (
        Fact("number", resource_count, "count"),
        Fact("rate", rate, ""),
        Fact("each", unit_name),
        Fact("first", first_size, "bytes"),
        Fact("last", last_size, "bytes"),
    )
    largest = resources.sort_values("size", ascending=False, kind="stable")
    size_texts = map(units.size, largest["size"])
    evidence = moments("resource_allocations", largest["time"], size_texts)
    return finding(
        wording="growing-allocations",
        facts=facts,
        cause="growing-allocations",
        lever=Mechanism.GROWING_WORK,
        evidence=evidence,
    )


def _kinds(resources: pd.DataFrame) -> str:
    """Return the most common resources by label, or by type without a label."""
    raw_labels = resources["label"].fillna("")
    labels = raw_labels.astype(str).str.strip()
    raw_types = resources["type"].fillna("resource")
    types = raw_types.astype(str)
    unlabelled_names = "unlabelled " + types
    names = labels.where(labels != "", unlabelled_names)
    label_counts = names.value_counts(sort=True)
    common = label_counts[:_NAMED]
    kind_texts = [f"{name} ({count:,})" for name, count in common.items()]
    return ", ".join(kind_texts)
