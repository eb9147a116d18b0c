"""The environment of a night, and a lasting name for its machine, without a host or a user."""

import hashlib
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracekit.base import RecordingError, ToolError, files, own_version
from tracekit.machine.machine import SECONDS, Machine, describe
from tracekit.machine.sources import source

_FILE = "machine-id"
_MACHINE_ID = Path("/etc/machine-id")
_PLATFORM = ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "IOPlatformExpertDevice")
_IN_BRACKETS = re.compile(r"\(([0-9A-Za-z]+)\)")
_UUID = re.compile(rb"<key>IOPlatformUUID</key>\s*<string>([0-9A-Fa-f-]{36})</string>")
_DIGITS = 8
_XCODES = 60.0  # seconds: the first call of a tool of Xcode's may take long


_POWER = {0.0: "battery", 1.0: "mains"}


def environment(machine: Machine | None = None, machine_id: Path = _MACHINE_ID) -> dict[str, Any]:
    """Return facts of this machine and its software; unknown facts are absent.

    Keys: those of `describe`, and `os_build` (on Linux the kernel's release),
    `xcode_build`, `tracekit`, `power` (mains or battery), and `machine_id`: a digest of the
    system's id of the machine, from which the id cannot be recovered.
    """
    host = machine or Machine()
    facts = describe(host)
    facts["os_build"] = host.os_build
    facts["xcode_build"] = _xcode_build(host)
    facts["tracekit"] = own_version()
    mains = source(host.battery).readings.get("mains", -1.0)
    facts["power"] = _POWER.get(mains)
    facts["machine_id"] = _known_as(host, machine_id)
    return {name: value for name, value in facts.items() if value not in {"", None}}


def machine_name(environment: dict[str, Any]) -> str:
    """Return the name of the machine in the history, such as "apple-m4-max-3f9a1c07"."""
    chip = str(environment.get("chip") or environment.get("architecture") or "machine")
    words = re.sub(r"\((r|tm)\)|@.*", " ", chip.casefold())
    word_parts = re.findall(r"[a-z0-9]+", words)
    short = "-".join(word_parts)[:40].strip("-") or "machine"
    number = environment.get("machine_id", "")
    if not number:
        return short
    return f"{short}-{number}"


def own_name(machine: Machine | None = None, machine_id: Path = _MACHINE_ID) -> str:
    """Return the name of this machine in the history if no plan names it."""
    host = machine or Machine()
    facts = describe(host)
    facts["machine_id"] = _known_as(host, machine_id)
    return machine_name(facts)


def _xcode_build(machine: Machine) -> str:
    """Return the build that `xctrace version` has in brackets; empty without Xcode."""
    if not machine.on_mac or machine.find("xcrun") is None:
        return ""
    match = _IN_BRACKETS.search(machine.text("xcrun", "xctrace", "version", seconds=_XCODES))
    if match is None:
        return ""
    return match[1]


def _known_as(machine: Machine, machine_id: Path) -> str:
    """Return a digest of the system's id of the machine, else of a random name in the notes."""
    name = _system_id(machine, machine_id) or _kept_name()
    digest = hashlib.sha256(f"tracekit {name}".encode()).hexdigest()
    return digest[:_DIGITS]


def _system_id(machine: Machine, machine_id: Path) -> str:
    if machine.on_mac:
        match = _UUID.search(machine.answer(_PLATFORM, SECONDS))
        if match is None:
            return ""
        return match[1].decode().casefold()
    with suppress(OSError, UnicodeDecodeError):
        return machine_id.read_text().strip()
    return ""


def _kept_name() -> str:
    """Return the random name in the notes; it is made if there is none."""
    file = files.notes_folder() / _FILE
    try:
        if not file.exists():
            files.write_whole(file, secrets.token_hex(16).encode())
        return file.read_text().strip()
    except (RecordingError, OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"This machine has no name of its own, nor one in {file}: {str(error).rstrip('.')}.",
            hint='Name it in the plan, in its table [nightly]: machine = "…".',
        ) from error
