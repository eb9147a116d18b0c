"""Samples of GPU counters, and what each counter is."""

import numpy as np

from labelled.cells import ACCELERATOR, Rows
from labelled.draws import Draws
from labelled.setup import MILLISECOND, Counters, Machine
from labelled.world import World

_TICK = 2 * MILLISECOND
_FIRST = 3 * MILLISECOND
_LARGEST = (1 << 63) - 1


def _shares(counters: Counters, machine: Machine) -> dict[str, float]:
    """Return the mean of each counter in percent, by the names that the chip's trace gives it."""
    if counters.only_ray_tracing:
        return {"RT Unit Active": 0.0}
    shared = {
        "ALU Limiter": min(0.99, counters.alu * 1.1),
        "ALU Utilization": counters.alu,
        "F32 Utilization": counters.alu * 0.7,
        "MMU Limiter": counters.memory * 0.3,
        counters.other_name: counters.other,
    }
    if machine.first_generation:
        own = {
            "Compute Occupancy": counters.occupancy,
            "Total Occupancy": counters.occupancy,
            "GPU Last Level Cache Limiter": counters.memory,
            "GPU Last Level Cache Utilization": counters.memory * 0.9,
            "Buffer Read Limiter": counters.memory * 0.8,
            "GPU Read Bandwidth": counters.bandwidth,
            "GPU Write Bandwidth": counters.bandwidth * 0.05,
        }
        return {name: 100 * share for name, share in (own | shared).items()}
    own = {
        "Kernel Occupancy": counters.occupancy,
        "Total Occupancy": counters.occupancy,
        "Last Level Cache Limiter": counters.memory,
        "Last Level Cache Utilization": counters.memory * 0.9,
        "L1 Cache Limiter": counters.memory * 0.5,
    }
    gigabytes = counters.bandwidth * machine.bandwidth / 1e9
    return {name: 100 * share for name, share in (own | shared).items()} | {
        "GPU Read Bandwidth": gigabytes,
        "GPU Write Bandwidth": gigabytes * 0.05,
    }


def infos(world: World) -> Rows:
    """Yield what each counter is."""
    setup = world.setup
    if setup.counters is None:
        return
    for number, name in enumerate(_shares(setup.counters, setup.machine)):
        value = "Bandwidth" in name and not setup.machine.first_generation
        yield (
            *(0, 7 + number, name, _LARGEST if value else 100, ACCELERATOR, "", 1),
            *("Value" if value else "Percentage", 1, False, 0),
        )


def samples(world: World) -> Rows:
    """Yield a sample of each counter every so often: its mean while the target's work runs."""
    setup = world.setup
    if setup.counters is None:
        return
    means = _shares(setup.counters, setup.machine)
    random = Draws(setup.seed, 1).random("counters")
    times = np.arange(_FIRST, world.end, _TICK) + random.integers(0, _TICK // 4)
    starts = np.array([one.start for one in world.intervals])
    ends = np.array([one.end for one in world.intervals])
    place = np.searchsorted(starts, times, side="right") - 1
    runs = (place >= 0) & (times < ends[np.maximum(place, 0)])
    spread = random.lognormal(0, 0.08, (times.size, len(means)))
    values = np.where(runs[:, None], 1.0, 0.02) * spread * np.array(list(means.values()))
    most = [
        100.3 if "Bandwidth" not in name or mean <= 100 else np.inf for name, mean in means.items()
    ]
    values = np.minimum(values, np.array(most))
    for number, (time, row) in enumerate(zip(times.tolist(), values.tolist(), strict=True)):
        for counter, value in enumerate(row):
            yield time, 7 + counter, value, ACCELERATOR, number, 0
