"""What each Apple chip can do: its memory's bandwidth and its rate of arithmetic, with sources.

One name is sold with several GPUs, and with some names the bandwidth depends on which: so a chip
is looked up by its name and its number of GPU cores. What is not known is a figure without a
value, and its reason.

Sources: bandwidth is what Apple's announcements state. FP32 rates are cores x 128 lanes x
2 operations x clock; the clocks of M1 and M2 are those of philipturner/metal-benchmarks, later
ones are third-party readings (hmc-tech.com) that nobody confirmed.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tracekit.machine.machine import describe


class Confidence(StrEnum):
    """How far a figure can be trusted."""

    PUBLISHED = "published"
    INDEPENDENT = "independent"
    LOW = "low"


@dataclass(frozen=True)
class Figure:
    """A number with its source; or no number, and the reason."""

    value: float | None = None
    source: str = ""
    confidence: Confidence | None = None
    reason: str = ""


@dataclass(frozen=True)
class Chip:
    """A chip as it is in one machine.

    Attributes:
        name: As the system has it, such as "Apple M3 Max".
        cores: GPU cores; None where they were not counted.
        bandwidth: Bytes per second between chip and memory.
        fp32: Operations per second in float32, a fused multiply-add counted as two.
        fp16: The same in float16.
    """

    name: str
    cores: int | None
    bandwidth: Figure
    fp32: Figure
    fp16: Figure


@dataclass(frozen=True)
class BufferLimits:
    """What fills a command buffer of MLX: more than so many operations, or elements (in Mi).

    MLX calls the second limit MB, but counts elements of arrays.
    """

    operations: int
    mebi_elements: int


@dataclass(frozen=True)
class _Model:
    """One row of what is known: `bandwidths` in GB/s by cores, 0 for all of them."""

    most: int
    bandwidths: Mapping[int, float]
    teraflops: float | None = None
    cores: int | None = None  # of the GPU that `teraflops` is of, where it is not the largest
    confidence: Confidence = Confidence.LOW


def _all(gigabytes: float) -> dict[int, float]:
    return {0: gigabytes}


_METERED = Confidence.INDEPENDENT
_MODELS: Mapping[str, _Model] = {
    "M1": _Model(8, _all(68.25), 2.62, confidence=_METERED),
    "M1 Pro": _Model(16, _all(200), 5.31, confidence=_METERED),
    "M1 Max": _Model(32, _all(400), 10.62, confidence=_METERED),
    "M1 Ultra": _Model(64, _all(800), 21.23, confidence=_METERED),
    "M2": _Model(10, _all(100), 3.58, confidence=_METERED),
    "M2 Pro": _Model(19, _all(200), 6.8, confidence=_METERED),
    "M2 Max": _Model(38, _all(400), 13.6, confidence=_METERED),
    "M2 Ultra": _Model(76, _all(800), 27.2, confidence=_METERED),
    "M3": _Model(10, _all(100)),
    "M3 Pro": _Model(18, _all(150), 6.4),
    "M3 Max": _Model(40, {30: 300, 40: 400}, 14.3),
    "M3 Ultra": _Model(80, _all(819)),
    "M4": _Model(10, _all(120), 3.8),
    "M4 Pro": _Model(20, _all(273)),
    "M4 Max": _Model(40, {32: 410, 40: 546}, 13.7, cores=32),
    "M5": _Model(10, _all(153), 4.4),
    "M5 Pro": _Model(20, _all(307)),
    "M5 Max": _Model(40, {32: 460, 40: 614}),
}
# The sources for these contradict each other.
_DISPUTED = {"M5 Ultra"}
_SOURCES = {
    Confidence.INDEPENDENT: "cores x 128 lanes x 2 x clock; clock by philipturner/metal-benchmarks",
    Confidence.LOW: "cores x 128 lanes x 2 x clock; clock by a third party, hmc-tech.com",
}
_EQUAL_HALVES = ("M1", "M2")

# The class of a GPU is the last letter of its architecture, such as applegpu_g15s.
CLASSES: Mapping[str, str] = {
    "p": "phone",
    "g": "base or Pro",
    "s": "Max",
    "d": "Ultra",
}
_LIMITS: Mapping[str, BufferLimits] = {
    "p": BufferLimits(20, 40),
    "g": BufferLimits(40, 40),
    "s": BufferLimits(50, 50),
    "d": BufferLimits(50, 50),
}


def known_chips() -> tuple[str, ...]:
    """Return the names that have figures here, as the system calls them."""
    return tuple(f"Apple {name}" for name in _MODELS)


def spelled(name: str) -> str:
    """Return a chip's name as the system has it, where case, spaces or "Apple" alone differ."""
    wanted = " ".join(name.casefold().removeprefix("apple").split())
    return next((known for known in known_chips() if known.casefold() == f"apple {wanted}"), name)


