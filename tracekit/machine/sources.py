"""The state of a machine, as its parts say it: power, heat, load, other processes on the GPU.

Each user of the GPU has entries of the class AGXDeviceUserClient in the I/O registry, with its
pid in IOUserClientCreator and its time so far in AppUsage. Apple does not document them; what
does not look so is no reading. No root is needed.

The levels of thermal pressure are those of <libkern/OSThermalNotification.h> on macOS;
powermetrics calls them by the same names.

Without the kernel's cpufreq there is only the nominal clock of /proc/cpuinfo, which never changes;
that is no reading.
"""

import ctypes
import ctypes.util
import os
import plistlib
import re
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import msgspec
import psutil

from tracekit.machine.state import THERMAL_PRESSURES, State, join_states, make_absences


@dataclass(frozen=True)
class SensorReading:
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

    readings: tuple[SensorReading, ...] = ()
    remarks: tuple[str, ...] = ()


_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "acpitz")


def read_host_sensors(cpufreq: Path = _CPUFREQ) -> Taken:
    """Read what there is: the mean clock of the cores, and the hottest sensor of the CPU."""
    readings: list[SensorReading] = []
    clock = psutil.cpu_freq() if cpufreq.is_dir() else None
    if clock is not None and clock.current:
        readings.append(SensorReading("cpu_clock", clock.current * 1e6, "Hz"))
    hottest = _hottest()
    if hottest is not None:
        readings.append(SensorReading("cpu_temperature", hottest, "°C"))
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


IOREG_COMMAND = ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "AGXDeviceUserClient")

_CREATOR = re.compile(r"pid (\d+)\b")


class _Use(msgspec.Struct, rename={"time": "accumulatedGPUTime"}):
    time: int


class _ClientEntry(
    msgspec.Struct,
    rename={"number": "IORegistryEntryID", "creator": "IOUserClientCreator", "uses": "AppUsage"},
):
    number: int
    creator: str
    uses: list[_Use]


@dataclass(frozen=True)
class Clients:
    """All users of the GPU at a moment; `reason` says why there are none.

    `moment` is seconds of the monotonic clock. `by_entry` has, by the entry's id, the pid of a user
    and the time that it has had so far, in ns.
    """

    moment: float
    by_entry: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    reason: str = ""


def read(printed: bytes, moment: float) -> Clients:
    """Read the property list that `IOREG_COMMAND` prints."""
    try:
        clients: Any = plistlib.loads(printed.strip()) if printed.strip() else []
    except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
        return Clients(moment, reason=f"ioreg prints no property list: {error}.")
    by_entry: dict[int, tuple[int, int]] = {}
    for client in clients if isinstance(clients, list) else ():
        with suppress(msgspec.ValidationError):
            entry = msgspec.convert(client, _ClientEntry)
            if who := _CREATOR.match(entry.creator):
                had = sum(use.time for use in entry.uses)
                by_entry[entry.number] = int(who[1]), had
    reason = "" if by_entry else "ioreg: no entry names a process and its time on the GPU."
    return Clients(moment, by_entry, reason)


def compute_gpu_others(earlier_clients: Clients, later: Clients, ours: Collection[int]) -> State:
    """Return `gpu_others`: the GPU's time that went to processes that are not ours, as a ratio.

    A client that has ended since takes its count with it, so what it had is not known.
    """
    reason = earlier_clients.reason or later.reason
    elapsed = (later.moment - earlier_clients.moment) * 1e9
    if reason or elapsed <= 0:
        return make_absences(reason or "no time passed between two looks.", "gpu_others")
    other_time = 0
    for entry, (pid, time_so_far) in later.by_entry.items():
        whose, then = earlier_clients.by_entry.get(entry, (pid, 0))
        other_time += max(0, time_so_far - then * (whose == pid)) if pid not in ours else 0
    return State(readings={"gpu_others": other_time / elapsed})


PMSET_COMMAND = ("/usr/bin/pmset", "-g")
PROFILE = Path("/sys/firmware/acpi/platform_profile")

# `pmset -g` says lowpowermode, or powermode on Macs that have a high power mode as well.
_MODE = re.compile(r"^\s*(lowpowermode|powermode)\s+(\S+)\s*$", re.MULTILINE)
_LOW_PROFILE = "low-power"


