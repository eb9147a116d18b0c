"""Reads `macmon pipe`: one object of JSON a line, clocks in MHz, powers in watts, no root.

Fields that tracekit knows are those of macmon 0.8; before 0.8 the GPU was a pair, `gpu_usage`,
of its clock and the share of time in which it was active.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tracekit.machine.telemetry.reading import (
    Field,
    Reading,
    Taken,
    absent,
    is_number,
    take,
    together,
)

MACMON = "macmon"
MACMON_END = b"\n"

_FIELDS = (
    Field("gpu_power", "gpu_power", "W"),
    Field("cpu_power", "cpu_power", "W"),
    Field("ram_power", "memory_power", "W"),
    Field("sys_power", "system_power", "W"),
    Field("temp/gpu_temp_avg", "gpu_temperature", "°C"),
    Field("temp/cpu_temp_avg", "cpu_temperature", "°C"),
)
_GPU = (
    Field("gpu_freq_mhz", "gpu_clock", "Hz", 1e6),
    Field("gpu_active_ratio", "gpu_active", "ratio"),
)
_PAIR = "gpu_usage"


def macmon_command(program: str, interval: int, samples: int) -> tuple[str, ...]:
    """Return the command line that prints so many samples, one every `interval` milliseconds."""
    return (program, "pipe", "-s", str(samples), "-i", str(interval))


def read_macmon(line: bytes) -> Taken:
    """Read one line."""
    try:
        sample = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        start = line[:60].decode(errors="replace")
        return Taken((), (f"{MACMON}: a line is no object of JSON; it begins {start!r}.",))
    return together(_gpu(sample), take(MACMON, sample, _FIELDS))


def _gpu(sample: Mapping[str, Any]) -> Taken:
    if any(one.path in sample for one in _GPU) or _PAIR not in sample:
        return take(MACMON, sample, _GPU)
    match sample[_PAIR]:
        case [clock, active] if is_number(clock) and is_number(active):
            clocked = Reading("gpu_clock", clock * 1e6, "Hz")
            return Taken((clocked, Reading("gpu_active", float(active), "ratio")))
        case _:
            return Taken((), (absent(MACMON, _PAIR, sample),))
