"""`spilling-encoders`: encoders of a replay that keep values of a thread in memory."""

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.replay import STACK, CaptureReplay, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding


def spilling_encoders(
    replay: CaptureReplay, *, stack: float = 0.10, share: float = 0.10
) -> Findings:
    """Threads of a replay's encoders keep values on their stack.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders in which accesses to stacks
        are at least `stack` (10 %) of all L1 accesses, if these hold `share` (10 %) of the cost.
        Stacks hold spilled registers and private arrays. With the capture itself, it also fires for
        kernels of which the compiler spilled registers. The thresholds are tracekit's own.

    Why it matters:
        A value without a register is written to memory and read back, in each thread, inside the
        loop.

    When it abstains:
        When neither accesses to stacks nor the compiler's statistics are known. Values of a
        serialized replay at a fixed clock are judged.
    """
    if not any(map(_is_known, replay.encoders)):
        raise Unavailable(
            "this form of Xcode's counters has no accesses to stacks, and no statistics of a "
            "capture are assigned to them."
        )
    spilling = replay.select(
        lambda encoder: _stack_share(encoder) >= stack or _spilled_bytes(encoder) > 0
    )
    if not spilling.encoders or spilling.share < share:
        return
    yield finding(
        wording="spilling-encoders",
        facts=(
            *spilling.facts(),
            Fact("stack", max(map(_stack_share, spilling.encoders)), "ratio"),
            Fact("spilled", max(map(_spilled_bytes, spilling.encoders)), "bytes"),
        ),
        lever="spills",
    )


def _is_known(encoder: ReplayEncoder) -> bool:
    if encoder.cells.keys() & set(STACK):
        return True
    return any("spilled" in dispatch.counts for dispatch in encoder.dispatches)


def _stack_share(encoder: ReplayEncoder) -> float:
    share = 0.0
    for name in STACK:
        share += encoder.cells.get(name, 0.0)
    return share


def _spilled_bytes(encoder: ReplayEncoder) -> int:
    spilled = 0
    for dispatch in encoder.dispatches:
        spilled = max(spilled, dispatch.counts.get("spilled", 0))
    return spilled
