"""What is known of the machine, without its name or its user's."""

import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from tracekit.errors import ToolError
from tracekit.git import git

_SECONDS = 10


def describe() -> dict[str, Any]:
    """Return facts of this machine; what cannot be found out is absent.

    Keys: `system`, `release` (of the kernel), `os` (of macOS or of the distribution),
    `architecture` (of this Python), `chip`, `cores` (logical), `physical_cores`, `memory`
    (bytes), `python`, `mlx`; on macOS `gpu_cores`, and `rosetta`, whether this Python is
    translated.
    """
    facts: dict[str, Any] = {
        "system": platform.system(),
        "release": platform.release(),
        "os": _system_version(),
        "architecture": platform.machine(),
        "chip": _chip(),
        "gpu_cores": _gpu_cores(),
        "cores": psutil.cpu_count(),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "mlx": _installed("mlx"),
        "rosetta": _translated(),
    }
    return {name: value for name, value in facts.items() if value not in {"", None}}


def git_commit(folder: Path) -> str:
    """Return the commit of the folder's work tree, with -dirty if tracked files changed.

    Empty where there is no repository, no commit or no git.
    """
    commit = _said(folder, "rev-parse", "--verify", "HEAD")
    if not commit:
        return ""
    changes = _said(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if changes else commit


def _said(folder: Path, *arguments: str) -> str:
    """Return what git says; empty where it fails, is not there or takes too long."""
    with suppress(ToolError):
        found = git(folder, *arguments, seconds=_SECONDS)
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""


def _output(*argv: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", check=True, timeout=_SECONDS
        )
        return done.stdout.strip()
    return ""


def _system_version() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return ""


def _chip() -> str:
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return ""


def gpu_cores(registry: str) -> int | None:
    """Read the number of GPU cores from what `ioreg` prints; None where it does not say."""
    found = re.search(r'"gpu-core-count"\s*=\s*(\d+)', registry)
    return int(found[1]) if found else None


def _gpu_cores() -> int | None:
    if sys.platform != "darwin":
        return None
    return gpu_cores(_output("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "AGXAccelerator"))


def _translated() -> bool | None:
    """Tell whether Rosetta translates this process; None where the system does not say."""
    answer = _sysctl("sysctl.proc_translated")
    return answer == "1" if answer else None


def _sysctl(name: str) -> str:
    """Ask macOS; empty elsewhere, and where this Mac does not know the name."""
    if sys.platform != "darwin":
        return ""
    return _output("/usr/sbin/sysctl", "-n", name)


def _installed(package: str) -> str:
    with suppress(PackageNotFoundError):
        return version(package)
    return ""
