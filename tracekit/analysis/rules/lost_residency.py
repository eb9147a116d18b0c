"""`lost-residency`: memory that had been wired is wired again and again."""

import pandas as pd

from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine, memory_words
from tracekit.analysis.memory import Room
from tracekit.analysis.residency import Wired
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.scope import Device
from tracekit.base import duration, percent, size

_MUCH = 1 << 30  # bytes that a loop hardly allocates again and again


def lost_residency(
    gpu: Device,
    loop: Loop,
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
        much. It fires when wiring takes more than `limit` of the window (1 %). What could be won
        is the idle time in which memory was wired; bubbles counts it too. What is wired once is
        the load of a model, and what is wired as it is allocated is hot-allocations'.

    Why it matters:
        Weights that do not stay wired are wired again for each token, at a few gigabytes a second.
        That makes a model ten times slower and more.

    What to do:
        Where the target outgrew what the machine can hold, free or limit caches, or use a smaller
        model. Where a model alone lost its place, raise the wired limit, keep residency sets alive.

    When it abstains:
        When driver events were not recorded or name no sizes, when the target is not known, and
        where a CPU did the work. Where allocations were not recorded, it takes over a gigabyte.
    """
    lasted = busy(residency.starts, residency.ends)
    if not residency.habit or lasted <= limit * loop.length:
        return
    if residency.sizes is None:
        raise Unavailable("how much the driver wired is not known: its events name no sizes.")
    if residency.lost is False or (residency.lost is None and residency.sizes.sum() < _MUCH):
        return
    beside = "what the target allocated meanwhile was not recorded"
    if residency.allocated is not None:
        beside = f"while the target allocated {size(int(residency.allocated.sum()))}"
    times = ""
    if residency.often is not None and iterations is not None:
        times = f" before {residency.often[0]:,} of {residency.often[1]:,} {unit(iterations)}s"
    outgrown = room is not None and room.outgrown
    yield finding(
        message=(
            f"{size(int(residency.sizes.sum()))} were wired again{times} in {loop.name}, "
            f"{beside}: that took {duration(lasted)}, {percent(lasted / loop.length)} of it."
            f"{_sets(residency_changes, loop)}{_room_words(room)}{memory_words(machine)}"
        ),
        lever=Mechanism.CACHE_SWAPPED if outgrown else Mechanism.WIRING_LOST,
        evidence=longest("driver_events", residency.starts, residency.ends),
        saving=None if shares is None else shares[Cause.WIRING],
        within="bubbles",
    )


def _sets(residency_changes: pd.DataFrame | None, loop: Loop) -> str:
    """Say, with a blank before it, how often residency sets were changed; nothing where never."""
    if residency_changes is None:
        return ""
    changed = len(loop.rows(residency_changes[residency_changes["target"]], "time"))
    return f" Residency sets were changed {changed:,} times meanwhile." if changed else ""


def _room_words(room: Room | None) -> str:
    """Say, with a blank before it, how much the target had allocated, as far as that is known."""
    if room is None or room.first is None or room.most is None:
        return ""
    grown = f", {size(room.grown)} of it since the loop began" if room.grown > 0 else ""
    wired = "" if room.wired is None else f", and {size(room.wired)} wired for all processes"
    limit = f"; the limit is {size(room.limit)}" if room.limit is not None else ""
    return f" At most {size(room.most)} were allocated{grown}{wired}{limit}."
