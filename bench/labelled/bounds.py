"""How near a trace is to what the chip can do: what its counters and its model of bytes say."""

from collections.abc import Callable, Mapping

from labelled.facts import Facts, Size
from labelled.setup import Counters


def counted(name: str) -> Size:
    """Return the size of a fault that counters show; nothing is shown without them."""

    def size(facts: Facts) -> float | None:
        counters = facts.world.setup.counters
        if counters is None or counters.only_ray_tracing:
            return 0.0
        if facts.world.setup.rival is not None:
            return None
        return COUNTED[name](counters)

    return size


def _gap(high: float, low: float, other: float) -> float | None:
    """Say how far one limiter is above 70 %, if arithmetic or memory is well below 50 %."""
    if high > 0.7 * 0.9 and (low > 0.45 or abs(other - high) < 0.15):
        return None
    if other > high:
        return 0.0
    return 1 + (high - 0.7) / 0.7 * 6


def _memory(counters: Counters) -> float:
    """Return how near memory is to its limit: reads and writes together, or a cache."""
    return max(counters.memory, counters.bandwidth * 1.05)


COUNTED: Mapping[str, Callable[[Counters], float | None]] = {
    "low-occupancy": lambda c: (
        None if max(c.alu, c.memory, c.bandwidth) > 0.6 else 0.3 / c.occupancy
    ),
    "memory-bound": lambda c: _gap(_memory(c), c.alu * 1.1, c.other),
    "compute-bound": lambda c: _gap(c.alu * 1.1, _memory(c), c.other),
    "other-limiter": lambda c: _gap(
        c.other, max(c.alu * 1.1, c.memory, c.bandwidth), max(c.alu * 1.1, c.memory)
    ),
}


def _reached(facts: Facts) -> float:
    setup = facts.world.setup
    return setup.bytes_moved * setup.steps / (facts.busy / 1e9) / setup.machine.bandwidth


def roofline_distance(facts: Facts) -> float | None:
    """Say how far the bytes of a step stay behind half of the memory's bandwidth."""
    setup = facts.world.setup
    if not setup.bytes_moved or not setup.flops or setup.variants:
        return 0.0 if not setup.variants else None
    reached = _reached(facts)
    return None if reached > 1 else 0.5 / reached


def cache_resident(facts: Facts) -> float | None:
    """Say how far the bytes of a step go beyond the memory's bandwidth."""
    setup = facts.world.setup
    if 0 < setup.bytes_moved < 12_000_000:
        return None
    # Half a step beyond the memory's bandwidth is beyond doubt; below it nothing is.
    return 1 + (_reached(facts) - 1.05) * 6
