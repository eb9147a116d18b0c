"""Monitors of clock, power, heat and memory: which there are, which one to read, what each prints.

ioreg: which statistics there are differs from chip to chip, so what is not there is no surprise,
except where nothing is left.

macmon: the fields that tracekit knows are those of version 0.8; before 0.8 the GPU was a pair,
`gpu_usage`, of its clock and the share of time in which it was active.

powermetrics: `gpu/freq_hz` holds MHz, whatever its name says, as far as its readers know; a number
that could only be Hz is taken as Hz. Powers are milliwatts. Where only an energy is given, in
millijoules, the power is that energy over the time of the sample.
"""

import difflib
import math
import plistlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ExpatError

import msgspec

from tracekit.machine.machine import Machine
from tracekit.machine.sources import Reading, Taken
from tracekit.machine.state import THERMAL_PRESSURES

IOREG, MACMON, POWERMETRICS, HOST_SENSORS = "ioreg", "macmon", "powermetrics", "psutil"
PERIOD = 0.5  # seconds between two samples
_SLACK = 3600.0  # seconds that a recording may last beyond its time limit: start-up, saving


class _Sample:
    """One sample of a monitor: what is taken of it, and what it lacks."""

    def __init__(self, source: str, content: Mapping[str, Any]) -> None:
        self._source, self._content = source, content
        self._readings: list[Reading] = []
        self._remarks: list[str] = []

    @property
    def taken(self) -> Taken:
        return Taken(tuple(self._readings), tuple(self._remarks))

    def add(self, name: str, value: float, unit: str) -> None:
        self._readings.append(Reading(name, value, unit))

    def remark(self, words: str) -> None:
        self._remarks.append(f"{self._source}: {words}")

    def number(self, path: str) -> float | None:
        """Return the number at a path such as "gpu/freq_hz"; None, with a remark, without one."""
        value = self.at(path)
        if is_number(value):
            return float(value)
        self.absent(path)
        return None

    def field(self, path: str, name: str, unit: str, factor: float = 1.0) -> None:
        """Take the number at a path for a reading."""
        value = self.number(path)
        if value is not None:
            self.add(name, value * factor, unit)

    def at(self, path: str) -> Any:
        """Return what stands at a path; None where there is nothing."""
        found: Any = self._content
        for name in path.split("/") if path else ():
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def absent(self, path: str) -> None:
        """Remark that a field is not there, and what stands in its place that is called alike."""
        parent, _, name = path.rpartition("/")
        siblings: Any = self.at(parent)
        names = [str(sibling) for sibling in siblings] if isinstance(siblings, Mapping) else []
        if name in names:
            self.remark(f"the field {path} holds no number.")
            return
        near = difflib.get_close_matches(name, names, n=3)
        instead = f"; near it are {', '.join(near)}" if near else ""
        self.remark(f"there is no field {path}{instead}.")


def is_number(value: Any) -> bool:
    """Tell whether it is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _nothing(source: str, why: str) -> Taken:
    return Taken((), (f"{source}: {why}",))


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
    """Read the statistics of the accelerators; of several, the busiest one's."""
    found = [dict(_ENTRY.findall(statistics)) for statistics in _STATISTICS.findall(text)]
    if not found:
        return _nothing(IOREG, "no accelerator has PerformanceStatistics.")
    statistics = max(found, key=lambda entry: int(entry.get("Device Utilization %", -1)))
    readings = tuple(
        Reading(name, int(statistics[key]) * factor, unit)
        for key, (name, unit, factor) in _KNOWN.items()
        if key in statistics
    )
    if readings:
        return Taken(readings)
    there = ", ".join(sorted(statistics)) or "none"
    return _nothing(IOREG, f"none of the statistics is known; there are: {there}.")


_FIELDS = (
    ("gpu_power", "gpu_power", "W"),
    ("cpu_power", "cpu_power", "W"),
    ("ram_power", "memory_power", "W"),
    ("sys_power", "system_power", "W"),
    ("temp/gpu_temp_avg", "gpu_temperature", "°C"),
    ("temp/cpu_temp_avg", "cpu_temperature", "°C"),
)
_CLOCK, _ACTIVE, _PAIR = "gpu_freq_mhz", "gpu_active_ratio", "gpu_usage"


def read_macmon(line: bytes) -> Taken:
    """Read one line."""
    try:
        content = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        start = line[:60].decode(errors="replace")
        return _nothing(MACMON, f"a line is no object of JSON; it begins {start!r}.")
    sample = _Sample(MACMON, content)
    if {_CLOCK, _ACTIVE}.isdisjoint(content) and _PAIR in content:
        match content[_PAIR]:
            case [clock, active] if is_number(clock) and is_number(active):
                sample.add("gpu_clock", clock * 1e6, "Hz")
                sample.add("gpu_active", float(active), "ratio")
            case _:
                sample.absent(_PAIR)
    else:
        sample.field(_CLOCK, "gpu_clock", "Hz", 1e6)
        sample.field(_ACTIVE, "gpu_active", "ratio")
    for path, name, unit in _FIELDS:
        sample.field(path, name, unit)
    return sample.taken


