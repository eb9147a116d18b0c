"""Facts of the system: which it is, whether Python runs natively, the chip and its GPU."""

import platform
import re
from collections.abc import Iterator

from tracekit.machine.machine import describe
from tracekit.record.doctor.fact import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.doctor.identity import chip, system_build
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.xctrace.environment import distorts

_VERSION = re.compile(r"\d+(\.\d+)*")
_CORES = re.compile(r'"gpu-core-count" = (\d+)')
_IOREG = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "AGXAccelerator")


def system_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at the system, the architecture, the chip, its GPU and Metal's switches."""
    yield _system(surroundings)
    yield _architecture(surroundings)
    name = chip(surroundings)
    yield ok("chip", name) if name else unknown("chip", "The system does not name it.")
    yield _gpu_cores(surroundings)
    yield _metal_switches(surroundings)


def _system(surroundings: Surroundings) -> Fact:
    if not surroundings.on_mac:
        known = describe() if surroundings.system == platform.system() else {}
        name = known.get("os") or surroundings.system
        return ok("system", f"{name}, kernel {surroundings.release}")
    version = surroundings.answer("/usr/bin/sw_vers", "-productVersion")
    build = system_build(surroundings)
    if not _VERSION.fullmatch(version) or not build:
        return unknown("system", "macOS, but `sw_vers` does not tell its version and build.")
    return ok("system", f"macOS {version} ({build})")


def _architecture(surroundings: Surroundings) -> Fact:
    name, architecture = "architecture", surroundings.architecture
    if not surroundings.on_mac:
        return ok(name, architecture)
    if architecture == "arm64":
        return ok(name, "arm64, native")
    translated = surroundings.answer("/usr/sbin/sysctl", "-n", "sysctl.proc_translated")
    if translated == "1":
        return failed(
            name,
            f"Rosetta translates this Python: it is {architecture} on Apple silicon, "
            "so MLX has no Metal.",
            "Install an arm64 Python, and tracekit with it: `uv python install 3.12`, "
            "in a terminal that does not run under Rosetta.",
        )
    return unknown(
        name,
        f"This Python is {architecture}, and macOS does not say that it is translated: "
        "it may be a Mac without Apple silicon.",
        "MLX's Metal needs Apple silicon; `uname -m` says arm64 there.",
        needed=True,
    )


def _gpu_cores(surroundings: Surroundings) -> Fact:
    if not surroundings.on_mac:
        return not_applicable("gpu cores", "Counted on macOS only.")
    found = _CORES.search(surroundings.answer(*_IOREG))
    if found is None:
        return unknown("gpu cores", "`ioreg` names no gpu-core-count.")
    return ok("gpu cores", found.group(1))


def _metal_switches(surroundings: Surroundings) -> Fact:
    name = "metal switches"
    there = sorted(one for one in surroundings.environment if distorts(one))
    if not there:
        return ok(name, "none is set")
    return warning(
        name,
        f"{', '.join(there)} change what Metal does, and so what is measured.",
        "What tracekit launches does not get them; a process to attach to must be started "
        f"without them: `unset {' '.join(there)}`.",
    )
