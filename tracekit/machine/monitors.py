"""Choose and read a monitor of clock, power, heat and memory.

ioreg: its statistics differ from chip to chip, so a missing one is normal, unless all are missing.

macmon: the fields that tracekit knows are those of version 0.8; before 0.8 the GPU was a pair,
`gpu_usage`, of its clock and the share of time in which it was active.

powermetrics: `gpu/freq_hz` holds MHz, despite its name, as far as its readers know; a number
that could only be Hz is taken as Hz. Powers are milliwatts. If only an energy is given, in
millijoules, the power is that energy over the time of the sample.
"""

import math
import plistlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ExpatError

import msgspec

from tracekit.machine.machine import Machine
from tracekit.machine.sources import SensorReading, Taken
from tracekit.machine.state import THERMAL_PRESSURES

PERIOD = 0.5  # seconds between two samples
_SLACK = 3600.0  # seconds that a recording may last beyond its time limit: start-up, saving


IOREG = "ioreg"


MACMON = "macmon"


POWERMETRICS = "powermetrics"


HOST_SENSORS = "psutil"


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _find_value(content: Any, path: str) -> Any:
    """Return the value at a path such as "gpu/freq_hz"; None if there is none."""
    for name in path.split("/"):
        if not isinstance(content, Mapping):
            return None
        content = content.get(name)
    return content


def _fields(
    source: str, content: Mapping[str, Any], fields: Iterable[tuple[str, str, str, float]]
) -> Taken:
    """Take the numbers at paths, each for a reading in a unit, times a factor."""
    readings: list[SensorReading] = []
    missing: list[str] = []
    for path, name, unit, factor in fields:
        value = _find_value(content, path)
        if is_number(value):
            readings.append(SensorReading(name, value * factor, unit))
        else:
            missing.append(path)
    if not missing:
        return Taken(tuple(readings))
    remark = f"{source}: there is no number at {', '.join(missing)}."
    return Taken(tuple(readings), (remark,))


def _report_nothing(source: str, reason: str) -> Taken:
    return Taken((), (f"{source}: {reason}",))


_REGISTRY = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "IOAccelerator")
_STATISTICS = re.compile(r'"PerformanceStatistics"\s*=\s*\{([^}]*)\}')
_ENTRY = re.compile(r'"([^"]+)"\s*=\s*(-?\d+)')
_KNOWN = {
    "Device Utilization %": ("gpu_active", "ratio", 0.01),
    "Renderer Utilization %": ("gpu_renderer_active", "ratio", 0.01),
    "Tiler Utilization %": ("gpu_tiler_active", "ratio", 0.01),
    "In use system memory": ("gpu_memory", "bytes", 1.0),
}


def read_ioreg(text: str) -> Taken:
    """Read the statistics of the busiest accelerator."""
    accelerators = [dict(_ENTRY.findall(statistics)) for statistics in _STATISTICS.findall(text)]
    if not accelerators:
        return _report_nothing(IOREG, "no accelerator has PerformanceStatistics.")
    statistics = max(accelerators, key=lambda entry: int(entry.get("Device Utilization %", -1)))
    readings: list[SensorReading] = []
    for key, (name, unit, factor) in _KNOWN.items():
        if key in statistics:
            value = int(statistics[key]) * factor
            readings.append(SensorReading(name, value, unit))
    if readings:
        return Taken(tuple(readings))
    there = ", ".join(sorted(statistics)) or "none"
    return _report_nothing(IOREG, f"none of the statistics is known; there are: {there}.")


_MACMON = (
    ("gpu_freq_mhz", "gpu_clock", "Hz", 1e6),
    ("gpu_active_ratio", "gpu_active", "ratio", 1.0),
    ("gpu_power", "gpu_power", "W", 1.0),
    ("cpu_power", "cpu_power", "W", 1.0),
    ("ram_power", "memory_power", "W", 1.0),
    ("sys_power", "system_power", "W", 1.0),
    ("temp/gpu_temp_avg", "gpu_temperature", "°C", 1.0),
    ("temp/cpu_temp_avg", "cpu_temperature", "°C", 1.0),
)


def read_macmon(line: bytes) -> Taken:
    """Read one line."""
    try:
        content = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        start = line[:60].decode(errors="replace")
        return _report_nothing(MACMON, f"a line is not a JSON object; it begins {start!r}.")
    match content.get("gpu_usage"):
        case [clock, active]:
            content = {"gpu_freq_mhz": clock, "gpu_active_ratio": active} | content
        case _:
            pass
    return _fields(MACMON, content, _MACMON)


_SURELY_HERTZ = 100_000  # no GPU runs at 100 GHz
_CPU = ("processor/cpu_power", "processor/cpu_energy")
_GPU = ("processor/gpu_power", "gpu/gpu_power", "processor/gpu_energy", "gpu/gpu_energy")
_POWERMETRICS = (
    ("clock", "gpu_clock", "Hz", 1.0),
    ("active", "gpu_active", "ratio", 1.0),
    ("gpu_power", "gpu_power", "W", 1e-3),
    ("cpu_power", "cpu_power", "W", 1e-3),
    ("processor/combined_power", "combined_power", "W", 1e-3),
    ("pressure", "thermal_pressure", "level", 1.0),
)


