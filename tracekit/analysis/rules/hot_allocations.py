"""`hot-allocations`: the steady loop allocates memory for the GPU."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy
from tracekit.analysis.rule import Evidence, Finding, finding, longest
from tracekit.analysis.scope import on_gpu, window_of_target
from tracekit.analysis.submission import unit
from tracekit.analysis.upkeep import allocations, wiring
from tracekit.base import duration, percent, quantity, size

_ADVICE = (
    "Make buffers before the loop and use them again: preallocate outputs and caches, take "
    "temporary ones from a pool, and keep shapes the same from step to step, so that MLX's own "
    "cache of buffers fits them. Do not clear that cache in the loop, and let its limit be larger "
    "than what a step frees."
)
_NO_ALLOCATIONS = (
    "what was allocated is not known: allocations (metal-resource-allocations) were not recorded."
)
_NO_EVENTS = (
    "how long the driver wired memory is not known: driver events (metal-driver-event-intervals) "
    "were not recorded."
)
_NAMED = 3
_SHOWN = 20


def hot_allocations(  # noqa: PLR0917  a rule's tables are its parameters
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    loop: pd.DataFrame,
    resource_allocations: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    *,
    per_step: float = 2.0,
    per_second: float = 50.0,
    wired: float = 0.01,
) -> Iterator[Finding]:
    """The steady loop allocates memory for the GPU.

    What it looks for:
        Resources of Metal that the target allocated in the steady window. It fires when there are
        `per_step` or more for each step (default 2), or where steps are not known `per_second`
        or more for each second (50). And time in which the driver wired memory for the target:
        it fires when that covers more than `wired` of the window (default 1 %).

    Why it matters:
        Making a buffer and wiring its memory takes time of the loop that asks for it. A loop
        that uses its buffers again does neither. What it costs shows as idle time of the device,
        which bubbles counts.

    What to do:
        Preallocate, pool, and keep shapes the same.

    When it abstains:
        When the target is not known or has no device intervals, when one of allocations and
        driver events was not recorded and the other shows nothing, or when the names of the
        events are not known.
    """
    window = window_of_target(gpu_intervals, targets, loop)
    if resource_allocations is None and driver_events is None:
        on_gpu(gpu_intervals)
        raise Unavailable(
            "neither allocations (metal-resource-allocations) nor driver events "
            "(metal-driver-event-intervals) were recorded."
        )
    found: list[Finding] = []
    if driver_events is not None:
        found += _wired(driver_events, window, wired)
    if resource_allocations is not None:
        found += _allocated(resource_allocations, window, iterations, (per_step, per_second))
    if not found and (driver_events is None or resource_allocations is None):
        raise Unavailable(_NO_EVENTS if driver_events is None else _NO_ALLOCATIONS)
    yield from found


def _allocated(
    resources: pd.DataFrame,
    window: Window,
    iterations: pd.DataFrame | None,
    limits: tuple[float, float],
) -> Iterator[Finding]:
    own = allocations(resources, window)
    count, each = _per(window, iterations)
    rate = len(own) / count
    if own.empty or rate < limits[each == "second"]:
        return
    sizes = own["size"].dropna()
    volume = f", {size(int(sizes.sum()))} in all" if len(sizes) else ""
    shown = own.sort_values("size", ascending=False, kind="stable")[:_SHOWN]
    yield finding(
        message=(
            f"The target allocated {len(own):,} resources of Metal in {window.name}{volume}: "
            f"{quantity(rate, '')} a {each}. Mostly: {_kinds(own)}."
        ),
        advice=_ADVICE,
        evidence=tuple(
            Evidence("resource_allocations", int(at), int(at), size(None if pd.isna(n) else int(n)))
            for at, n in zip(shown["time"], shown["size"], strict=True)
        ),
    )


def _per(window: Window, iterations: pd.DataFrame | None) -> tuple[float, str]:
    """Return by what a number of allocations is divided, and what that is."""
    if iterations is not None and not iterations.empty:
        return len(iterations), unit(iterations)
    return window.length / 1e9, "second"


def _kinds(own: pd.DataFrame) -> str:
    """Name the commonest resources by label, or by type where they have none."""
    labels = own["label"].fillna("").astype(str).str.strip()
    types = own["type"].fillna("resource").astype(str)
    names = labels.where(labels != "", "unlabelled " + types)
    common = names.value_counts(sort=True)[:_NAMED]
    return ", ".join(f"{name} ({count:,})" for name, count in common.items())


def _wired(events: pd.DataFrame, window: Window, limit: float) -> Iterator[Finding]:
    starts, ends = wiring(events, window)
    lasted = busy(starts, ends)
    if lasted <= limit * window.length:
        return
    many = "stretch" if starts.size == 1 else "stretches"
    yield finding(
        message=(
            f"The driver wired memory for the target for {percent(lasted / window.length)} of "
            f"{window.name} ({duration(lasted)}, in {starts.size:,} {many})."
        ),
        advice=_ADVICE,
        evidence=longest("driver_events", starts, ends),
    )
