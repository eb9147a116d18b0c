"""Which machine this is, as far as it decides what can be recorded."""

import re

from tracekit.base.capabilities import Identity
from tracekit.machine.machine import describe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.tool import read_version

_BUILD = re.compile(r"\d+[A-Z]\d+[a-z]?")


def identify(surroundings: Surroundings, xctrace_version: str) -> Identity:
    """Return the builds of system and Xcode, and the chip; empty where they cannot be known."""
    return Identity(
        system_build=system_build(surroundings) if surroundings.on_mac else surroundings.release,
        xcode_build=read_version(xctrace_version).build,
        chip=chip(surroundings),
    )


def system_build(surroundings: Surroundings) -> str:
    """Return the build of macOS; empty where it does not look like one."""
    text = surroundings.answer("/usr/bin/sw_vers", "-buildVersion")
    return text if _BUILD.fullmatch(text) else ""


def chip(surroundings: Surroundings) -> str:
    """Return the chip's name."""
    if surroundings.on_mac:
        return surroundings.answer("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    return str(describe().get("chip", ""))
