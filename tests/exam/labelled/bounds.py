"""How near a trace is to what the chip can do: what its counters and its model of bytes say."""

from collections.abc import Callable, Mapping

from labelled.facts import Facts, Size
from labelled.setup import Counters, Setup


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


_BOUND, _SPARE, _FREE = 0.80, 0.45, 0.60
"""A unit bounds the work that is busy for 80 % of it while the others are for less than 45 %; no
unit does that is busy for less than 60 %. What lies between is open to judgement."""
_FEW, _ENOUGH = 0.25, 0.40
"""Few threads are less than a quarter of those that the chip can hold, enough are 40 %."""


def _bound_by(own: float, others: float) -> float | None:
    if own >= _BOUND and others <= _SPARE:
        return 2.0
    return 0.0 if own <= _FREE else None


def _units(counters: Counters) -> tuple[float, float, float]:
    """Return for which share of the work memory, arithmetic and another unit are busy."""
    return max(counters.memory, counters.bandwidth), counters.alu, counters.other


def _memory_bound(counters: Counters) -> float | None:
    memory, arithmetic, other = _units(counters)
    return _bound_by(memory, max(arithmetic, other))


def _compute_bound(counters: Counters) -> float | None:
    memory, arithmetic, other = _units(counters)
    return _bound_by(arithmetic, max(memory, other))


def _bound_elsewhere(counters: Counters) -> float | None:
    memory, arithmetic, other = _units(counters)
    return _bound_by(other, max(memory, arithmetic))


def _few_threads(counters: Counters) -> float | None:
    if counters.occupancy >= _ENOUGH:
        return 0.0
    return 2.0 if counters.occupancy <= _FEW and max(_units(counters)) <= _FREE else None


COUNTED: Mapping[str, Callable[[Counters], float | None]] = {
    "low-occupancy": _few_threads,
    "memory-bound": _memory_bound,
    "compute-bound": _compute_bound,
    "other-limiter": _bound_elsewhere,
}


def _reached(setup: Setup) -> float:
    """Return which share of the memory's bandwidth the kernels use at full clock."""
    time = sum(one.work for one in setup.pieces) / 1e9
    return setup.bytes_moved / time / setup.machine.bandwidth


def roofline_distance(facts: Facts) -> float | None:
    """Say how far the bytes of a step stay behind half of the memory's bandwidth.

    The time is that for which the device ran: a cliff or a spike makes good kernels slow.
    """
    setup = facts.world.setup
    if not setup.bytes_moved or not setup.flops or setup.variants:
        return 0.0 if not setup.variants else None
    if setup.server or setup.clock[1] or setup.drift > 0.2:
        return None  # prompts, a low clock and a growing context make good kernels slow
    moved = setup.bytes_moved * setup.steps
    reached = moved / (facts.busy / 1e9) / setup.machine.bandwidth
    return None if reached > 1 else 0.5 / reached


def cache_resident(facts: Facts) -> float | None:
    """Say how far the bytes of a step go beyond the memory's bandwidth."""
    setup = facts.world.setup
    if 0 < setup.bytes_moved < 12_000_000:
        return None
    # Half a step beyond the memory's bandwidth is beyond doubt; below it nothing is.
    return 1 + (_reached(setup) - 1.05) * 6
