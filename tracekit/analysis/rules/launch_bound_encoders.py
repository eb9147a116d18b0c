"""`launch-bound-encoders`: encoders of a replay that wait for the launch of threads."""

from tracekit.analysis.levers import Mechanism
from tracekit.analysis.replay import GPU_TIME, OCCUPANCY, CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding

_LIMITER = "Compute Shader Launch Limiter"
_USED = "Compute Shader Launch Utilization"
_WORKING = 0.10  # the utilization below which launching waits for room rather than works


def launch_bound_encoders(
    replay: CaptureReplay, *, limit: float = 0.50, tiny: int = 10_000, share: float = 0.10
) -> Findings:
    """The launch of threads takes much of the time of a replay's encoders.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders in which launching is busy or
        stalled for at least `limit` (50 %) of the time; and for dispatches with a GPU time below
        `tiny` ns (10 µs), if the counters have a time; if these hold `share` (10 %) of the cost.
        The thresholds are tracekit's own.

    Why it matters:
        A launcher that works all the time starts threads that end too soon. One that is stalled
        has threads for which no core has room: registers or threadgroup memory are taken. A
        dispatch of a few microseconds is little more than its own start.

    What to do:
        Give each thread more work and make dispatches larger. If the launcher is stalled, let more
        threads fit: less threadgroup memory, fewer registers.

    When it abstains:
        When neither a launch limiter nor a GPU time was exported. Values of a serialized replay at
        a fixed clock are judged.
    """
    replay.require((_LIMITER, GPU_TIME), "launching or GPU time")
    limited = replay.select(lambda encoder: encoder.cells.get(_LIMITER, 0.0) >= limit)
    if limited.encoders and limited.share >= share:
        used_share = limited.mean(_USED)
        lever = Mechanism.OTHER_LIMITER_LAUNCH
        if used_share is not None and used_share < _WORKING:
            lever = Mechanism.LAUNCH_WITHOUT_ROOM
        lowest, highest = limited.extremes(_LIMITER)
        yield finding(
            wording="launch-bound-encoders",
            facts=(
                *limited.facts(),
                Fact("lowest", lowest, "ratio"),
                Fact("highest", highest, "ratio"),
                Fact("used", used_share, "ratio"),
                Fact("stalled", lever is Mechanism.LAUNCH_WITHOUT_ROOM),
                Fact("occupancy", limited.mean(OCCUPANCY), "ratio"),
            ),
            lever=lever,
        )

    def is_tiny(encoder: ReplayEncoder) -> bool:
        return encoder.cells.get(GPU_TIME, float("inf")) < tiny

    short = replay.select(is_tiny)
    if short.encoders and short.share >= share:
        _, longest = short.extremes(GPU_TIME)
        yield finding(
            wording="launch-bound-encoders-tiny",
            facts=(*short.facts(), Fact("longest", round(longest), "ns")),
            lever=Mechanism.OTHER_LIMITER_LAUNCH,
        )
