"""What a night ran on, and a name for it that lasts: no host's, no user's."""

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracekit.base import ToolError, notes_folder
from tracekit.machine.machine import describe
from tracekit.machine.sources import PATIENCE, Sources, source

_FILE = "machine-id"
_MACHINE_ID = Path("/etc/machine-id")
_PLATFORM = ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "IOPlatformExpertDevice")
_BUILD = re.compile(r"\d+[A-Z]\d+[a-z]?")
_IN_BRACKETS = re.compile(r"\(([0-9A-Za-z]+)\)")
_UUID = re.compile(rb"<key>IOPlatformUUID</key>\s*<string>([0-9A-Fa-f-]{36})</string>")
_DIGITS = 8
_XCODES = 60.0  # seconds: the first call of a tool of Xcode's may take long


def environment(sources: Sources | None = None, machine_id: Path = _MACHINE_ID) -> dict[str, Any]:
    """Return facts of this machine and its software; what cannot be found out is absent.

    Keys: those of `machine.describe`, and `os_build` (on Linux the kernel's release),
    `xcode_build`, `tracekit`, `power` (mains or battery), and `machine_id`: a digest of what the
    system calls the machine, from which that cannot be had back.

    Raises:
        ToolError: The system has no name for the machine, and one cannot be kept in the notes.
    """
    asked = sources or Sources()
    known = describe()
    facts = {
        **known,
        "os_build": _system_build(asked) if asked.on_mac else str(known.get("release", "")),
        "xcode_build": _xcode_build(asked),
        "tracekit": version("tracekit"),
        "power": {0.0: "battery", 1.0: "mains"}.get(
            source(asked.battery).readings.get("mains", -1.0)
        ),
        "machine_id": _known_as(asked, machine_id),
    }
    return {name: value for name, value in facts.items() if value not in {"", None}}


def machine_name(environment: dict[str, Any]) -> str:
    """Return what the history calls the machine, such as "apple-m4-max-3f9a1c07"."""
    chip = str(environment.get("chip") or environment.get("architecture") or "machine")
    words = re.sub(r"\((r|tm)\)|@.*", " ", chip.casefold())
    short = "-".join(re.findall(r"[a-z0-9]+", words))[:40].strip("-") or "machine"
    number = environment.get("machine_id", "")
    return f"{short}-{number}" if number else short


def own_name(sources: Sources | None = None, machine_id: Path = _MACHINE_ID) -> str:
    """Return what the history calls this machine where no plan names it.

    Raises:
        ToolError: As `environment` raises it.
    """
    return machine_name(describe() | {"machine_id": _known_as(sources or Sources(), machine_id)})


def _system_build(sources: Sources) -> str:
    text = _said(sources, "/usr/bin/sw_vers", "-buildVersion")
    return text if _BUILD.fullmatch(text) else ""


def _xcode_build(sources: Sources) -> str:
    """Return the build that `xctrace version` has in brackets; empty without Xcode."""
    if not sources.on_mac or shutil.which("xcrun") is None:
        return ""
    found = _IN_BRACKETS.search(_said(sources, "xcrun", "xctrace", "version", patience=_XCODES))
    return found[1] if found else ""


def _said(sources: Sources, *command: str, patience: float = PATIENCE) -> str:
    return sources.answer(command, patience).decode(errors="replace").strip()


def _known_as(sources: Sources, machine_id: Path) -> str:
    return _digest(_own_id(sources, machine_id) or _kept_id())


def _own_id(sources: Sources, machine_id: Path) -> str:
    """Return what the system calls the machine; empty where it does not."""
    if sources.on_mac:
        found = _UUID.search(sources.answer(_PLATFORM, PATIENCE))
        return found[1].decode().casefold() if found else ""
    with suppress(OSError, UnicodeDecodeError):
        return machine_id.read_text().strip()
    return ""


def _kept_id() -> str:
    """Return the random name in the notes; it is made where there is none."""
    file = notes_folder() / _FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent) as new:
            new.write(secrets.token_hex(16))
            new.flush()
            # Of two at once the first one's name counts, and nobody sees half of it.
            with suppress(FileExistsError):
                os.link(new.name, file)
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"This machine has no name of its own, and none can be kept in {file}: {error}.",
            hint='Name it in the plan, in its table [nightly]: machine = "…".',
        ) from error


def _digest(name: str) -> str:
    return hashlib.sha256(f"tracekit {name}".encode()).hexdigest()[:_DIGITS]