_SURELY_HERTZ = 100_000  # no GPU runs at 100 GHz
_CPU = ("processor/cpu_power", "processor/cpu_energy")
_GPU = ("processor/gpu_power", "gpu/gpu_power", "processor/gpu_energy", "gpu/gpu_energy")


def read_powermetrics(document: bytes) -> Taken:
    """Read one property list, whole, with NULs around it or not."""
    try:
        content: Any = plistlib.loads(document.strip(b"\0\n\r\t "), fmt=plistlib.FMT_XML)
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return _nothing(POWERMETRICS, f"a document is no property list: {error}.")
    if not isinstance(content, dict):
        return _nothing(POWERMETRICS, "a document holds no dictionary.")
    sample = _Sample(POWERMETRICS, content)
    if (clock := sample.number("gpu/freq_hz")) is not None:
        sample.add("gpu_clock", clock * (1 if clock >= _SURELY_HERTZ else 1e6), "Hz")
    if (idle := sample.number("gpu/idle_ratio")) is not None:
        sample.add("gpu_active", 1 - idle, "ratio")
    _power(sample, "gpu_power", _GPU)
    _power(sample, "cpu_power", _CPU)
    sample.field("processor/combined_power", "combined_power", "W", 1e-3)
    word = sample.at("thermal_pressure")
    if word is None:
        sample.absent("thermal_pressure")
    elif word in THERMAL_PRESSURES:
        sample.add("thermal_pressure", float(THERMAL_PRESSURES.index(word)), "level")
    else:
        known = ", ".join(THERMAL_PRESSURES)
        sample.remark(f"the thermal pressure {word!r} is none of {known}.")
    return sample.taken


def _power(sample: _Sample, name: str, paths: tuple[str, ...]) -> None:
    elapsed = sample.at("elapsed_ns")
    for path in paths:
        value = sample.at(path)
        if not is_number(value):
            continue
        if path.endswith("_power"):
            sample.add(name, value / 1e3, "W")
            return
        if is_number(elapsed) and elapsed > 0:
            sample.add(name, value / 1e3 / (elapsed / 1e9), "W")
            return
    sample.absent(paths[0])


@dataclass(frozen=True)
class Stream:
    """A program that prints samples, each one ended by `end`."""

    name: str
    command: tuple[str, ...]
    end: bytes
    read: Callable[[bytes], Taken]


@dataclass(frozen=True)
class Poll:
    """Something to look at again and again."""

    name: str
    look: Callable[[], Taken]


Monitor = Stream | Poll


def choose(wanted: str, machine: Machine, time_limit: float) -> tuple[Monitor | None, str]:
    """Return the monitor to read during a recording of so many seconds.

    `auto` is macmon where it is installed, else ioreg on a Mac, else the sensors of Linux where
    there are any, else none; powermetrics only where it is asked for by name. In place of one that
    cannot be read comes what `auto` would be, and a remark, else empty, that says so.
    """
    if wanted == "off":
        return None, ""
    able = _able(machine, math.ceil((time_limit + _SLACK) / PERIOD))
    if wanted in able:
        return able[wanted], ""
    usual = next((one for name, one in able.items() if name != POWERMETRICS), None)
    if wanted == "auto":
        return usual, ""
    taken = f"{usual.name} is read instead" if usual else "nothing is read instead"
    return usual, f"{_obstacle(wanted, machine)}; {taken}."


def _able(machine: Machine, samples: int) -> dict[str, Monitor]:
    """Return the monitors that can be read here, in the order of `auto`."""
    able: dict[str, Monitor] = {}
    interval = str(round(PERIOD * 1000))
    if program := machine.find(MACMON):
        line = (program, "pipe", "-s", str(samples), "-i", interval)
        able[MACMON] = Stream(MACMON, line, b"\n", read_macmon)
    if machine.on_mac:
        able[IOREG] = Poll(IOREG, lambda: read_ioreg(machine.text(*_REGISTRY, seconds=5.0)))
    elif machine.sensors().readings:
        able[HOST_SENSORS] = Poll(HOST_SENSORS, machine.sensors)
    if machine.root and (program := machine.find(POWERMETRICS)):
        what = ("--samplers", "cpu_power,gpu_power,thermal", "-f", "plist")
        line = (program, *what, "-i", interval, "-n", str(samples))
        able[POWERMETRICS] = Stream(POWERMETRICS, line, b"</plist>", read_powermetrics)
    return able


def _obstacle(wanted: str, machine: Machine) -> str:
    if wanted == IOREG:
        return "ioreg tells of GPUs on macOS only"
    if machine.find(wanted) is None:
        return f"{wanted} is not on the PATH"
    return f"{wanted} needs root, which tracekit does not ask for"
