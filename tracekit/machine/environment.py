"""What a night ran on, and a name for it that lasts: no host's, no user's."""

import hashlib
import re
import secrets
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracekit.base import RecordingError, ToolError, notes_folder, write_whole
from tracekit.machine.machine import SECONDS, Machine, describe
from tracekit.machine.sources import source

_FILE = "machine-id"
_MACHINE_ID = Path("/etc/machine-id")
_PLATFORM = ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "IOPlatformExpertDevice")
_IN_BRACKETS = re.compile(r"\(([0-9A-Za-z]+)\)")
_UUID = re.compile(rb"<key>IOPlatformUUID</key>\s*<string>([0-9A-Fa-f-]{36})</string>")
_DIGITS = 8
_XCODES = 60.0  # seconds: the first call of a tool of Xcode's may take long


def environment(machine: Machine | None = None, machine_id: Path = _MACHINE_ID) -> dict[str, Any]:
    """Return facts of this machine and its software; what cannot be found out is absent.

    Keys: those of `describe`, and `os_build` (on Linux the kernel's release),
    `xcode_build`, `tracekit`, `power` (mains or battery), and `machine_id`: a digest of what the
    system calls the machine, from which that cannot be had back.
    """
    host = machine or Machine()
    facts = {
        **describe(host),
        "os_build": host.os_build,
        "xcode_build": _xcode_build(host),
        "tracekit": version("tracekit"),
        "power": {0.0: "battery", 1.0: "mains"}.get(
            source(host.battery).readings.get("mains", -1.0)
        ),
        "machine_id": _known_as(host, machine_id),
    }
    return {name: value for name, value in facts.items() if value not in {"", None}}


def machine_name(environment: dict[str, Any]) -> str:
    """Return what the history calls the machine, such as "apple-m4-max-3f9a1c07"."""
    chip = str(environment.get("chip") or environment.get("architecture") or "machine")
    words = re.sub(r"\((r|tm)\)|@.*", " ", chip.casefold())
    short = "-".join(re.findall(r"[a-z0-9]+", words))[:40].strip("-") or "machine"
    number = environment.get("machine_id", "")
    return f"{short}-{number}" if number else short


def own_name(machine: Machine | None = None, machine_id: Path = _MACHINE_ID) -> str:
    """Return what the history calls this machine where no plan names it."""
    host = machine or Machine()
    return machine_name(describe(host) | {"machine_id": _known_as(host, machine_id)})


def _xcode_build(machine: Machine) -> str:
    """Return the build that `xctrace version` has in brackets; empty without Xcode."""
    if not machine.on_mac or machine.find("xcrun") is None:
        return ""
    match = _IN_BRACKETS.search(machine.text("xcrun", "xctrace", "version", seconds=_XCODES))
    return match[1] if match else ""


def _known_as(machine: Machine, machine_id: Path) -> str:
    """Return a digest of what the system calls the machine, else of a random name in the notes."""
    name = ""
    if machine.on_mac:
        match = _UUID.search(machine.answer(_PLATFORM, SECONDS))
        name = match[1].decode().casefold() if match else ""
    else:
        with suppress(OSError, UnicodeDecodeError):
            name = machine_id.read_text().strip()
    return hashlib.sha256(f"tracekit {name or _kept_name()}".encode()).hexdigest()[:_DIGITS]


def _kept_name() -> str:
    """Return the random name in the notes; it is made where there is none."""
    file = notes_folder() / _FILE
    try:
        if not file.exists():
            write_whole(file, secrets.token_hex(16).encode())
        return file.read_text().strip()
    except (RecordingError, OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"This machine has no name of its own, nor one in {file}: {str(error).rstrip('.')}.",
            hint='Name it in the plan, in its table [nightly]: machine = "…".',
        ) from error
