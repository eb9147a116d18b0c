"""Who is asked for the machine's state; tests describe another machine."""

import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tracekit.machine.state import gpu_clients, power, thermal
from tracekit.machine.state.known import Known, absent, joined
from tracekit.machine.state.processors import Spent, spent
from tracekit.machine.telemetry.monitors import Machine

PATIENCE = 5.0  # seconds for a command of the system to answer

_NOT_LINUX = "Linux does not say whose work a GPU does; a traced capture does, afterwards."
_NO_PRESSURE = "Linux has no thermal pressure."


def answer(command: tuple[str, ...], patience: float = PATIENCE) -> bytes:
    """Return what a command prints; nothing where it cannot be started, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=patience, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _battery() -> Any:
    return psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None


def _memory() -> int:
    return psutil.virtual_memory().available


@dataclass(frozen=True)
class Sources:
    """A machine as far as its state can be asked for.

    Attributes:
        system: "Darwin", "Linux" …
        answer: Returns what a command prints within so many seconds; nothing where it fails.
        battery: Asks for the battery, as psutil does; None where there is none.
        memory: Asks for the memory that can be had without swapping, in bytes.
        spent: Asks for CPU time.
        pressure: Asks macOS for its thermal pressure.
        profile: The file with the platform profile of Linux.
        telemetry: What decides which monitors can be read.
    """

    system: str = field(default_factory=platform.system)
    answer: Callable[[tuple[str, ...], float], bytes] = answer
    battery: Callable[[], Any] = _battery
    memory: Callable[[], int] = _memory
    spent: Callable[[Iterable[int]], Spent] = spent
    pressure: Callable[[], int | None] = thermal.ask
    profile: Path = power.PROFILE
    telemetry: Machine = field(default_factory=Machine)

    @property
    def on_mac(self) -> bool:
        """Tell whether this is macOS."""
        return self.system == "Darwin"

    def clients(self) -> gpu_clients.Clients:
        """Ask who has used the GPU so far."""
        at = time.monotonic()
        if not self.on_mac:
            return gpu_clients.Clients(at, why=_NOT_LINUX)
        return gpu_clients.read(self.answer(gpu_clients.IOREG_COMMAND, PATIENCE), at)

    def now(self) -> Known:
        """Ask for all that needs no second look: memory, power, thermal pressure."""
        parts = [Known({"memory_free": float(self.memory())}), power.source(self.battery)]
        if self.on_mac:
            printed = self.answer(power.PMSET_COMMAND, PATIENCE).decode(errors="replace")
            parts += [thermal.pressure(self.pressure()), power.low_power_of_mac(printed)]
        else:
            parts += [
                absent(_NO_PRESSURE, "thermal_pressure"),
                power.low_power_of_linux(self.profile),
            ]
        return joined(*parts)
