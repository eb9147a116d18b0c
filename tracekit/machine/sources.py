"""Read the state of a machine from its parts: power, heat, load, other processes on the GPU.

Each user of the GPU has entries of the class AGXDeviceUserClient in the I/O registry, with its
pid in IOUserClientCreator and its time so far in AppUsage. Apple does not document them; an entry
of another form is not a reading. No root is needed.

The levels of thermal pressure are those of <libkern/OSThermalNotification.h> on macOS;
powermetrics calls them by the same names.

Without the kernel's cpufreq there is only the nominal clock of /proc/cpuinfo, which never changes;
it is not a reading.
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
    """One number: its name, and its unit.

    Names: `gpu_clock` (Hz), `gpu_active` (ratio), `gpu_power`, `cpu_power`, `memory_power`,
    `system_power`, `combined_power` (W), `gpu_temperature`, `cpu_temperature` (°C), `gpu_memory`
    (bytes), `cpu_clock` (Hz), `thermal_pressure` (place in `THERMAL_PRESSURES`).
    """

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Taken:
    """The content of one sample of a monitor; `remarks` describe the parts not understood."""

    readings: tuple[SensorReading, ...] = ()
    remarks: tuple[str, ...] = ()


_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "acpitz")


def read_host_sensors(cpufreq: Path = _CPUFREQ) -> Taken:
    """Read the mean clock of the cores, and the hottest sensor of the CPU, if there are any."""
    readings: list[SensorReading] = []
    if cpufreq.is_dir():
        clock: Any = psutil.cpu_freq()  # None if the system has no clock
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
    """All users of the GPU at a moment; `reason` explains why there are none.

    `moment` is seconds of the monotonic clock. `by_entry` has, by the entry's id, the pid of a user
    and its time so far, in ns.
    """

    moment: float
    by_entry: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    reason: str = ""


def read(printed: bytes, moment: float) -> Clients:
    """Read the property list that `IOREG_COMMAND` prints."""
    content = printed.strip()
    clients: Any = []
    if content:
        try:
            clients = plistlib.loads(content)
        except (plistlib.InvalidFileException, ExpatError, ValueError, LookupError) as error:
            return Clients(moment, reason=f"ioreg prints no property list: {error}.")
    if not isinstance(clients, list):
        clients = []
    by_entry: dict[int, tuple[int, int]] = {}
    for client in clients:
        with suppress(msgspec.ValidationError):
            entry = msgspec.convert(client, _ClientEntry)
            creator = _CREATOR.match(entry.creator)
            if creator:
                time_so_far = sum(use.time for use in entry.uses)
                by_entry[entry.number] = (int(creator[1]), time_so_far)
    if not by_entry:
        reason = "ioreg: no entry names a process and its time on the GPU."
        return Clients(moment, reason=reason)
    return Clients(moment, by_entry)


def compute_gpu_others(earlier_clients: Clients, later: Clients, ours: Collection[int]) -> State:
    """Return `gpu_others`: the GPU's time that went to processes that are not ours, as a ratio.

    A client that has ended takes its count with it, so its time is not known.
    """
    reason = earlier_clients.reason or later.reason
    elapsed = (later.moment - earlier_clients.moment) * 1e9
    if reason or elapsed <= 0:
        return make_absences(reason or "no time passed between two looks.", "gpu_others")
    other_time = 0
    for entry, (pid, time_so_far) in later.by_entry.items():
        if pid in ours:
            continue
        earlier_client = earlier_clients.by_entry.get(entry, (pid, 0))
        earlier_pid, earlier_time = earlier_client
        if earlier_pid != pid:
            earlier_time = 0
        other_time += max(0, time_so_far - earlier_time)
    return State(readings={"gpu_others": other_time / elapsed})


PMSET_COMMAND = ("/usr/bin/pmset", "-g")
PROFILE = Path("/sys/firmware/acpi/platform_profile")

# `pmset -g` prints lowpowermode, or powermode on Macs that have a high power mode as well.
_MODE = re.compile(r"^\s*(lowpowermode|powermode)\s+(\S+)\s*$", re.MULTILINE)
_LOW_PROFILE = "low-power"


def source(battery: Callable[[], Any]) -> State:
    """Return `mains` and `battery`, from psutil's description of the battery."""
    battery_info = battery()
    if battery_info is None:
        return make_absences("the system tells of no battery.", "mains", "battery")
    ratio = battery_info.percent / 100
    charge = State(readings={"battery": min(1.0, max(0.0, ratio))})
    if battery_info.power_plugged is None:
        mains = make_absences("the system does not say whether it is plugged in.", "mains")
    else:
        mains = State(readings={"mains": float(bool(battery_info.power_plugged))})
    return join_states(charge, mains)


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
    """Ask macOS for the level; None if it does not answer."""
    with suppress(OSError, AttributeError, TypeError):
        system = ctypes.CDLL(ctypes.util.find_library("System"))
        token = ctypes.c_int()
        level = ctypes.c_uint64()
        if system.notify_register_check(_NAME, ctypes.byref(token)) != _OK:
            return None
        answer = system.notify_get_state(token, ctypes.byref(level))
        system.notify_cancel(token)
        if answer == _OK:
            return int(level.value)
    return None


