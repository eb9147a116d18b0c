"""Read facts and the state of a machine: this one, or another that a test describes."""

import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from tracekit.base import ToolError
from tracekit.machine.chips import VIRTUAL_GPU, is_virtual_device
from tracekit.machine.sources import (
    IOREG_COMMAND,
    PMSET_COMMAND,
    PROFILE,
    Clients,
    CpuTime,
    Taken,
    ask,
    low_power_of_linux,
    low_power_of_mac,
    pressure,
    read,
    read_host_sensors,
    source,
    spent,
)
from tracekit.machine.state import State, join_states, make_absences

SECONDS = 10.0  # for a command of the system to answer
_STATE_SECONDS = 5.0  # the same while something is measured
_VERSION = re.compile(r"\d+(\.\d+)*")
_BUILD = re.compile(r"\d+[A-Z]\d+[a-z]?")
_IOREG = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "AGXAccelerator")
_CORES = re.compile(r'"gpu-core-count"\s*=\s*(\d+)')
_NOT_LINUX = "Linux does not say whose work a GPU does; a traced capture does, afterwards."


def answer(command: tuple[str, ...], seconds: float) -> bytes:
    """Return the output of a command; nothing if it cannot be started, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    if done.returncode != 0:
        return b""
    return done.stdout


def _battery() -> Any:
    if not hasattr(psutil, "sensors_battery"):
        return None
    return psutil.sensors_battery()


@dataclass(frozen=True)
class Machine:
    """A machine, with the functions that read its facts and its state."""

    system: str = field(default_factory=platform.system)  # "Darwin", "Linux" …
    find: Callable[[str], str | None] = shutil.which
    root: bool = field(default_factory=lambda: getattr(os, "geteuid", os.getpid)() == 0)
    sensors: Callable[[], Taken] = read_host_sensors
    answer: Callable[[tuple[str, ...], float], bytes] = answer
    battery: Callable[[], Any] = _battery  # as psutil has it; None without one
    # bytes that can be had without swapping
    memory: Callable[[], int] = lambda: psutil.virtual_memory().available
    spent: Callable[[Iterable[int]], CpuTime] = spent  # CPU time
    pressure: Callable[[], int | None] = ask  # the thermal pressure of macOS
    profile: Path = PROFILE  # the file with the platform profile of Linux
    architecture: str = field(default_factory=platform.machine)  # that of this Python
    release: str = field(default_factory=platform.release)  # of the kernel

    @property
    def on_mac(self) -> bool:
        """Whether this is macOS."""
        return self.system == "Darwin"

    @property
    def os(self) -> str:
        """The version of macOS, or the distribution of Linux; empty if it is not known."""
        if self.on_mac:
            version = self.text("/usr/bin/sw_vers", "-productVersion")
            if not _VERSION.fullmatch(version):
                return ""
            return f"macOS {version}"
        with suppress(OSError):
            return platform.freedesktop_os_release().get("PRETTY_NAME", "")
        return ""

    @property
    def os_build(self) -> str:
        """The build of macOS, elsewhere the kernel's release; empty if it is not known."""
        if not self.on_mac:
            return self.release
        text = self.text("/usr/bin/sw_vers", "-buildVersion")
        if not _BUILD.fullmatch(text):
            return ""
        return text

    @property
    def chip(self) -> str:
        """The system's name of the chip; empty if it has none."""
        if self.on_mac:
            return self._sysctl("machdep.cpu.brand_string")
        with suppress(OSError):
            for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return value.strip()
        return ""

    @property
    def gpu_cores(self) -> int | None:
        """The number of GPU cores; None if `ioreg` does not print it."""
        if not self.on_mac:
            return None
        match = _CORES.search(self.text(*_IOREG))
        if match is None:
            return None
        return int(match[1])

    @property
    def is_translated(self) -> bool | None:
        """Whether Rosetta translates this process; None if the system does not know."""
        return {"1": True, "0": False}.get(self._sysctl("sysctl.proc_translated"))

    @property
    def is_virtual(self) -> bool | None:
        """Whether this Mac is a virtual machine; None if the system does not know, or elsewhere."""
        if not self.on_mac:
            return None
        if is_virtual_device(self.chip):
            return True
        return {"1": True, "0": False}.get(self._sysctl("kern.hv_vmm_present"))

    def require_chip(self, purpose: str) -> None:
        """Raise ToolError if this Mac is a virtual machine, whose GPU is unfit for a purpose."""
        if self.is_virtual:
            raise ToolError(
                f"{purpose} needs the GPU of a chip. {VIRTUAL_GPU}",
                hint="Use a Mac of your own; kernels can be checked for parity here.",
            )

    def text(self, *command: str, seconds: float = SECONDS) -> str:
        """Return the output of a command as text; empty if it fails."""
        return self.answer(command, seconds).decode(errors="replace").strip()

    def _sysctl(self, name: str) -> str:
        """Ask macOS; empty elsewhere, and if this Mac does not know the name."""
        if not self.on_mac:
            return ""
        return self.text("/usr/sbin/sysctl", "-n", name)

    def clients(self) -> Clients:
        """Return the users of the GPU so far."""
        moment = time.monotonic()
        if not self.on_mac:
            return Clients(moment, reason=_NOT_LINUX)
        return read(self.answer(IOREG_COMMAND, _STATE_SECONDS), moment)

    def read_state(self) -> State:
        """Read everything that needs no second reading: memory, power, thermal pressure."""
        free_memory = State(readings={"memory_free": float(self.memory())})
        parts = [free_memory, source(self.battery)]
        if self.on_mac:
            parts.append(pressure(self.pressure()))
            settings = self.text(*PMSET_COMMAND, seconds=_STATE_SECONDS)
            parts.append(low_power_of_mac(settings))
        else:
            parts.append(make_absences("Linux has no thermal pressure.", "thermal_pressure"))
            parts.append(low_power_of_linux(self.profile))
        return join_states(*parts)