def chip(name: str, cores: int | None = None) -> Chip:
    """Return what is known of a chip, by the name that the system gives it and its GPU cores."""
    short = name.removeprefix("Apple ").strip()
    model = _MODELS.get(short)
    if model is None:
        unknown = Figure(reason=_no_figures(name, short))
        return Chip(name, cores, unknown, unknown, unknown)
    fp32 = _fp32(name, model, cores)
    return Chip(name, cores, _bandwidth(name, model, cores), fp32, _fp16(short, fp32))


@dataclass(frozen=True)
class ThisChip:
    """The chip of this machine, and what else the machine says of itself."""

    chip: Chip
    machine: Mapping[str, object] = field(default_factory=dict[str, object])


def this_chip() -> ThisChip:
    """Return the chip of this machine; away from macOS its figures say that they are missing."""
    facts = describe()
    name = str(facts.get("chip", ""))
    cores = facts.get("gpu_cores")
    if sys.platform == "darwin" and name:
        return ThisChip(chip(name, cores), facts)
    why = "the system does not name its chip." if not name else f"{name} is no chip of Apple's."
    missing = Figure(reason=why)
    return ThisChip(Chip(name, None, missing, missing, missing), facts)


def architecture_class(architecture: str) -> str:
    """Return what the last letter of a GPU's architecture stands for; empty if it is not known."""
    return CLASSES.get(architecture[-1:], "") if architecture.startswith("applegpu") else ""


def buffer_limits(architecture: str) -> BufferLimits | None:
    """Return when MLX commits a command buffer on such a GPU; None if it is not known."""
    return _LIMITS.get(architecture[-1:]) if architecture.startswith("applegpu") else None


def _no_figures(name: str, short: str) -> str:
    if not name:
        return "it is not known which chip it is."
    if short in _DISPUTED:
        return f"the sources for the {name} contradict each other."
    return f"tracekit has no figures of a chip called {name!r}."


def _bandwidth(name: str, model: _Model, cores: int | None) -> Figure:
    choices = " and ".join(f"{v:g} GB/s with {k} GPU cores" for k, v in model.bandwidths.items())
    if 0 not in model.bandwidths and cores is None:
        return Figure(reason=f"the {name} has {choices}; how many this one has is not known.")
    gigabytes = model.bandwidths.get(0) or model.bandwidths.get(cores or 0)
    if gigabytes is None:
        return Figure(reason=f"the {name} has {choices}; of one with {cores} nothing is known.")
    return Figure(gigabytes * 1e9, "Apple's announcement", Confidence.PUBLISHED)


def _fp32(name: str, model: _Model, cores: int | None) -> Figure:
    if model.teraflops is None:
        return Figure(reason=f"no source states the clock of the {name}'s GPU.")
    if cores is None:
        return Figure(reason="it depends on the number of GPU cores, which is not known.")
    if not 0 < cores <= model.most:
        return Figure(
            reason=f"the {name} has at most {model.most} GPU cores; this one says {cores}."
        )
    of = model.cores or model.most
    source = _SOURCES[model.confidence]
    if cores != of:
        source += f"; scaled from the one with {of} cores"
    return Figure(model.teraflops * 1e12 * cores / of, source, model.confidence)


def _fp16(short: str, fp32: Figure) -> Figure:
    if not short.startswith(_EQUAL_HALVES):
        return Figure(reason="whether float16 is faster than float32 there, no source states.")
    if fp32.value is None:
        return fp32
    return Figure(
        fp32.value, "as float32, by philipturner/metal-benchmarks", Confidence.INDEPENDENT
    )