def pressure(level: int | None) -> State:
    """Return `thermal_pressure`: the place of macOS's level in `THERMAL_PRESSURES`."""
    if level is None:
        return make_absences("macOS does not report its thermal pressure.", "thermal_pressure")
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
    busy: float  # of all CPUs, with the time that a hypervisor took from them
    idle: float  # in which they waited
    # that of each of our processes, by pid, without those that ended
    ours: dict[int, float] = field(default_factory=dict[int, float])
    children_time: float = 0.0  # that of our children that have ended


def spent(pids: Iterable[int]) -> CpuTime:
    """Read the CPU time so far; `pids` and this process are ours."""
    times = psutil.cpu_times()._asdict()
    idle_times = [times.get(name, 0.0) for name in _IDLE]
    idle = sum(idle_times)
    double_times = [times.get(name, 0.0) for name in _COUNTED_TWICE]
    twice = sum(double_times)
    children = os.times()
    moment = time.monotonic()
    ours: dict[int, float] = {}
    for pid in {*pids, os.getpid()}:
        process_time = _read_process_time(pid)
        if process_time is not None:
            ours[pid] = process_time
    busy = sum(times.values()) - idle - twice
    children_time = children.children_user + children.children_system
    return CpuTime(
        moment,
        busy=busy,
        idle=idle,
        ours=ours,
        children_time=children_time,
    )


def load(earlier_count: CpuTime, later: CpuTime) -> State:
    """Return `load`: the share of all cores' time that went to processes that are not ours.

    Both counts tick in hundredths of a second, so over 0.15 s on two cores it is exact to about
    0.03. A process of ours that has ended since then counts by its time when it ended, if it was
    a child of this one.
    """
    busy = later.busy - earlier_count.busy
    idle = later.idle - earlier_count.idle
    if busy + idle <= 0:
        return make_absences("the system's count of CPU time does not change.", "load")
    other_time = max(0.0, busy - worked_by(earlier_count, later))
    other_share = other_time / (busy + idle)
    return State(readings={"load": min(1.0, other_share)})


def worked_by(earlier_count: CpuTime, later: CpuTime) -> float:
    """Return the CPU time of our processes between two counts, in seconds."""
    gains = [seconds - earlier_count.ours.get(pid, 0.0) for pid, seconds in later.ours.items()]
    ended_times = [seconds for pid, seconds in earlier_count.ours.items() if pid not in later.ours]
    children_gain = later.children_time - earlier_count.children_time
    gained_time = max(0.0, sum(gains))
    children_excess = children_gain - sum(ended_times)
    return gained_time + max(0.0, children_excess)


def _read_process_time(pid: int) -> float | None:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return times.user + times.system
    return None