def source(battery: Callable[[], Any]) -> State:
    """Return `mains` and `battery`, from what psutil says of the battery."""
    battery_info = battery()
    if battery_info is None:
        return make_absences("the system tells of no battery.", "mains", "battery")
    charge = State(readings={"battery": min(1.0, max(0.0, battery_info.percent / 100))})
    if battery_info.power_plugged is None:
        return join_states(
            charge, make_absences("the system does not say whether it is plugged in.", "mains")
        )
    return join_states(charge, State(readings={"mains": float(bool(battery_info.power_plugged))}))


def low_power_of_mac(printed: str) -> State:
    """Return `low_power`, from the settings in use that `pmset -g` prints."""
    mode = _MODE.search(printed)
    if mode is None or mode[2] not in {"0", "1", "2"}:
        return make_absences("`pmset -g` names no power mode that is known.", "low_power")
    return State(readings={"low_power": float(mode[2] == "1")})


def low_power_of_linux(profile: Path) -> State:
    """Return `low_power`, from the platform profile of Linux."""
    try:
        word = profile.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return make_absences("this Linux has no platform profile.", "low_power")
    return State(readings={"low_power": float(word == _LOW_PROFILE)})


_NAME = b"com.apple.system.thermalpressurelevel"
_LEVELS = ("Nominal", "Moderate", "Heavy", "Trapping", "Sleeping")
_OK = 0  # NOTIFY_STATUS_OK


def ask() -> int | None:
    """Ask macOS for the level; None where it does not answer."""
    with suppress(OSError, AttributeError, TypeError):
        system = ctypes.CDLL(ctypes.util.find_library("System"))
        token, level = ctypes.c_int(), ctypes.c_uint64()
        if system.notify_register_check(_NAME, ctypes.byref(token)) != _OK:
            return None
        answer = system.notify_get_state(token, ctypes.byref(level))
        system.notify_cancel(token)
        return int(level.value) if answer == _OK else None
    return None


def pressure(level: int | None) -> State:
    """Return `thermal_pressure`: the place of macOS's level in `THERMAL_PRESSURES`."""
    if level is None:
        return make_absences(
            "macOS does not answer what its thermal pressure is.", "thermal_pressure"
        )
    if not 0 <= level < len(_LEVELS):
        return make_absences(
            f"macOS says its thermal pressure is {level}, which tracekit does not know.",
            "thermal_pressure",
        )
    return State(readings={"thermal_pressure": float(THERMAL_PRESSURES.index(_LEVELS[level]))})


_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")  # they are in user and nice as well


@dataclass(frozen=True)
class CpuTime:
    """CPU time up to a moment, in seconds."""

    moment: float  # the moment, of the monotonic clock
    busy: float  # what all CPUs worked, and what a hypervisor took away from them
    idle: float  # what they waited
    # what each of our processes worked, by pid; gone ones are not in it
    ours: dict[int, float] = field(default_factory=dict[int, float])
    children_time: float = 0.0  # what those of our children worked that have ended


def spent(pids: Iterable[int]) -> CpuTime:
    """Read what was worked so far; `pids` and this process are ours."""
    times = psutil.cpu_times()._asdict()
    idle = sum(times.get(name, 0.0) for name in _IDLE)
    twice = sum(times.get(name, 0.0) for name in _COUNTED_TWICE)
    children = os.times()
    return CpuTime(
        time.monotonic(),
        sum(times.values()) - idle - twice,
        idle,
        {
            pid: worked
            for pid in {*pids, os.getpid()}
            if (worked := _read_process_time(pid)) is not None
        },
        children.children_user + children.children_system,
    )


def load(earlier_count: CpuTime, later: CpuTime) -> State:
    """Return `load`: the share of all cores' time that went to processes that are not ours.

    Both counts tick in hundredths of a second, so over 0.15 s on two cores it is exact to about
    0.03. A process of ours that has ended since counts by what it had worked when it ended, if
    it was a child of this one.
    """
    busy, idle = later.busy - earlier_count.busy, later.idle - earlier_count.idle
    if busy + idle <= 0:
        return make_absences("the system's count of CPU time stands still.", "load")
    return State(
        readings={
            "load": min(1.0, max(0.0, busy - worked_by(earlier_count, later)) / (busy + idle))
        }
    )


def worked_by(earlier_count: CpuTime, later: CpuTime) -> float:
    """Return what our processes worked between two counts, in seconds."""
    living = sum(worked - earlier_count.ours.get(pid, 0.0) for pid, worked in later.ours.items())
    gone_time = sum(worked for pid, worked in earlier_count.ours.items() if pid not in later.ours)
    return max(0.0, living) + max(
        0.0, later.children_time - earlier_count.children_time - gone_time
    )


def _read_process_time(pid: int) -> float | None:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return times.user + times.system
    return None
