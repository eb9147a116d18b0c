"""`lost-residency`: memory that had been wired is wired again and again."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sums import loaded_time
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.memory import Room
from tracekit.analysis.residency import Wired
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.scope import Device

_MUCH = 1 << 30  # bytes that a loop hardly allocates again and again


def lost_residency(
    gpu: Device,
    loop: Loop,
    loaded: pd.DataFrame | None,
    residency: Wired,
    residency_changes: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    idle_by_cause: dict[Cause, int] | None,
    machine: Machine,
    room: Room | None,
    *,
    limit: float = 0.01,
) -> Findings:
    """Memory that had been wired for the GPU is wired again.

    What it looks for:
        Memory that the driver wires for the target in most parts of the loop, by the sizes in its
        events, or else by the level of wired memory, while the loop allocates less than half as
        much. It fires when wiring takes more than `limit` of the window (1 %). The possible saving
        is the idle time in which memory was wired; bubbles counts it too. Memory that is wired once
        is the load of a model, and memory that is wired as it is allocated belongs to
        hot-allocations.

    Why it matters:
        Weights that do not stay wired are wired again for each token, at a few gigabytes a second.
        This makes a model at least ten times slower.

    What to do:
        If the target needs more memory than the machine can hold, free or limit caches, or use a
        smaller model. If only a model lost its place, raise the wired limit and keep residency sets
        alive.

    When it abstains:
        When driver events were not recorded or name no sizes, when the target is not known, and
        when a CPU did the work. Without recorded allocations, it fires only for a gigabyte or more.
    """
    lasted = busy(residency.starts, residency.ends)
    if not residency.habit or lasted <= limit * loop.length:
        return
    if residency.sizes is None:
        raise Unavailable("how much the driver wired is not known: its events name no sizes.")
    if residency.has_lost_residency is False:
        return
    # Without recorded allocations it is not known, and little may have been allocated anew.
    if residency.has_lost_residency is None and residency.sizes.sum() < _MUCH:
        return
    wired_iterations, number = residency.iteration_counts or (None, None)
    outgrown = room is not None and room.outgrown
    wired_again = int(residency.sizes.sum())
    unit_name = None
    if iterations is not None:
        unit_name = unit(iterations)
    allocated_size = None
    if residency.allocated is not None:
        allocated_size = int(residency.allocated.sum())
    wiring_share = lasted / _measure_load(loop, loaded)
    sets_changed = _count_changes(residency_changes, loop)
    facts = (
        Fact("wired_again", wired_again, "bytes"),
        Fact("often", wired_iterations),
        Fact("number", number),
        Fact("unit", unit_name),
        Fact("window", loop.name),
        Fact("allocated", allocated_size, "bytes"),
        Fact("wiring", lasted, "ns"),
        Fact("wiring_share", wiring_share, "ratio"),
        Fact("sets_changed", sets_changed),
        *_facts_of_room(room),
        *_facts_of_machine(machine),
    )
    lever = Mechanism.WIRING_LOST
    if outgrown:
        lever = Mechanism.CACHE_SWAPPED
    evidence = longest("driver_events", residency.starts, residency.ends)
    saving = None
    if idle_by_cause is not None:
        saving = idle_by_cause[Cause.WIRING]
    yield finding(
        wording="lost-residency",
        facts=facts,
        lever=lever,
        evidence=evidence,
        saving=saving,
        within="bubbles",
    )


def _measure_load(loop: Loop, loaded: pd.DataFrame | None) -> int:
    """Return the time under load in the loop."""
    if loaded is None:
        return loop.length
    return loaded_time(loaded)


def _count_changes(residency_changes: pd.DataFrame | None, loop: Loop) -> int:
    """Return the number of recorded changes of the target's residency sets in the loop."""
    if residency_changes is None:
        return 0
    target_changes = residency_changes[residency_changes["target"]]
    changed_rows = loop.rows(target_changes, "time")
    return len(changed_rows)


def _facts_of_room(room: Room | None) -> tuple[Fact, ...]:
    """Return the target's allocated memory and its limit; None for unknown values."""
    peak_size = grown = wired = limit = None
    if room is not None and room.initial_level is not None:
        peak_size = room.highest_level
        grown = room.grown
        wired = room.wired
        limit = room.limit
    return (
        Fact("most", peak_size, "bytes"),
        Fact("grown", grown, "bytes"),
        Fact("wired_by_all", wired, "bytes"),
        Fact("limit", limit, "bytes"),
    )


def _facts_of_machine(machine: Machine) -> Iterator[Fact]:
    """Yield the state of the machine's memory; None for unknown values, and for 0."""
    for name in ("memory", "wired_limit", "swap", "compressed", "paged_out"):
        size = machine.get(name)
        yield Fact(name, int(size) if size else None, "bytes")
