"""Clock, power, heat and memory, read beside a recording by what the machine has for it."""

from tracekit.telemetry.monitors import MONITORS, Machine
from tracekit.telemetry.reading import THERMAL_PRESSURES
from tracekit.telemetry.sampler import Beside, beside, following

__all__ = ["MONITORS", "THERMAL_PRESSURES", "Beside", "Machine", "beside", "following"]
