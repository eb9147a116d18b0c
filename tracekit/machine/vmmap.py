"""Reads `vmmap -summary`: the memory of a process by kinds of regions, as macOS accounts for it.

Memory of the GPU lies in the regions IOAccelerator and IOAccelerator (graphics). Sizes are in
binary units, rounded as vmmap prints them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NAME = "vmmap"

_COLUMNS = ("VIRTUAL", "RESIDENT", "DIRTY", "SWAPPED", "VOLATILE", "NONVOL", "EMPTY")
_SIZE = r"[\d.]+[BKMGTP]"
_ROW = re.compile(rf"(\S.*?)\s+((?:{_SIZE}\s+)+)(\d+)(?:\s|$)")
_FOOTPRINT = re.compile(rf"Physical footprint(?P<peak> \(peak\))?:\s+(?P<size>{_SIZE})")
_UNITS = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}


@dataclass(frozen=True)
class Region:
    """All regions of one kind, in bytes; None for a column that is not there."""

    virtual: int | None
    resident: int | None
    dirty: int | None
    swapped: int | None
    count: int


@dataclass(frozen=True)
class Summary:
    """What was read; `remarks` tell what could not be understood."""

    footprint: int | None = None
    peak: int | None = None
    regions: Mapping[str, Region] = field(default_factory=dict[str, Region])
    remarks: tuple[str, ...] = ()

    @property
    def accelerator(self) -> Mapping[str, Region]:
        """The regions of the GPU, by name."""
        return {name: one for name, one in self.regions.items() if name.startswith("IOAccelerator")}


def command(pid: int) -> tuple[str, ...]:
    """Return the command line; whether it pauses the process is not known, so never time it."""
    return ("/usr/bin/vmmap", "-summary", str(pid))


def read(text: str) -> Summary:
    """Read a summary; without its table of regions it has none, and a remark says so."""
    lines = text.splitlines()
    sizes: dict[bool, int] = {}
    for found in filter(None, map(_FOOTPRINT.match, lines)):
        sizes[found["peak"] is not None] = _bytes(found["size"])
    regions, remarks = _regions(lines)
    return Summary(sizes.get(False), sizes.get(True), regions, remarks)


def _regions(lines: list[str]) -> tuple[dict[str, Region], tuple[str, ...]]:
    head = next((at for at, one in enumerate(lines) if one.startswith("REGION TYPE")), None)
    if head is None:
        return {}, (f"{NAME}: there is no table of regions.",)
    words = f"{lines[head - 1] if head else ''} {lines[head]}".split()
    columns = [one for one in words if one in _COLUMNS]
    if "VIRTUAL" not in columns:
        names = " ".join(words)
        return {}, (f"{NAME}: the table of regions has no column VIRTUAL, but: {names}.",)
    regions: dict[str, Region] = {}
    for line in lines[head + 1 :]:
        if not line.strip() or line.startswith("TOTAL"):
            break
        row = _ROW.match(line)
        if row is not None:
            regions[row[1]] = _region(columns, row[2].split(), int(row[3]))
    remarks = () if regions else (f"{NAME}: no row of the table of regions can be read.",)
    return regions, remarks


def _region(columns: list[str], sizes: list[str], count: int) -> Region:
    known = {name: _bytes(one) for name, one in zip(columns, sizes, strict=False)}
    virtual, resident, dirty, swapped = (known.get(name) for name in _COLUMNS[:4])
    return Region(virtual, resident, dirty, swapped, count)


def _bytes(text: str) -> int:
    return round(float(text[:-1]) * (1 << _UNITS[text[-1]]))
