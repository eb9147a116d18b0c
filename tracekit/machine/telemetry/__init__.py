"""Clock, power, heat and memory, read beside a recording by what the machine has for it."""

from tracekit.machine.telemetry.monitors import MONITORS, Machine
from tracekit.machine.telemetry.reading import THERMAL_PRESSURES
from tracekit.machine.telemetry.sampler import Beside, following

__all__ = ["MONITORS", "THERMAL_PRESSURES", "Beside", "Machine", "following"]
