"""The rows of what holds for a while: clock, heat, memory."""

from itertools import pairwise

from labelled.cells import ACCELERATOR, Rows, label, main_thread, owner
from labelled.world import TARGET, World

_LEVELS = ((0.9, "Maximum", 3), (0.6, "Medium", 2), (0.0, "Minimum", 1))


def performance(world: World) -> Rows:
    """Yield the GPU's performance levels by name."""
    for one in world.levels:
        name = next(name for least, name, _ in _LEVELS if one.ratio >= least)
        yield (
            *(one.start, one.end - one.start, name, "Current", False, None),
            "GPU Performance State",
        )


def device_performance(world: World) -> Rows:
    """Yield the GPU's performance levels by number."""
    for one in world.levels:
        number = next(number for least, _, number in _LEVELS if one.ratio >= least)
        yield one.start, one.end - one.start, ACCELERATOR, number, number


def thermal(world: World) -> Rows:
    """Yield the machine's thermal states; one that is not nominal begins with the steady phase."""
    begin, _ = world.steady
    state = world.setup.thermal
    parts = [(0, world.end, state)]
    if state not in {"Nominal", "Fair"}:
        parts = [(0, begin, "Fair"), (begin, world.end, state)]
    for start, end, name in parts:
        yield start, end - start, end, name, "Current", False, None


def allocated(world: World) -> Rows:
    """Yield the levels of memory that the target had allocated."""
    levels = [*world.memory, (world.end, 0)]
    for (start, size), (end, _) in pairwise(levels):
        words = label(f"{size / (1 << 20):.1f} MiB")
        yield start, end - start, end, owner(TARGET), size, words, label("Allocated"), 0


def allocations(world: World) -> Rows:
    """Yield each buffer that was allocated."""
    device = world.setup.machine.device
    for number, one in enumerate(world.allocations):
        yield (
            *(one.time, 0, owner(TARGET), main_thread(TARGET), number, None, one.label, 0),
            *(one.size, one.size, label("Allocation"), device, "Buffer", "Allocation", None, None),
        )
