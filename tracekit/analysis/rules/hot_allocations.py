"""`hot-allocations`: the steady loop allocates memory for the GPU."""

import numpy as np
import pandas as pd

from tracekit.analysis.allocating import Allocating, find_swing
from tracekit.analysis.growth import LIMIT, Growth
from tracekit.analysis.intervals import IntervalSet, busy
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.residency import habit
from tracekit.analysis.rule import Fact, Finding, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Targets
from tracekit.analysis.upkeep import allocations, growing_sizes, wiring
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
        yield from _for_each_request(resources, allocating, allocated_sizes, targets, loop)
        return
    count, unit_name = loop.length / 1e9, "second"
    if iterations is not None and not iterations.empty:
        count, unit_name = len(iterations), unit(iterations)
    rate = len(resources) / count
    if rate < (per_second if unit_name == "second" else per_step) or resources.empty:
        return
    if growth is not None and growth.larger and growth.is_joint(LIMIT):
        return  # growing-steps reports it, with its cost in time
    if not habit(resources["time"].to_numpy(dtype=np.int64), loop):
        return
    growing = growing_sizes(resources, loop)
    if growing is not None:
        yield _growing(resources, growing, rate, unit_name)
        return
    sizes = resources["size"].dropna()
    largest = resources.sort_values("size", ascending=False, kind="stable")
    is_most = allocating is not None and allocating.is_most
    swing = find_swing(allocated_sizes, targets, loop)
    given_back = swing is not None or is_most
    wired = 0 if driver_events is None else busy(*wiring(driver_events, loop))
    yield finding(
        wording="hot-allocations",
        facts=(
            Fact("number", len(resources)),
            Fact("window", loop.name),
            Fact("volume", int(sizes.sum()) if len(sizes) else None, "bytes"),
            Fact("rate", rate, ""),
            Fact("each", unit_name),
            Fact("kinds", _kinds(resources)),
            Fact("wired", wired, "ns"),
            Fact("wired_share", wired / loop.length, "ratio"),
            Fact("lowest", swing.lowest if swing else None, "bytes"),
            Fact("highest", swing.highest if swing else None, "bytes"),
            Fact("idle_while", allocating.time if allocating and is_most else None, "ns"),
            Fact(
                "idle_while_share",
                allocating.time / loop.length if allocating and is_most else None,
                "ratio",
            ),
        ),
        lever=Mechanism.ALLOCATIONS_ANEW if given_back else Mechanism.WIRING_ALLOCATIONS,
        severity=Severity.NOTE if not wired and _is_free(allocating, loop) else Severity.WARNING,
        saving=allocating.time if allocating and is_most else None,
        within="bubbles" if is_most else "",
        evidence=moments(
            "resource_allocations",
            largest["time"],
            (units.size(None if pd.isna(n) else int(n)) for n in largest["size"]),
        ),
    )


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
) -> Findings:
    """Yield the buffers that are made anew before some stretches of work, if they are freed."""
    swing = find_swing(allocated_sizes, targets, loop, _FEWEST_REQUESTS)
    if allocating.starts.size < _FEWEST_REQUESTS or swing is None:
        return
    times = resources["time"].to_numpy(dtype=np.int64)
    sizes = resources["size"].fillna(0).to_numpy(dtype=np.int64)
    in_gaps = IntervalSet.from_spans(allocating.starts, allocating.ends + 1).contains(times)
    number = allocating.starts.size
    yield finding(
        wording="hot-allocations-by-request",
        facts=(
            Fact("window", loop.name),
            Fact("stretches", number),
            Fact("each", round(int(in_gaps.sum()) / number)),
            Fact("volume", round(int(sizes[in_gaps].sum()) / number), "bytes"),
            Fact("took", allocating.time / number, "ns"),
            Fact("idle_while", allocating.time, "ns"),
            Fact("idle_while_share", allocating.time / loop.length, "ratio"),
            Fact("lowest", swing.lowest, "bytes"),
            Fact("highest", swing.highest, "bytes"),
        ),
        lever=Mechanism.MADE_FOR_EACH_REQUEST,
        saving=allocating.time,
        within="bubbles",
        evidence=longest("resource_allocations", allocating.starts, allocating.ends),
    )


def _growing(
    resources: pd.DataFrame, sizes: tuple[int, int], rate: float, unit_name: str
) -> Finding:
    facts = (
        Fact("number", len(resources), "count"),
        Fact("rate", rate, ""),
        Fact("each", unit_name),
        Fact("first", sizes[0], "bytes"),
        Fact("last", sizes[1], "bytes"),
    )
    largest = resources.sort_values("size", ascending=False, kind="stable")
    return finding(
        wording="growing-allocations",
        facts=facts,
        cause="growing-allocations",
        lever=Mechanism.GROWING_WORK,
        evidence=moments("resource_allocations", largest["time"], map(units.size, largest["size"])),
    )


def _kinds(resources: pd.DataFrame) -> str:
    """Return the most common resources by label, or by type without a label."""
    labels = resources["label"].fillna("").astype(str).str.strip()
    types = resources["type"].fillna("resource").astype(str)
    names = labels.where(labels != "", "unlabelled " + types)
    common = names.value_counts(sort=True)[:_NAMED]
    return ", ".join(f"{name} ({count:,})" for name, count in common.items())
