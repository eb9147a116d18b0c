"""`uncached-encoders`: encoders of a replay that wait for a cache that misses."""

from tracekit.analysis.counters import CounterKind, Group
from tracekit.analysis.dispatches import RecordedDispatch
from tracekit.analysis.replay import CaptureReplay, EncoderGroup, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.tables import Severity

_L1_MISSES = "Buffer L1 Miss Rate"
_LAST_LEVEL_MISSES = "Last Level Cache Miss Rate"
_READ = "Bytes Read From Device Memory"
_WAITING = (Group.CACHE, Group.MEMORY, Group.TRANSLATION, Group.BUFFER)
_ONCE = 1.25  # bytes read, over the bytes that are bound, up to which each byte is read once


def uncached_encoders(
    replay: CaptureReplay, *, misses: float = 0.50, waiting: float = 0.50, share: float = 0.10
) -> Findings:
    """Caches miss in encoders of a replay that wait for memory.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders in which the L1 caches miss
        at least `misses` (50 %) of their accesses to buffers, or the last-level cache of its own,
        and in which a limiter of caches, memory, address translation or buffers is at least
        `waiting` (50 %), if these hold `share` (10 %) of the cost. It is a note if their capture
        shows that each byte is read only once, for then no cache can help.

    Why it matters:
        Data that are read again from the next level cost its latency and its bandwidth each time.

    When it abstains:
        When no credible miss rate was exported. Values of a serialized replay at a fixed clock are
        judged.
    """
    replay.require((_L1_MISSES, _LAST_LEVEL_MISSES), "a miss rate")

    def is_uncached(encoder: ReplayEncoder) -> bool:
        l1_misses = encoder.cells.get(_L1_MISSES, 0.0)
        last_level_misses = encoder.cells.get(_LAST_LEVEL_MISSES, 0.0)
        load = encoder.highest((CounterKind.LIMITER,), _WAITING)
        return (
            max(l1_misses, last_level_misses) >= misses
            and load is not None
            and load.share >= waiting
        )

    uncached = replay.select(is_uncached)
    if not uncached.encoders or uncached.share < share:
        return
    load = uncached.highest_load((CounterKind.LIMITER,), _WAITING)
    is_read_once = _is_read_once(uncached)
    severity = Severity.NOTE if is_read_once else Severity.WARNING
    counter = None
    limited = None
    if load is not None:
        counter = load.counter
        limited = load.share
    yield finding(
        severity=severity,
        wording="uncached-encoders",
        facts=(
            *uncached.facts(),
            Fact("l1_misses", uncached.mean(_L1_MISSES), "ratio"),
            Fact("last_level_misses", uncached.mean(_LAST_LEVEL_MISSES), "ratio"),
            Fact("counter", counter),
            Fact("limited", limited, "ratio"),
            Fact("once", is_read_once),
        ),
        lever="cache-misses",
    )


def _is_read_once(group: EncoderGroup) -> bool:
    """Tell whether the encoders read hardly more bytes than are bound to their dispatches."""
    for encoder in group.encoders:
        bound = sum(map(_count_bound_bytes, encoder.dispatches))
        if not bound or encoder.cells.get(_READ, float("inf")) > _ONCE * bound:
            return False
    return True


def _count_bound_bytes(dispatch: RecordedDispatch) -> int:
    total = 0
    for argument in dispatch.arguments:
        if argument.access.startswith("read") and argument.length and argument.is_active:
            total += argument.length
    return total
