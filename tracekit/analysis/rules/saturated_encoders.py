"""`saturated-encoders`: encoders of a replay in which one unit is busy or stalled all the time."""

from tracekit.analysis.counters import CounterKind, Group
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.replay import CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding

_UNITS = frozenset(Group) - {Group.LAUNCH, Group.TEXTURE, Group.BUFFER}
_LEVERS = {
    Group.ARITHMETIC: Mechanism.COMPUTE_BOUND,
    Group.MEMORY: Mechanism.MEMORY_BOUND,
    Group.CACHE: Mechanism.MEMORY_BOUND,
}


def saturated_encoders(
    replay: CaptureReplay, *, limit: float = 0.80, share: float = 0.10
) -> Findings:
    """One unit is busy or stalled nearly all the time in encoders of a replay.

    What it looks for:
        The limiters of Xcode's counters of a GPU frame capture: arithmetic, instruction issue,
        control flow, caches, memory, address translation, threadgroup memory. For each unit it
        fires for encoders with a limiter of at least `limit` (80 %), if these hold `share` (10 %)
        of the cost. Launching, buffers and textures have rules of their own. The thresholds are
        tracekit's own.

    Why it matters:
        A limiter is the time in which its unit works or is stalled. As long as one unit is the
        bottleneck, relief of any other saves nothing.

    What to do:
        Give this unit less to do, one change at a time, and see whether its number moves.

    When it abstains:
        When no limiter was exported. Values of a serialized replay at a fixed clock are judged.
    """
    by_unit: dict[str, Group] = {}
    for encoder in replay.encoders:
        load = encoder.highest((CounterKind.LIMITER,), _UNITS)
        if load is not None:
            by_unit.setdefault(load.counter, load.group)
    replay.require(tuple(by_unit), "a limiter")
    for counter, group in by_unit.items():

        def is_saturated(encoder: ReplayEncoder, counter: str = counter) -> bool:
            load = encoder.highest((CounterKind.LIMITER,), _UNITS)
            return load is not None and load.counter == counter and load.share >= limit

        saturated = replay.select(is_saturated)
        if not saturated.encoders or saturated.share < share:
            continue
        used_share = saturated.mean(counter.replace("Limiter", "Utilization"))
        lever = _LEVERS.get(group)
        if lever is None:
            lever = Mechanism(f"other-limiter-{group.replace(' ', '-')}")
        yield finding(
            wording="saturated-encoders",
            facts=(
                *saturated.facts(),
                Fact("unit", group.value),
                Fact("counter", counter),
                Fact("limited", saturated.mean(counter), "ratio"),
                Fact("used", used_share, "ratio"),
            ),
            lever=lever,
        )
