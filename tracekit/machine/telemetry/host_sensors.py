"""Reads the CPU's clock and temperature where Linux tells them; in a virtual machine it does not.

Without the kernel's cpufreq there is only the nominal clock of /proc/cpuinfo, which never
changes; that is no reading.
"""

from pathlib import Path

import psutil

from tracekit.machine.telemetry.reading import Reading, Taken

HOST_SENSORS = "psutil"

_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "acpitz")


def read_host_sensors(cpufreq: Path = _CPUFREQ) -> Taken:
    """Read what there is: the mean clock of the cores, and the hottest sensor of the CPU."""
    readings: list[Reading] = []
    clock = psutil.cpu_freq() if cpufreq.is_dir() else None
    if clock is not None and clock.current:
        readings.append(Reading("cpu_clock", clock.current * 1e6, "Hz"))
    hottest = _hottest()
    if hottest is not None:
        readings.append(Reading("cpu_temperature", hottest, "°C"))
    return Taken(tuple(readings))


def _hottest() -> float | None:
    if not hasattr(psutil, "sensors_temperatures"):
        return None
    sensors = psutil.sensors_temperatures()
    for name in _CPU_SENSORS:
        degrees = [one.current for one in sensors.get(name, ()) if one.current]
        if degrees:
            return float(max(degrees))
    return None
