"""`uncached-encoders`: encoders of a replay that wait for a cache that misses."""

import math
from collections.abc import Iterable

from tracekit.analysis.counters import CounterKind, Group
from tracekit.analysis.dispatches import RecordedDispatch
from tracekit.analysis.replay import CaptureReplay, EncoderGroup, ReplayEncoder
from tracekit.analysis.rule import Fact, Findings, finding
from tracekit.tables import Severity

_L1_MISSES = "Buffer L1 Miss Rate"
_LAST_LEVEL_MISSES = "Last Level Cache Miss Rate"
_READ_FROM = {
    _L1_MISSES: "Last Level Cache Bytes Read",
    _LAST_LEVEL_MISSES: "Bytes Read From Device Memory",
}
"""The bytes that come from the next level, by the cache that misses."""
_WAITING = (Group.CACHE, Group.MEMORY, Group.TRANSLATION, Group.BUFFER)
_ONCE = 1.25  # bytes read, over those in reach of the bindings, up to which each is read once


def uncached_encoders(
    replay: CaptureReplay, *, misses: float = 0.50, waiting: float = 0.50, share: float = 0.10
) -> Findings:
    """Caches miss in encoders of a replay that wait for memory.

    What it looks for:
        Xcode's counters of a GPU frame capture. It fires for encoders in which the L1 caches miss
        at least `misses` (50 %) of their accesses to buffers, or the last-level cache of its own,
        and in which a limiter of caches, memory, address translation or buffers is at least
        `waiting` (50 %), if these hold `share` (10 %) of the cost. It is a note if each cache that
        misses reads hardly more from the next level than the buffers of their capture hold behind
        the bound offsets, for then no cache can help. The thresholds are tracekit's own.

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
    is_read_once = _is_read_once(uncached, misses)
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


def _is_read_once(group: EncoderGroup, misses: float) -> bool:
    """Tell whether no cache that misses reads much more than is in reach of the bindings."""
    for encoder in group.encoders:
        read_limit = _ONCE * _count_reachable_bytes(encoder.dispatches)
        for rate, counter in _READ_FROM.items():
            is_missing = encoder.cells.get(rate, 0.0) >= misses
            if is_missing and encoder.cells.get(counter, math.inf) > read_limit:
                return False
    return True


def _count_reachable_bytes(dispatches: Iterable[RecordedDispatch]) -> int:
    """Return the bytes behind the lowest offset of each buffer that the dispatches may read."""
    reaches: dict[str, int] = {}
    for dispatch in dispatches:
        for argument in dispatch.arguments:
            if argument.access.startswith("read") and argument.length and argument.is_active:
                key = f"buffer {argument.buffer}"
                if argument.buffer is None:
                    key = f"bytes {argument.index} of {dispatch.index}"
                reach = argument.length - (argument.offset or 0)
                reaches[key] = max(reach, reaches.get(key, 0))
    return sum(reaches.values())
