"""Which monitor to read beside a recording: the one asked for, or what this machine has."""

import math
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tracekit.machine.telemetry import host_sensors, ioreg, macmon, powermetrics
from tracekit.machine.telemetry.reading import Taken

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


def _superuser() -> bool:
    return os.geteuid() == 0


@dataclass(frozen=True)
class Machine:
    """What decides which monitors can be read; tests describe another machine."""

    system: str = field(default_factory=platform.system)
    find: Callable[[str], str | None] = shutil.which
    root: bool = field(default_factory=_superuser)
    sensors: Callable[[], Taken] = host_sensors.read_host_sensors


def choose(wanted: str, machine: Machine, time_limit: float) -> Choice:
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


def _able(machine: Machine, samples: int) -> dict[str, Callable[[], Monitor]]:
    """Return how to make each monitor that can be read here, in the order of `auto`."""
    able: dict[str, Callable[[], Monitor]] = {}
    interval = round(PERIOD * 1000)
    program = machine.find(macmon.MACMON)
    if program:
        line = macmon.macmon_command(program, interval, samples)
        able[macmon.MACMON] = partial(
            Stream, macmon.MACMON, line, macmon.MACMON_END, macmon.read_macmon
        )
    if machine.system == "Darwin":
        able[ioreg.IOREG] = partial(Poll, ioreg.IOREG, _registry)
    elif machine.sensors().readings:
        able[host_sensors.HOST_SENSORS] = partial(Poll, host_sensors.HOST_SENSORS, machine.sensors)
    program = machine.find(powermetrics.POWERMETRICS)
    if program and machine.root:
        line = powermetrics.powermetrics_command(program, interval, samples)
        able[powermetrics.POWERMETRICS] = partial(
            Stream,
            powermetrics.POWERMETRICS,
            line,
            powermetrics.POWERMETRICS_END,
            powermetrics.read_powermetrics,
        )
    return able


def _first(able: dict[str, Callable[[], Monitor]]) -> Monitor | None:
    return next((make() for name, make in able.items() if name != powermetrics.POWERMETRICS), None)


def _obstacle(wanted: str, machine: Machine) -> str:
    if wanted == ioreg.IOREG:
        return "ioreg tells of GPUs on macOS only"
    if machine.find(wanted) is None:
        return f"{wanted} is not on the PATH"
    return f"{wanted} needs root, which tracekit does not ask for"


def _registry() -> Taken:
    try:
        done = subprocess.run(
            ioreg.COMMAND,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Taken((), (f"{ioreg.IOREG}: {error}.",))
    return ioreg.read_ioreg(done.stdout)
