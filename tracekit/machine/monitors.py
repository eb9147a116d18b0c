"""Monitors of clock, power, heat and memory: which there are, which one to read, what each prints.

Host sensors: without the kernel's cpufreq there is only the nominal clock of /proc/cpuinfo, which
never changes; that is no reading.

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
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

import msgspec
import psutil

if TYPE_CHECKING:
    from tracekit.machine.machine import Machine

# From cool to stopped, as macOS calls them; a gauge holds the place in this list.
THERMAL_PRESSURES = ("Nominal", "Light", "Moderate", "Heavy", "Trapping", "Sleeping")


@dataclass(frozen=True)
class Reading:
    """One number: what it is of, and its unit.

    Names: `gpu_clock` (Hz), `gpu_active` (ratio), `gpu_power`, `cpu_power`, `memory_power`,
    `system_power`, `combined_power` (W), `gpu_temperature`, `cpu_temperature` (°C), `gpu_memory`
    (bytes), `cpu_clock` (Hz), `thermal_pressure` (place in `THERMAL_PRESSURES`).
    """

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Taken:
    """All that one sample of a monitor says; `remarks` tell what could not be understood."""

    readings: tuple[Reading, ...] = ()
    remarks: tuple[str, ...] = ()


class _Sample:
    """One sample of a monitor: what is taken of it, and what it lacks."""

    def __init__(self, source: str, content: Mapping[str, Any]) -> None:
        self._source, self._content = source, content
        self._readings: list[Reading] = []
        self._remarks: list[str] = []

    @property
    def taken(self) -> Taken:
        """All that was taken."""
        return Taken(tuple(self._readings), tuple(self._remarks))

    def add(self, name: str, value: float, unit: str) -> None:
        """Add a reading."""
        self._readings.append(Reading(name, value, unit))

    def remark(self, words: str) -> None:
        """Add what could not be understood."""
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
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    )


def _nothing(source: str, why: str) -> Taken:
    return Taken((), (f"{source}: {why}",))


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
        degrees = [sensor.current for sensor in sensors.get(name, ()) if sensor.current]
        if degrees:
            return float(max(degrees))
    return None


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


MACMON = "macmon"
MACMON_END = b"\n"

_FIELDS = (
    ("gpu_power", "gpu_power", "W"),
    ("cpu_power", "cpu_power", "W"),
    ("ram_power", "memory_power", "W"),
    ("sys_power", "system_power", "W"),
    ("temp/gpu_temp_avg", "gpu_temperature", "°C"),
    ("temp/cpu_temp_avg", "cpu_temperature", "°C"),
)
_CLOCK, _ACTIVE, _PAIR = "gpu_freq_mhz", "gpu_active_ratio", "gpu_usage"


def macmon_command(program: str, interval: int, samples: int) -> tuple[str, ...]:
    """Return the command line that prints so many samples, one every `interval` milliseconds."""
    return (program, "pipe", "-s", str(samples), "-i", str(interval))


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


POWERMETRICS = "powermetrics"
POWERMETRICS_END = b"</plist>"

_SAMPLERS = "cpu_power,gpu_power,thermal"
_SURELY_HERTZ = 100_000  # no GPU runs at 100 GHz
_CPU = ("processor/cpu_power", "processor/cpu_energy")
_GPU = ("processor/gpu_power", "gpu/gpu_power", "processor/gpu_energy", "gpu/gpu_energy")


def powermetrics_command(program: str, interval: int, samples: int) -> tuple[str, ...]:
    """Return the command line that prints so many samples, one every `interval` milliseconds."""
    count = ("-i", str(interval), "-n", str(samples))
    return (program, "--samplers", _SAMPLERS, "-f", "plist", *count)


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


MONITORS = ("auto", "macmon", "powermetrics", "ioreg", "off")
PERIOD = 0.5  # seconds between two samples

_SLACK = 3600.0  # seconds that a recording may last beyond its time limit: start-up, saving
_PATIENCE = 5.0


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


@dataclass(frozen=True)
class Choice:
    """The monitor to read, None for none; `remarks` say why it is not the one asked for."""

    monitor: Monitor | None = None
    remarks: tuple[str, ...] = ()


def choose(wanted: str, machine: "Machine", time_limit: float) -> Choice:
    """Return the monitor to read during a recording of so many seconds.

    `auto` is macmon where it is installed, else ioreg on a Mac, else the sensors of Linux where
    there are any, else none. In place of one that was asked for by name and cannot be read comes
    what `auto` would be, and a remark says so.
    """
    if wanted == "off":
        return Choice()
    samples = math.ceil((time_limit + _SLACK) / PERIOD)
    able = _able(machine, samples)
    if wanted == "auto":
        return Choice(_first(able))
    if wanted in able:
        return Choice(able[wanted]())
    instead = _first(able)
    taken = f"{instead.name} is read instead" if instead else "nothing is read instead"
    return Choice(instead, (f"{_obstacle(wanted, machine)}; {taken}.",))


def _able(machine: "Machine", samples: int) -> dict[str, Callable[[], Monitor]]:
    """Return how to make each monitor that can be read here, in the order of `auto`."""
    able: dict[str, Callable[[], Monitor]] = {}
    interval = round(PERIOD * 1000)
    program = machine.find(MACMON)
    if program:
        line = macmon_command(program, interval, samples)
        able[MACMON] = partial(Stream, MACMON, line, MACMON_END, read_macmon)
    if machine.system == "Darwin":
        able[IOREG] = partial(Poll, IOREG, _registry)
    elif machine.sensors().readings:
        able[HOST_SENSORS] = partial(Poll, HOST_SENSORS, machine.sensors)
    program = machine.find(POWERMETRICS)
    if program and machine.root:
        line = powermetrics_command(program, interval, samples)
        able[POWERMETRICS] = partial(
            Stream,
            POWERMETRICS,
            line,
            POWERMETRICS_END,
            read_powermetrics,
        )
    return able


def _first(able: dict[str, Callable[[], Monitor]]) -> Monitor | None:
    return next((make() for name, make in able.items() if name != POWERMETRICS), None)


def _obstacle(wanted: str, machine: "Machine") -> str:
    if wanted == IOREG:
        return "ioreg tells of GPUs on macOS only"
    if machine.find(wanted) is None:
        return f"{wanted} is not on the PATH"
    return f"{wanted} needs root, which tracekit does not ask for"


def _registry() -> Taken:
    try:
        done = subprocess.run(
            COMMAND,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError) as error:
        return _nothing(IOREG, f"{error}.")
    return read_ioreg(done.stdout)