def describe(machine: Machine | None = None) -> dict[str, Any]:
    """Return facts of a machine, without its name or its user's; unknown facts are absent.

    Keys: `system`, `release` (of the kernel), `os` (of macOS or of the distribution),
    `architecture` (of this Python), `chip`, `cores` (logical), `physical_cores`, `memory`
    (bytes), `python`, `mlx`; on macOS `gpu_cores`, `rosetta`, whether this Python is translated,
    and `virtual`, whether the Mac is a virtual machine.
    """
    host = machine or Machine()
    cores = psutil.cpu_count()
    physical_cores = psutil.cpu_count(logical=False)
    memory = psutil.virtual_memory().total
    python = platform.python_version()
    mlx = find_package_version("mlx")
    facts: dict[str, Any] = {
        "system": host.system,
        "release": host.release,
        "os": host.os,
        "architecture": host.architecture,
        "chip": host.chip,
        "gpu_cores": host.gpu_cores,
        "cores": cores,
        "physical_cores": physical_cores,
        "memory": memory,
        "python": python,
        "mlx": mlx,
        "rosetta": host.is_translated,
        "virtual": host.is_virtual,
    }
    return {name: value for name, value in facts.items() if value not in {"", None}}


def find_package_version(package: str) -> str:
    """Return the version of a package; empty without it."""
    with suppress(PackageNotFoundError):
        return version(package)
    return ""


_PAGE = re.compile(r"page size of (\d+) bytes")
_COMPRESSOR = re.compile(r"^Pages occupied by compressor:\s+(\d+)\.", re.MULTILINE)
_KEPT = ("low_power", "mains", "thermal_pressure")


def circumstances(machine: Machine | None = None) -> dict[str, int]:
    """Return the present circumstances by the system's account; unknown ones are absent.

    Keys: `swap` and `compressed` (bytes), `paged_out` (bytes since the system was started),
    `wired_limit` (bytes, if one was set), `low_power`, `mains` (1 or 0) and `thermal_pressure`
    (its place among the levels).
    """
    host = machine or Machine()
    swap = psutil.swap_memory()
    facts: dict[str, float] = {"swap": swap.used, "paged_out": swap.sout}
    readings = host.read_state().readings
    known_readings = {name: value for name, value in readings.items() if name in _KEPT}
    facts |= known_readings
    if host.on_mac:
        limit = host.text("/usr/sbin/sysctl", "-n", "iogpu.wired_limit_mb")  # 0: the system's own
        if limit.isdecimal() and int(limit) > 0:
            facts["wired_limit"] = int(limit) << 20
        vm_statistics = host.text("/usr/bin/vm_stat")
        page_size = _PAGE.search(vm_statistics)
        pages = _COMPRESSOR.search(vm_statistics)
        if page_size and pages:
            facts["compressed"] = int(page_size[1]) * int(pages[1])
    return {name: int(value) for name, value in facts.items()}


def merge_circumstances(
    earlier_facts: dict[str, Any], later_facts: dict[str, int]
) -> dict[str, int]:
    """Return the circumstances between two moments: the later ones, and the bytes paged out."""
    facts = dict(later_facts)
    later_bytes = facts.pop("paged_out", None)
    if later_bytes is not None and "paged_out" in earlier_facts:
        paged_out = later_bytes - int(earlier_facts["paged_out"])
        facts["paged_out"] = max(0, paged_out)
    return facts
