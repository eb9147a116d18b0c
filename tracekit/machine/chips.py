"""The memory bandwidth and the rate of arithmetic of each Apple chip, with sources.

One name is sold with several GPUs, and with some names the bandwidth depends on the GPU: so a chip
is looked up by its name and its number of GPU cores. An unknown figure has no value, but a reason.

Sources: bandwidth is that of Apple's announcements. FP32 rates are cores x 128 lanes x
2 operations x clock; the clocks of M1 and M2 are those of philipturner/metal-benchmarks, later
ones are third-party readings (hmc-tech.com) that nobody confirmed.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
    """A chip as it is in one machine."""

    name: str  # that of the system, such as "Apple M3 Max"
    cores: int | None  # GPU cores; None if they were not counted
    bandwidth: Figure  # bytes per second between chip and memory
    fp32: Figure  # operations per second in float32, a fused multiply-add counted as two
    fp16: Figure  # the same in float16


@dataclass(frozen=True)
class BufferLimits:
    """The limits of a command buffer of MLX: this number of operations, or of elements (in Mi).

    MLX calls the second limit MB, but counts elements of arrays.
    """

    operations: int
    mebi_elements: int


@dataclass(frozen=True)
class _ChipModel:
    """The figures of one name: `bandwidth` in GB/s, of some names by the number of cores."""

    most_cores: int
    bandwidth: float | Mapping[int, float]
    teraflops: float | None = None
    confidence: Confidence = Confidence.LOW
    cores: int | None = None  # of the GPU that `teraflops` is of, if it is not the largest


_METERED = Confidence.INDEPENDENT
_MODELS: Mapping[str, _ChipModel] = {
    "M1": _ChipModel(8, 68.25, 2.62, _METERED),
    "M1 Pro": _ChipModel(16, 200, 5.31, _METERED),
    "M1 Max": _ChipModel(32, 400, 10.62, _METERED),
    "M1 Ultra": _ChipModel(64, 800, 21.23, _METERED),
    "M2": _ChipModel(10, 100, 3.58, _METERED),
    "M2 Pro": _ChipModel(19, 200, 6.8, _METERED),
    "M2 Max": _ChipModel(38, 400, 13.6, _METERED),
    "M2 Ultra": _ChipModel(76, 800, 27.2, _METERED),
    "M3": _ChipModel(10, 100),
    "M3 Pro": _ChipModel(18, 150, 6.4),
    "M3 Max": _ChipModel(40, {30: 300, 40: 400}, 14.3),
    "M3 Ultra": _ChipModel(80, 819),
    "M4": _ChipModel(10, 120, 3.8),
    "M4 Pro": _ChipModel(20, 273),
    "M4 Max": _ChipModel(40, {32: 410, 40: 546}, 13.7, cores=32),
    "M5": _ChipModel(10, 153, 4.4),
    "M5 Pro": _ChipModel(20, 307),
    "M5 Max": _ChipModel(40, {32: 460, 40: 614}),
}
_DISPUTED = {"M5 Ultra"}  # the sources for these contradict each other
_CLOCKS = {
    Confidence.INDEPENDENT: "philipturner/metal-benchmarks",
    Confidence.LOW: "a third party, hmc-tech.com",
}
_DISPUTED_HALVES: Mapping[str, str] = {
    "M4 Max": "one guide states both 32 and at most 16 TFLOP/s for it (RESMP-DEV/metal-marlin).",
}
_EQUAL_HALVES = ("M1", "M2")

# The last letter of a GPU's architecture, such as applegpu_g15s: its class, and when MLX commits.
_CLASSES: Mapping[str, tuple[str, BufferLimits]] = {
    "p": ("phone", BufferLimits(20, 40)),
    "g": ("base or Pro", BufferLimits(40, 40)),
    "s": ("Max", BufferLimits(50, 50)),
    "d": ("Ultra", BufferLimits(50, 50)),
}


ATTAINABLE = "an M1 Max reached about 80 % of its bandwidth"
"""A bandwidth that a program reached: 317 of 409 GB/s (llama.cpp #1642)."""
VIRTUAL_GPU = "This Mac is a virtual machine: figures of its GPU prove nothing about a chip."


def is_virtual_device(name: str) -> bool:
    """Return whether the name of a chip, a GPU or a model is that of a virtual machine."""
    return "Virtual" in name or "Paravirtual" in name


def known_chips() -> tuple[str, ...]:
    """Return the names that have figures here, as the system calls them."""
    return tuple(f"Apple {name}" for name in _MODELS)


def normalize_chip_name(name: str) -> str:
    """Return the system's spelling of a chip's name that differs in case, spaces or "Apple"."""
    short_name = " ".join(name.casefold().removeprefix("apple").split())
    for chip_name in known_chips():
        if chip_name.casefold() == f"apple {short_name}":
            return chip_name
    return name


def chip(name: str, cores: int | None = None) -> Chip:
    """Return the figures of a chip, by the system's name of it and its GPU cores."""
    short = name.removeprefix("Apple ").strip()
    model = _MODELS.get(short)
    if model is None:
        unknown = Figure(reason=_no_figures(name, short))
        return Chip(name, cores, unknown, unknown, unknown)
    fp32 = _fp32(name, model, cores)
    bandwidth = _bandwidth(name, model, cores)
    fp16 = _fp16(short, fp32)
    return Chip(name, cores, bandwidth, fp32, fp16)


def this_chip(facts: Mapping[str, Any]) -> Chip:
    """Return the chip of this machine, by the facts of `describe`.

    Outside macOS its figures are missing, and so are those of a virtual machine.
    """
    name = str(facts.get("chip", ""))
    if facts.get("virtual"):
        absence = Figure(reason="this Mac is a virtual machine, whose GPU is not that of a chip.")
        return Chip(name, facts.get("gpu_cores"), absence, absence, absence)
    if sys.platform == "darwin" and name:
        return chip(name, facts.get("gpu_cores"))
    reason = "the system does not name its chip."
    if name:
        reason = f"{name} is not an Apple chip."
    missing = Figure(reason=reason)
    return Chip(name, None, missing, missing, missing)


def gpu_class(architecture: str) -> tuple[str, BufferLimits] | None:
    """Return the class of a GPU, and the limits of MLX's buffers; None if it is not known."""
    if not architecture.startswith("applegpu"):
        return None
    return _CLASSES.get(architecture[-1:])


def _no_figures(name: str, short: str) -> str:
    if not name:
        return "it is not known which chip it is."
    if short in _DISPUTED:
        return f"the sources for the {name} contradict each other."
    return f"tracekit has no figures of a chip called {name!r}."


def _bandwidth(name: str, model: _ChipModel, cores: int | None) -> Figure:
    bandwidth = model.bandwidth
    if not isinstance(bandwidth, float | int):
        pairs = [f"{rate:g} GB/s with {count} GPU cores" for count, rate in bandwidth.items()]
        choices = " and ".join(pairs)
        if cores is None:
            return Figure(reason=f"the {name} has {choices}; how many this one has is not known.")
        if cores not in bandwidth:
            return Figure(reason=f"the {name} has {choices}; of one with {cores} nothing is known.")
        bandwidth = bandwidth[cores]
    return Figure(bandwidth * 1e9, "Apple's announcement", Confidence.PUBLISHED)


def _fp32(name: str, model: _ChipModel, cores: int | None) -> Figure:
    if model.teraflops is None:
        return Figure(reason=f"no source states the clock of the {name}'s GPU.")
    if cores is None:
        return Figure(reason="it depends on the number of GPU cores, which is not known.")
    if not 0 < cores <= model.most_cores:
        return Figure(
            reason=f"the {name} has at most {model.most_cores} GPU cores; this one says {cores}."
        )
    rated_cores = model.cores or model.most_cores
    source = f"cores x 128 lanes x 2 x clock; clock by {_CLOCKS[model.confidence]}"
    if cores != rated_cores:
        source += f"; scaled from the one with {rated_cores} cores"
    rate = model.teraflops * 1e12 * cores / rated_cores
    return Figure(rate, source, model.confidence)


def _fp16(short: str, fp32: Figure) -> Figure:
    if short in _DISPUTED_HALVES:
        return Figure(reason=_DISPUTED_HALVES[short])
    if not short.startswith(_EQUAL_HALVES):
        return Figure(reason="whether float16 is faster than float32 there, no source states.")
    if fp32.value is None:
        return fp32
    return Figure(
        fp32.value, "as float32, by philipturner/metal-benchmarks", Confidence.INDEPENDENT
    )
