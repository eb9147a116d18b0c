"""`other-limiter`: something else than arithmetic and memory is near its limit."""

import pandas as pd

from tracekit.analysis.counters import HOW_TO_GET, Group, Pressure, extremes
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Findings, finding

CANDIDATES = {
    Group.THREADGROUP: (
        "fewer trips through threadgroup memory (keep partial sums in registers, reduce across a "
        "simdgroup first), wider accesses, and padding where threads of a simdgroup meet in one "
        "bank."
    ),
    Group.BUFFER: (
        "fewer and wider accesses to buffers (half4 or float4, aligned), neighbours in memory for "
        "neighbouring threads, and each value loaded once."
    ),
    Group.TRANSLATION: (
        "larger and fewer pages of the cache, pages of a sequence next to each other, and reading "
        "a page to its end before the next one: scattered addresses miss the tables of the MMU."
    ),
    Group.CONTROL: (
        "fewer branches in inner loops: constants of the function instead of arguments, loops "
        "unrolled, masks applied to whole tiles."
    ),
    Group.ISSUE: (
        "fewer instructions for the same bytes: wider types, index arithmetic moved out of inner "
        "loops, loops unrolled."
    ),
    Group.LAUNCH: (
        "more work for each thread and larger dispatches: many small grids keep the GPU at "
        "starting threads."
    ),
    Group.TEXTURE: (
        "nothing in kernels that read buffers alone. See who uses textures: something that draws "
        "may share the GPU."
    ),
    Group.RASTER: "to see who draws: compute kernels do not rasterize.",
}
"""What to try for each group of units, as candidates."""
_AFTER = " Keep a change only if the number moves and tokens per second follow."


def other_limiter(
    counter_samples: pd.DataFrame, loads: Pressure, *, high: float = 0.70, margin: float = 0.10
) -> Findings:
    """Neither arithmetic nor memory bounds the work, but another unit.

    What it looks for:
        Limiters of all other units (threadgroup memory, buffer access, address translation,
        control flow, instruction issue, launch, texture) while the target's work ran in the
        steady window. It fires when the highest is at least `high` (70 %), and exceeds all
        counters of arithmetic, caches and bandwidth by `margin` (10 points).

    Why it matters:
        A limiter is the time in which its unit works or is stalled. While one unit is the narrow
        place, neither fewer bytes nor faster arithmetic wins time.

    What to do:
        Change what loads that unit, one thing at a time, and see whether its number moves.

    When it abstains:
        When no such limiter was recorded or samples count other processes too, and where a CPU
        did the work.
    """
    if loads.other is None:
        raise Unavailable(f"no limiter beside arithmetic and memory was recorded. {HOW_TO_GET}")
    if loads.other.share < high or not loads.dominated(margin):
        return
    rivals = ", ".join(load.words for load in (loads.arithmetic, loads.memory) if load)
    beside = f" ({rivals})" if rivals else ""
    yield finding(
        message=f"{loads.other.words}, more than arithmetic and memory{beside}.",
        advice=f"Candidates: {CANDIDATES[loads.other.group]}{_AFTER}",
        evidence=extremes(counter_samples, loads.other.counter),
    )
