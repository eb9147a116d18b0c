"""What a monitor says while one waits: samples in between, made one reading of each name."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from statistics import median

from tracekit.machine.state.known import Known
from tracekit.machine.telemetry.reading import Taken

# A clock counts only in samples in which the GPU worked at least so much of the time: an idle
# GPU clocks down, and that says nothing of the machine.
BUSY = 0.5

_KEPT = 4096
_WORST = {"thermal_pressure"}  # the highest counts; of all others the median does

Sample = dict[str, float]


class Samples:
    """What a monitor said since somebody last asked; filled by its thread."""

    def __init__(self) -> None:
        self.ever = threading.Event()
        self._new: deque[tuple[float, Sample]] = deque(maxlen=_KEPT)
        self._last: tuple[float, Sample] | None = None

    def add(self, source: str, taken: Taken) -> None:
        """Keep a sample; this is what `tracekit.machine.telemetry.following` calls."""
        del source
        if taken.readings:
            sample = {one.name: one.value for one in taken.readings}
            self._new.append((time.monotonic(), sample))
            self.ever.set()

    def since_asked(self, stale: float) -> list[Sample]:
        """Return the new samples; where there is none the last, if it is younger than `stale`."""
        found: list[tuple[float, Sample]] = []
        while self._new:
            found.append(self._new.popleft())
        if found:
            self._last = found[-1]
        elif self._last is not None and time.monotonic() - self._last[0] < stale:
            found = [self._last]
        return [sample for _, sample in found]


def summary(samples: Sequence[Sample], monitor: str) -> Known:
    """Make one reading of each name, and say why there is no clock where there is none.

    Args:
        samples: What the monitor said.
        monitor: The monitor's name; empty where none can be read.
    """
    if not monitor:
        return Known(absences={"gpu_clock": "no monitor that tells it can be read here."})
    if not samples:
        return Known(absences={"gpu_clock": f"{monitor} has said nothing in the meantime."})
    names = dict.fromkeys(name for one in samples for name in one)
    values = {name: [one[name] for one in samples if name in one] for name in names}
    readings = {
        name: max(found) if name in _WORST else median(found) for name, found in values.items()
    }
    if "gpu_clock" not in readings:
        return Known(readings, {"gpu_clock": f"{monitor} does not tell it."})
    clocks = [one["gpu_clock"] for one in samples if "gpu_clock" in one and _busy(one)]
    del readings["gpu_clock"]
    if not clocks:
        return Known(readings, {"gpu_clock": f"the GPU had too little to do as {monitor} looked."})
    return Known({**readings, "gpu_clock": median(clocks)})


def _busy(sample: Sample) -> bool:
    return sample.get("gpu_active", 1.0) >= BUSY
