"""What a machine is like while it records: its power and its memory.

`sysctl iogpu.wired_limit_mb` is how much memory the GPU may keep wired, in MiB; 0 stands for the
system's own limit. `vm_stat` names the size of a page in its first line, and after it counts pages.
"""

import re
from typing import Any

import psutil

from tracekit.machine.machine import Machine

_PAGE = re.compile(r"page size of (\d+) bytes")
_COMPRESSOR = re.compile(r"^Pages occupied by compressor:\s+(\d+)\.", re.MULTILINE)
_KEPT = ("low_power", "mains", "thermal_pressure")


def circumstances(machine: Machine | None = None) -> dict[str, int]:
    """Return what the system tells of now; what is not known is absent.

    Keys: `swap` and `compressed` (bytes), `paged_out` (bytes since the system was started),
    `wired_limit` (bytes, where somebody set one), `low_power`, `mains` (1 or 0) and
    `thermal_pressure` (its place among the levels).
    """
    asked = machine or Machine()
    swap = psutil.swap_memory()
    facts: dict[str, Any] = {"swap": swap.used, "paged_out": swap.sout}
    facts |= {name: value for name, value in asked.now().readings.items() if name in _KEPT}
    if asked.on_mac:
        facts |= {"wired_limit": wired_limit(asked), "compressed": compressed(asked)}
    return {name: int(value) for name, value in facts.items() if value is not None}


def wired_limit(machine: Machine) -> int | None:
    """Return the bytes that the GPU may keep wired; None for the system's own limit."""
    said = machine.text("/usr/sbin/sysctl", "-n", "iogpu.wired_limit_mb")
    return (int(said) << 20) or None if said.isdecimal() else None


def compressed(machine: Machine) -> int | None:
    """Return the bytes that the compressor occupies; None where `vm_stat` does not say."""
    said = machine.text("/usr/bin/vm_stat")
    page, pages = _PAGE.search(said), _COMPRESSOR.search(said)
    return int(page[1]) * int(pages[1]) if page and pages else None


def meanwhile(before: dict[str, Any], after: dict[str, int]) -> dict[str, int]:
    """Return what a machine was like between two looks: the later one, and what was paged out."""
    found = {name: value for name, value in after.items() if name != "paged_out"}
    if "paged_out" in before and "paged_out" in after:
        found["paged_out"] = max(0, after["paged_out"] - int(before["paged_out"]))
    return found
