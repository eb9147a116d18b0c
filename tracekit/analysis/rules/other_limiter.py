"""`other-limiter`: something else than arithmetic and memory is near its limit."""

import pandas as pd

from tracekit.analysis.counters import HOW_TO_GET, Pressure, extremes
from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.base import units


def other_limiter(
    counter_samples: pd.DataFrame, loads: Pressure, *, high: float = 0.70, margin: float = 0.10
) -> Findings:
    """A unit other than arithmetic and memory bounds the work.

    What it looks for:
        Limiters of all other units (threadgroup memory, buffer access, address translation,
        control flow, instruction issue, launch, texture) while the target's work ran in the
        steady window. It fires when the highest is at least `high` (70 %), and exceeds all
        counters of arithmetic, caches and bandwidth by `margin` (10 points).

    Why it matters:
        A limiter is the time in which its unit works or is stalled. As long as one unit is the
        bottleneck, neither fewer bytes nor faster arithmetic saves time.

    What to do:
        Change the work that loads this unit, one thing at a time, and see whether its number moves.

    When it abstains:
        When no such limiter was recorded or samples count other processes too, and when a CPU did
        the work.
    """
    if loads.other_units is None:
        raise Unavailable(
            f"no limiter other than arithmetic and memory was recorded. {HOW_TO_GET}",
            Remedy.COUNTERS,
        )
    if loads.other_units.share < high or not loads.has_other_bottleneck(margin):
        return
    main_loads = (loads.arithmetic, loads.memory)
    rivals = [
        f"{load.counter} {units.percent(load.share)}" for load in main_loads if load is not None
    ]
    arithmetic_share = loads.arithmetic and loads.arithmetic.share
    memory_share = loads.memory and loads.memory.share
    rival_text = ", ".join(rivals)
    facts = (
        Fact("unit", loads.other_units.group.value),
        *loads.other_units.facts("other"),
        Fact("arithmetic_share", arithmetic_share, "ratio"),
        Fact("memory_share", memory_share, "ratio"),
        Fact("rivals", rival_text),
    )
    group_name = loads.other_units.group.replace(" ", "-")
    lever = Mechanism(f"other-limiter-{group_name}")
    evidence = extremes(counter_samples, loads.other_units.counter)
    yield finding(
        wording="other-limiter",
        facts=facts,
        lever=lever,
        evidence=evidence,
    )
