"""What is known of the machine, without its name or its user's."""

import platform
import re
import subprocess
import sys
from collections.abc import Set as AbstractSet
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from tracekit.base import ToolError, git

_SECONDS = 10
_DOCUMENTS = {"recording.json", "night.json"}  # each names its folder as one that tracekit made
_BUNDLES = (".trace", ".gputrace")
# A plan is no source: a night tells it by its digest.
_REPORT = re.compile(
    r"tracekit\.toml|.*\.((db|sqlite3?)(-journal|-shm|-wal)?|html|log(\.\d+)?|md|prom|sarif|xml)"
)


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
    """Return the commit of the folder's work tree, and what more may have been run than it holds.

    It ends with -dirty if tracked files changed, or if there are untracked ones that are not
    ignored and that tracekit did not write; with -unknown if git could not tell in time. Empty
    where there is no repository, no commit or no git.
    """
    commit = (_said(folder, "rev-parse", "--verify", "HEAD") or "").strip()
    if not commit:
        return ""
    status = _said(folder, "status", "--porcelain", "-z", "--untracked-files=all")
    if status is None:
        return f"{commit}-unknown"
    return f"{commit}-dirty" if is_dirty(status) else commit


def is_dirty(status: str) -> bool:
    """Tell whether what `git status --porcelain -z` lists may change what is run.

    Plans, recordings, nights and reports are left out: to write them changes nothing that is run.
    """
    entries = [one for one in status.split("\0") if one]
    untracked = [PurePosixPath(one[3:]) for one in entries if one.startswith("?? ")]
    if len(untracked) < len(entries):
        return True
    runs = {one.parent for one in untracked if one.name in _DOCUMENTS} - {PurePosixPath()}
    return not all(_is_output(one, runs) for one in untracked)


def _is_output(file: PurePosixPath, runs: AbstractSet[PurePosixPath]) -> bool:
    """Tell whether an untracked file is hidden, or one that tracekit wrote or is told by."""
    return (
        any(one.startswith(".") or one.endswith(_BUNDLES) for one in file.parts)
        or not runs.isdisjoint(file.parents)
        or _REPORT.fullmatch(file.name) is not None
    )


def _said(folder: Path, *arguments: str) -> str | None:
    """Return what git says; None where it fails, is not there or takes too long."""
    with suppress(ToolError):
        found = git(folder, *arguments, seconds=_SECONDS)
        return found.stdout if found.returncode == 0 else None
    return None


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
