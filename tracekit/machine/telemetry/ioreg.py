"""Reads what `ioreg` prints of the GPU: how busy it is, and the memory that it uses. No root.

Which statistics there are differs from chip to chip, so what is not there is no surprise, except
where nothing is left.
"""

import re

from tracekit.machine.telemetry.reading import Reading, Taken

IOREG = "ioreg"
COMMAND = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator")

_STATISTICS = re.compile(r'"PerformanceStatistics"\s*=\s*\{([^}]*)\}')
_ENTRY = re.compile(r'"([^"]+)"\s*=\s*(-?\d+)')
_KNOWN = {
    "Device Utilization %": ("gpu_active", "ratio", 0.01),
    "Renderer Utilization %": ("gpu_renderer_active", "ratio", 0.01),
    "Tiler Utilization %": ("gpu_tiler_active", "ratio", 0.01),
    "In use system memory": ("gpu_memory", "bytes", 1.0),
}


def read_ioreg(text: str) -> Taken:
    """Read the statistics of the accelerators; of several, the busiest one's."""
    found = [dict(_ENTRY.findall(one)) for one in _STATISTICS.findall(text)]
    if not found:
        return Taken((), (f"{IOREG}: no accelerator has PerformanceStatistics.",))
    statistics = max(found, key=lambda one: int(one.get("Device Utilization %", -1)))
    readings = tuple(
        Reading(name, int(statistics[key]) * factor, unit)
        for key, (name, unit, factor) in _KNOWN.items()
        if key in statistics
    )
    if readings:
        return Taken(readings)
    there = ", ".join(sorted(statistics)) or "none"
    return Taken((), (f"{IOREG}: none of the statistics is known; there are: {there}.",))
