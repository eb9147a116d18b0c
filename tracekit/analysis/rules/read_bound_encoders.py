"""`read-bound-encoders`: encoders of a replay limited by accesses to buffers or textures."""

from tracekit.analysis.counters import CounterKind, Group
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.replay import CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding

_LEVERS = {
    Group.BUFFER: Mechanism.OTHER_LIMITER_BUFFER_ACCESS,
    Group.TEXTURE: Mechanism.OTHER_LIMITER_TEXTURE,
}
_LIMITER = "Limiter"


def read_bound_encoders(
    replay: CaptureReplay, *, limit: float = 0.60, share: float = 0.10
) -> Findings:
    """Accesses to buffers or textures limit encoders of a replay.

    What it looks for:
        The limiters of buffers and of textures in Xcode's counters of a GPU frame capture. It fires
        for encoders in which one is at least `limit` (60 %), if these hold `share` (10 %) of the
        cost. A low utilization of the same unit shows that it was stalled, waiting for data. The
        thresholds are tracekit's own.

    Why it matters:
        Many narrow accesses fill the unit although few bytes move.

    What to do:
        Make fewer, wider and aligned accesses, let neighbouring threads read neighbouring
        addresses, and load each value once.

    When it abstains:
        When no such limiter was exported. Values of a serialized replay at a fixed clock are
        judged.
    """
    names: list[str] = []
    for encoder in replay.encoders:
        load = encoder.highest((CounterKind.LIMITER,), tuple(_LEVERS))
        if load is not None:
            names.append(load.counter)
    replay.require(names, "a limiter of buffers or textures")
    for group, lever in _LEVERS.items():

        def is_bound(encoder: ReplayEncoder, group: Group = group) -> bool:
            load = encoder.highest((CounterKind.LIMITER,), (group,))
            return load is not None and load.share >= limit

        bound = replay.select(is_bound)
        load = bound.highest_load((CounterKind.LIMITER,), (group,))
        if load is None or bound.share < share:
            continue
        used_share = bound.mean(load.counter.replace(_LIMITER, "Utilization"))
        yield finding(
            wording="read-bound-encoders",
            facts=(
                *bound.facts(),
                Fact("unit", group.value),
                Fact("counter", load.counter.removesuffix(f" {_LIMITER}")),
                Fact("limited", load.share, "ratio"),
                Fact("used", used_share, "ratio"),
            ),
            lever=lever,
        )
