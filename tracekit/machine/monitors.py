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
from collections.abc import Callable, Iterable, Mapping
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


@dataclass(frozen=True)
class Field:
    """A field of a monitor's sample: its path, and the reading that is made of it."""

    path: str
    name: str
    unit: str
    factor: float = 1.0


def take(source: str, sample: Mapping[str, Any], fields: Iterable[Field]) -> Taken:
    """Read the fields of a sample; one that is not there, or no number, becomes a remark."""
    readings: list[Reading] = []
    remarks: list[str] = []
    for one in fields:
        value = at_path(sample, one.path)
        if is_number(value):
            readings.append(Reading(one.name, float(value) * one.factor, one.unit))
        else:
            remarks.append(absent(source, one.path, sample))
    return Taken(tuple(readings), tuple(remarks))


def absent(source: str, path: str, sample: Mapping[str, Any]) -> str:
    """Say that a field is not there, and what stands in its place that is called alike."""
    parent, _, name = path.rpartition("/")
    beside: Any = at_path(sample, parent) if parent else sample
    names = [str(one) for one in beside] if isinstance(beside, Mapping) else []
    if name in names:
        return f"{source}: the field {path} holds no number."
    near = difflib.get_close_matches(name, names, n=3)
    instead = f"; near it are {', '.join(near)}" if near else ""
    return f"{source}: there is no field {path}{instead}."


def at_path(sample: Any, path: str) -> Any:
    """Return what stands at a path such as "gpu/freq_hz"; None where there is nothing."""
    for name in path.split("/"):
        if not isinstance(sample, Mapping):
            return None
        sample = sample.get(name)
    return sample


def is_number(value: Any) -> bool:
    """Tell whether it is a finite number, and no truth value."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    )


def thermal_pressure(source: str, word: Any) -> Taken:
    """Read the name of a thermal pressure."""
    if word in THERMAL_PRESSURES:
        place = THERMAL_PRESSURES.index(word)
        return Taken((Reading("thermal_pressure", float(place), "level"),))
    known = ", ".join(THERMAL_PRESSURES)
    return Taken((), (f"{source}: the thermal pressure {word!r} is none of {known}.",))


def together(*parts: Taken) -> Taken:
    """Join what was taken of one sample."""
    return Taken(
        tuple(reading for part in parts for reading in part.readings),
        tuple(remark for part in parts for remark in part.remarks),
    )


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


POWERMETRICS = "powermetrics"
POWERMETRICS_END = b"</plist>"

_SAMPLERS = "cpu_power,gpu_power,thermal"
_SURELY_HERTZ = 100_000  # no GPU runs at 100 GHz
_COMBINED = Field("processor/combined_power", "combined_power", "W", 1e-3)
_CPU = ("processor/cpu_power", "processor/cpu_energy")
_GPU_POWERMETRICS = (
    "processor/gpu_power",
    "gpu/gpu_power",
    "processor/gpu_energy",
    "gpu/gpu_energy",
)


def powermetrics_command(program: str, interval: int, samples: int) -> tuple[str, ...]:
    """Return the command line that prints so many samples, one every `interval` milliseconds."""
    count = ("-i", str(interval), "-n", str(samples))
    return (program, "--samplers", _SAMPLERS, "-f", "plist", *count)


def read_powermetrics(document: bytes) -> Taken:
    """Read one property list, whole, with NULs around it or not."""
    try:
        sample: Any = plistlib.loads(document.strip(b"\0\n\r\t "), fmt=plistlib.FMT_XML)
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return Taken((), (f"{POWERMETRICS}: a document is no property list: {error}.",))
    if not isinstance(sample, dict):
        return Taken((), (f"{POWERMETRICS}: a document holds no dictionary.",))
    known: Mapping[str, Any] = sample
    return together(
        _clock(known),
        _active(known),
        _power(known, "gpu_power", _GPU_POWERMETRICS),
        _power(known, "cpu_power", _CPU),
        take(POWERMETRICS, known, (_COMBINED,)),
        _thermal(known),
    )


def _clock(sample: Mapping[str, Any]) -> Taken:
    value = at_path(sample, "gpu/freq_hz")
    if not is_number(value):
        return Taken((), (absent(POWERMETRICS, "gpu/freq_hz", sample),))
    return Taken((Reading("gpu_clock", value * (1 if value >= _SURELY_HERTZ else 1e6), "Hz"),))


def _active(sample: Mapping[str, Any]) -> Taken:
    idle = at_path(sample, "gpu/idle_ratio")
    if not is_number(idle):
        return Taken((), (absent(POWERMETRICS, "gpu/idle_ratio", sample),))
    return Taken((Reading("gpu_active", 1 - idle, "ratio"),))


def _power(sample: Mapping[str, Any], name: str, paths: tuple[str, ...]) -> Taken:
    elapsed = at_path(sample, "elapsed_ns")
    for path in paths:
        value = at_path(sample, path)
        if not is_number(value):
            continue
        if path.endswith("_power"):
            return Taken((Reading(name, value / 1e3, "W"),))
        if is_number(elapsed) and elapsed > 0:
            return Taken((Reading(name, value / 1e3 / (elapsed / 1e9), "W"),))
    return Taken((), (absent(POWERMETRICS, paths[0], sample),))


def _thermal(sample: Mapping[str, Any]) -> Taken:
    word = sample.get("thermal_pressure")
    if word is None:
        return Taken((), (absent(POWERMETRICS, "thermal_pressure", sample),))
    return thermal_pressure(POWERMETRICS, word)


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
        return Taken((), (f"{IOREG}: {error}.",))
    return read_ioreg(done.stdout)
