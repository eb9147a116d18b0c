"""What GPU counters mean, by name: ids differ between chips, and so do names.

Two sets are known: the 65 counters of an M3 or later, and the set Performance Limiters of an M1.
A limiter is the time in which a unit works or is stalled, a utilization the time in which it works,
both as a share of what it could do (Apple, "Analyzing Apple GPU performance using a visual
timeline"). A counter that is not listed here means nothing to any rule.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What sort of number a counter is; all but bandwidths are shares."""

    OCCUPANCY = "occupancy"
    LIMITER = "limiter"
    UTILIZATION = "utilization"
    RATE = "rate"
    BANDWIDTH = "bandwidth"


class Group(StrEnum):
    """Which part of the GPU a counter is about."""

    THREADS = "threads"
    LAUNCH = "launch"
    ARITHMETIC = "arithmetic"
    CONTROL = "control flow"
    ISSUE = "instruction issue"
    CACHE = "cache"
    MEMORY = "memory"
    TRANSLATION = "address translation"
    BUFFER = "buffer access"
    THREADGROUP = "threadgroup memory"
    TEXTURE = "texture"
    RASTER = "rasterization"


@dataclass(frozen=True)
class Meaning:
    """What a counter is: its kind, its group, and the unit it belongs to, as we call it."""

    kind: Kind
    group: Group
    unit: str


RAY_TRACING = "RT Unit Active"
"""All that a stock template records, on M3 and later: it says nothing of compute."""

# Units that have a limiter, a utilization or both; other names of a unit stand behind it.
_UNITS: dict[Group, tuple[tuple[str, ...], ...]] = {
    Group.LAUNCH: (
        ("Compute Shader Launch",),
        ("Vertex Shader Launch",),
        ("Fragment Shader Launch",),
    ),
    Group.ARITHMETIC: (
        ("ALU",),
        ("F32",),
        ("F16",),
        ("Integer and Conditional",),
        ("Integer and Complex",),
    ),
    Group.CONTROL: (("Control Flow",),),
    Group.ISSUE: (("Instruction Throughput",),),
    Group.CACHE: (("L1 Cache",),),
    Group.MEMORY: (("Last Level Cache", "GPU Last Level Cache", "LLC"),),
    Group.TRANSLATION: (("MMU",),),
    Group.BUFFER: (("Buffer Read", "Buffer Load"), ("Buffer Write", "Buffer Store")),
    Group.THREADGROUP: (
        ("Threadgroup/Imageblock Load", "TG/IB Load"),
        ("Threadgroup/Imageblock Store", "TG/IB Store"),
    ),
    Group.TEXTURE: (
        ("Texture Read",),
        ("Texture Sample",),
        ("Texture Filtering",),
        ("Texture Write",),
        ("Texture Cache",),
        ("Texture Read Cache",),
    ),
    Group.RASTER: (("Fragment Input Interpolation", "Fragment Interp"),),
}
_OCCUPANCIES = {
    "compute": ("Kernel Occupancy", "Compute Occupancy"),
    "vertex": ("VS Occupancy", "Vertex Occupancy"),
    "fragment": ("FS Occupancy", "Fragment Occupancy"),
    "total": ("Total Occupancy",),
    "target": ("Occupancy Manager Target",),
}
_OTHERS = {
    "L1 Eviction Rate": Meaning(Kind.RATE, Group.CACHE, "L1 evictions"),
    "Buffer L1 Miss Rate": Meaning(Kind.RATE, Group.CACHE, "L1 misses"),
    "MMU TLB Miss Rate": Meaning(Kind.RATE, Group.TRANSLATION, "TLB misses"),
    "GPU Bandwidth": Meaning(Kind.BANDWIDTH, Group.MEMORY, "both"),
    "GPU Read Bandwidth": Meaning(Kind.BANDWIDTH, Group.MEMORY, "read"),
    "GPU Write Bandwidth": Meaning(Kind.BANDWIDTH, Group.MEMORY, "write"),
}


def meaning(counter: str) -> Meaning | None:
    """Return what a counter is, by the name that the trace gives it; None if it is not known."""
    return _MEANINGS.get(_plain(counter))


def known_counters() -> tuple[str, ...]:
    """Return the names of all counters that mean something here, in lower case."""
    return tuple(_MEANINGS)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _declared() -> dict[str, Meaning]:
    table = dict(_OTHERS)
    for group, units in _UNITS.items():
        for names in units:
            for name in names:
                table[f"{name} Limiter"] = Meaning(Kind.LIMITER, group, names[0])
                table[f"{name} Utilization"] = Meaning(Kind.UTILIZATION, group, names[0])
    for stage, names in _OCCUPANCIES.items():
        table |= {name: Meaning(Kind.OCCUPANCY, Group.THREADS, stage) for name in names}
    return {_plain(name): one for name, one in table.items()}


_MEANINGS = _declared()
