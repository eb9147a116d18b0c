"""Read the state of the machine before and after a measurement, and in between."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Self

from tracekit.base import make_timestamp
from tracekit.machine.machine import Machine
from tracekit.machine.sampler import Beside, following
from tracekit.machine.sources import Clients, CpuTime, Taken, compute_gpu_others, load
from tracekit.machine.state import State, join_states, make_absences

# A clock counts only in samples in which the GPU worked at least this share of the time: an idle
# GPU clocks down, which shows nothing about the machine.
BUSY = 0.5

_KEPT = 4096
_WORST = {"thermal_pressure"}  # the highest counts; of all others the median does

Sample = dict[str, float]


class Samples:
    """The samples of a monitor since the last request; filled by its thread."""

    def __init__(self) -> None:
        self.ever = threading.Event()
        self._new: deque[tuple[float, Sample]] = deque(maxlen=_KEPT)
        self._last: tuple[float, Sample] | None = None

    def add(self, source: str, monitor_sample: Taken) -> None:
        """Keep a sample; `following` calls it."""
        del source
        if monitor_sample.readings:
            sample = {reading.name: reading.value for reading in monitor_sample.readings}
            self._new.append((time.monotonic(), sample))
            self.ever.set()

    def since_asked(self, stale: float) -> list[Sample]:
        """Return the new samples; if there are none, the last one if it is younger than `stale`."""
        timed_samples: list[tuple[float, Sample]] = []
        while self._new:
            timed_samples.append(self._new.popleft())
        if timed_samples:
            self._last = timed_samples[-1]
        elif self._last is not None and time.monotonic() - self._last[0] < stale:
            timed_samples = [self._last]
        return [sample for _, sample in timed_samples]


def summary(samples: Sequence[Sample], monitor: str) -> State:
    """Make one reading of each name, and a reason for a missing clock; "" means no monitor."""
    if not monitor:
        return make_absences("no monitor that tells it can be read here.", "gpu_clock")
    if not samples:
        return make_absences(f"{monitor} has said nothing in the meantime.", "gpu_clock")
    values: dict[str, list[float]] = {}
    for sample in samples:
        for name, value in sample.items():
            values.setdefault(name, []).append(value)
    readings: dict[str, float] = {}
    for name, series in values.items():
        readings[name] = max(series) if name in _WORST else median(series)
    if readings.pop("gpu_clock", None) is None:
        return State("", readings, {"gpu_clock": f"{monitor} does not tell it."})
    busy_samples = [sample for sample in samples if sample.get("gpu_active", 1.0) >= BUSY]
    clocks = [sample["gpu_clock"] for sample in busy_samples if "gpu_clock" in sample]
    if not clocks:
        reason = f"the GPU had too little to do as {monitor} looked."
        return join_states(State(readings=readings), make_absences(reason, "gpu_clock"))
    readings["gpu_clock"] = median(clocks)
    return State(readings=readings)


LOOK = 0.15  # seconds over which the share of other processes is measured

_FIRST = 2.0  # seconds for a monitor to print its first sample
_STALE = 2.0  # seconds in which a sample of a monitor still holds
_LONGEST = 86_400.0


class Watch:
    """Watches the machine through a session; a context manager.

    One monitor is read throughout, so that its clock is known within a pair and not only at its
    ends. The use by other processes is the difference of counts that the system keeps, so nothing
    else runs during a measurement.
    """

    def __init__(
        self, monitor: str = "auto", *, time_limit: float = _LONGEST, machine: Machine | None = None
    ) -> None:
        """Make a watch with a limit in seconds, and a monitor by its name for `--telemetry`."""
        self._monitor = monitor
        self._time_limit = time_limit
        self._machine = machine or Machine()
        self._stack = ExitStack()
        self._samples = Samples()
        self._beside = Beside(None, self._samples.add)
        self._ours: frozenset[int] = frozenset()
        self._last: tuple[CpuTime, Clients] | None = None

    def __enter__(self) -> Self:
        """Start the monitor."""
        reading = following(self._monitor, self._samples.add, self._time_limit, self._machine)
        self._beside = self._stack.enter_context(reading)
        return self

    def __exit__(self, *_: object) -> None:
        """End the monitor."""
        self._stack.close()

    @property
    def monitor(self) -> str:
        """The name of the monitor; empty if there is none."""
        if self._beside.monitor is None:
            return ""
        return self._beside.monitor.name

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about the monitor for the user."""
        return self._beside.remarks

    def before(self, ours: Iterable[int] = (), calibration: float | None = None) -> State:
        """Read the state over `LOOK` seconds, in which our processes should wait.

        `ours` are the pids of the measured processes; all others count as others. `calibration` is
        the nanoseconds that fixed work took just before; None without it.
        """
        self._ours = frozenset(ours)
        if self.monitor and self._last is None:
            self._samples.ever.wait(_FIRST)
        self._last = self._moment()
        time.sleep(LOOK)
        return self._state(calibration)

    def after(self, calibration: float | None = None) -> State:
        """Return the state since the last call, over at least `LOOK` seconds.

        If no processes were named as ours, as those of a traced capture cannot be, the use by
        others in between is not known; then it is measured over `LOOK` seconds from now.
        """
        if self._last is None or not self._ours:
            self._last = self._moment()
        next_look = self._last[0].moment + LOOK
        time.sleep(max(0.0, next_look - time.monotonic()))
        return self._state(calibration)

    def _state(self, calibration: float | None) -> State:
        assert self._last is not None
        cpu_time, clients = self._last
        later_cpu_time, later_clients = self._last = self._moment()
        if calibration is None:
            pace = make_absences("no fixed work was done.", "calibration")
        else:
            pace = State(readings={"calibration": calibration})
        state = self._machine.read_state()
        sensor_summary = summary(self._samples.since_asked(_STALE), self.monitor)
        load_state = load(cpu_time, later_cpu_time)
        gpu_others = compute_gpu_others(clients, later_clients, self._ours)
        return join_states(
            state,
            sensor_summary,
            load_state,
            gpu_others,
            pace,
            time=make_timestamp(),
        )

    def _moment(self) -> tuple[CpuTime, Clients]:
        return self._machine.spent(self._ours), self._machine.clients()


def look(
    ours: Iterable[int] = (),
    *,
    calibration: float | None = None,
    monitor: str = "auto",
    machine: Machine | None = None,
) -> State:
    """Read the state once, as `Watch.before` does, with a monitor that runs only for this call."""
    with Watch(monitor, time_limit=LOOK + _FIRST, machine=machine) as watch:
        return watch.before(ours, calibration)
