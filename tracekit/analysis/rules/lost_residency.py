"""`lost-residency`: memory that had been wired is wired again and again."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.idle.gaps import loaded_time
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, busy
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
    shares: dict[Cause, int] | None,
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
    if residency.has_lost_residency is False or (
        residency.has_lost_residency is None and residency.sizes.sum() < _MUCH
    ):
        return
    wired_iterations, number = residency.iteration_counts or (None, None)
    outgrown = room is not None and room.outgrown
    yield finding(
        wording="lost-residency",
        facts=(
            Fact("wired_again", int(residency.sizes.sum()), "bytes"),
            Fact("often", wired_iterations),
            Fact("number", number),
            Fact("unit", None if iterations is None else unit(iterations)),
            Fact("window", loop.name),
            Fact("allocated", _sum(residency.allocated), "bytes"),
            Fact("wiring", lasted, "ns"),
            Fact("wiring_share", lasted / _load(loop, loaded), "ratio"),
            Fact("sets_changed", _changes(residency_changes, loop)),
            *_facts_of_room(room),
            *_facts_of_machine(machine),
        ),
        lever=Mechanism.CACHE_SWAPPED if outgrown else Mechanism.WIRING_LOST,
        evidence=longest("driver_events", residency.starts, residency.ends),
        saving=None if shares is None else shares[Cause.WIRING],
        within="bubbles",
    )


def _load(loop: Loop, loaded: pd.DataFrame | None) -> int:
    """Return the time under load in the loop."""
    return loop.length if loaded is None else loaded_time(loaded)


def _sum(sizes: Times | None) -> int | None:
    return None if sizes is None else int(sizes.sum())


def _changes(residency_changes: pd.DataFrame | None, loop: Loop) -> int:
    """Return the number of recorded changes of the target's residency sets in the loop."""
    if residency_changes is None:
        return 0
    return len(loop.rows(residency_changes[residency_changes["target"]], "time"))


def _facts_of_room(room: Room | None) -> tuple[Fact, ...]:
    """Return the target's allocated memory and its limit; None for unknown values."""
    peak_size = grown = wired = limit = None
    if room is not None and room.initial_level is not None:
        peak_size, grown, wired, limit = room.highest_level, room.grown, room.wired, room.limit
    return (
        Fact("most", peak_size, "bytes"),
        Fact("grown", grown, "bytes"),
        Fact("wired_by_all", wired, "bytes"),
        Fact("limit", limit, "bytes"),
    )


def _facts_of_machine(machine: Machine) -> Iterator[Fact]:
    """Yield the state of the machine's memory, null for unknown values."""
    for name in ("memory", "wired_limit", "swap", "compressed", "paged_out"):
        size = machine.get(name)
        yield Fact(name, int(size) if size else None, "bytes")