def read_powermetrics(document: bytes) -> Taken:
    """Read one property list, whole, with or without NULs around it."""
    try:
        stripped = document.strip(b"\0\n\r\t ")
        content: Any = plistlib.loads(stripped, fmt=plistlib.FMT_XML)
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return _report_nothing(POWERMETRICS, f"a document is not a property list: {error}.")
    if not isinstance(content, dict):
        return _report_nothing(POWERMETRICS, "a document holds no dictionary.")
    fields: dict[str, Any] = dict(content)
    fields["clock"] = _clock(_find_value(content, "gpu/freq_hz"))
    fields["active"] = _active_share(_find_value(content, "gpu/idle_ratio"))
    fields["gpu_power"] = _power(content, _GPU)
    fields["cpu_power"] = _power(content, _CPU)
    fields["pressure"] = _thermal_level(_find_value(content, "thermal_pressure"))
    return _fields(POWERMETRICS, fields, _POWERMETRICS)


def _clock(value: Any) -> float | None:
    """Return a clock in Hz."""
    if not is_number(value):
        return None
    if value >= _SURELY_HERTZ:
        return value
    return value * 1e6


def _active_share(idle: Any) -> float | None:
    if not is_number(idle):
        return None
    return 1 - idle


def _thermal_level(word: Any) -> int | None:
    if word not in THERMAL_PRESSURES:
        return None
    return THERMAL_PRESSURES.index(word)


def _power(content: Mapping[str, Any], paths: tuple[str, ...]) -> float | None:
    """Return the first power at the paths, in mW, or that of the first energy."""
    elapsed = _find_value(content, "elapsed_ns")
    for path in paths:
        value = _find_value(content, path)
        if is_number(value) and path.endswith("_power"):
            return value
        if is_number(value) and is_number(elapsed) and elapsed > 0:
            return value / (elapsed / 1e9)
    return None


@dataclass(frozen=True)
class SampleStream:
    """A program that prints samples, each terminated by `end`."""

    name: str
    command: tuple[str, ...]
    end: bytes
    read: Callable[[bytes], Taken]


@dataclass(frozen=True)
class Poll:
    """A source to read again and again."""

    name: str
    look: Callable[[], Taken]


Monitor = SampleStream | Poll


def choose(monitor_name: str, machine: Machine, time_limit: float) -> tuple[Monitor | None, str]:
    """Return the monitor to read during a recording of `time_limit` seconds, and a remark.

    `auto` is macmon if it is installed, else ioreg on a Mac, else the sensors of Linux if there
    are any, else none; powermetrics is read only if it is named. A monitor that cannot be read is
    replaced by that of `auto`, and the remark, otherwise empty, reports it.
    """
    if monitor_name == "off":
        return None, ""
    sample_count = math.ceil((time_limit + _SLACK) / PERIOD)
    able = _able(machine, sample_count)
    if monitor_name in able:
        return able[monitor_name], ""
    other_monitors = (monitor for name, monitor in able.items() if name != POWERMETRICS)
    default_monitor = next(other_monitors, None)
    if monitor_name == "auto":
        return default_monitor, ""
    substitute = "nothing"
    if default_monitor:
        substitute = default_monitor.name
    return default_monitor, f"{_obstacle(monitor_name, machine)}; {substitute} is read instead."


def _able(machine: Machine, samples: int) -> dict[str, Monitor]:
    """Return the monitors that can be read here, in the order of `auto`."""
    able: dict[str, Monitor] = {}
    interval = str(round(PERIOD * 1000))
    macmon = machine.find(MACMON)
    if macmon:
        line = (macmon, "pipe", "-s", str(samples), "-i", interval)
        able[MACMON] = SampleStream(MACMON, line, b"\n", read_macmon)
    if machine.on_mac:
        able[IOREG] = Poll(IOREG, lambda: read_ioreg(machine.text(*_REGISTRY, seconds=5.0)))
    elif machine.sensors().readings:
        able[HOST_SENSORS] = Poll(HOST_SENSORS, machine.sensors)
    if machine.root:
        powermetrics = machine.find(POWERMETRICS)
        if powermetrics:
            sampler_options = ("--samplers", "cpu_power,gpu_power,thermal", "-f", "plist")
            line = (powermetrics, *sampler_options, "-i", interval, "-n", str(samples))
            able[POWERMETRICS] = SampleStream(POWERMETRICS, line, b"</plist>", read_powermetrics)
    return able


def _obstacle(monitor_name: str, machine: Machine) -> str:
    if monitor_name == IOREG:
        return "ioreg tells of GPUs on macOS only"
    if machine.find(monitor_name) is None:
        return f"{monitor_name} is not on the PATH"
    return f"{monitor_name} needs root, which tracekit does not ask for"
