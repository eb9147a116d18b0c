"""The traces of the corpus: clean ones, those with one fault, and those with several."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from labelled.drawn import clean
from labelled.facts import Facts
from labelled.faults import FAULTS
from labelled.labels import Label, label
from labelled.program import simulate
from labelled.required import NEED_MARKS, NEEDED
from labelled.setup import Setup

CLEAN = 200
"""How many traces have nothing wrong."""
EACH = 20
"""How many have a fault of one kind, by default."""
_MIXED = 3
_ATTEMPTS = 16
_FIRST = {"tune": 0, "score": 10_000_000}
# Faults that hide others, or that share a part of the setup with too many.
_ALONE = {
    *("capture-empty", "capture-truncated", "schema-drift", "serial-prefill", "impossible-rows"),
    *("tiny-encoders", "frequent-command-buffers", "metadata-per-layer", "host-bound"),
    *("left-out-time", "lost-residency", "unfused-attention", "performance-cliff"),
    *("growing-steps", "uneven-work", "irregular-cadence"),
}
# Faults of programs whose steps are all alike.
_OF_STEPS = {
    *("roofline-distance", "cache-resident", "irregular-cadence", "performance-cliff"),
    *("serial-prefill", "metadata-per-layer", "tiny-encoders", "frequent-command-buffers"),
    *("growing-steps", "uneven-work"),
}
_EXCLUSIVE = (
    {"low-occupancy", "memory-bound", "compute-bound", "other-limiter", "gpu-contended"},
    {"roofline-distance", "cache-resident"},
    {"bubbles", "late-start", "shallow-queue", "frequent-readback", "host-bound"},
    {"scatter-encoder", "gather-share", "avoidable-kernels"},
)


@dataclass(frozen=True)
class Trace:
    """One trace: its seed, and the faults that are put into it, in this order."""

    seed: int
    faults: tuple[str, ...] = ()
    stock: bool = False

    @property
    def kind(self) -> str:
        """What sort of trace it is: clean, the name of its only fault, or mixed."""
        return ("clean", *self.faults)[-1] if len(self.faults) < 2 else "mixed"

    def setup(self) -> Setup:
        """Return what the trace is made of; a `stock` one is of a program without marks."""
        setup = clean(self.seed)
        if len(self.faults) == 1:
            setup = _sized(setup, self.faults[0])
        else:
            for place, fault in enumerate(self.faults):
                setup = FAULTS[fault].put(setup, np.random.default_rng([self.seed, 2, place]))
        return replace(setup, marks=False, tells=False) if self.stock else setup


def _sized(setup: Setup, fault: str) -> Setup:
    """Put a fault in that matters, or in two of five traces one that is too small to.

    It is drawn again until its size is beyond the margin on the side that is wanted.
    """
    wanted = Label.PASS if setup.seed % 5 in {1, 3} else Label.FIND
    needed = NEEDED.get(fault, frozenset[str]())
    marked = replace(
        setup,
        marks=setup.marks or fault in NEED_MARKS,
        missing=setup.missing - needed,
        variants=() if fault in _OF_STEPS else setup.variants,
    )
    drawn = setup
    for attempt in range(_ATTEMPTS):
        drawn = FAULTS[fault].put(marked, np.random.default_rng([setup.seed, 2, attempt]))
        if label(fault, Facts(simulate(drawn))) is wanted:
            break
    return drawn


def corpus(part: str, each: int = EACH, clean_traces: int = CLEAN) -> Iterator[Trace]:
    """Yield the traces of a part, "tune" or "score", which have no seed in common."""
    first = _FIRST[part]
    yield from (Trace(first + number) for number in range(clean_traces))
    for place, fault in enumerate(FAULTS, start=1):
        at = first + place * 10_000
        yield from (Trace(at + number, (fault,)) for number in range(each))
    at = first + 900_000
    yield from (Trace(at + n, _mixed(at + n)) for n in range(_MIXED * each))


def trace_of(seed: int) -> Trace:
    """Return the trace that a seed stands for."""
    place = seed % _FIRST["score"] // 10_000
    if place >= 90:
        return Trace(seed, _mixed(seed))
    names = list(FAULTS)
    return Trace(seed, (names[place - 1],)) if 0 < place <= len(names) else Trace(seed)


def _mixed(seed: int) -> tuple[str, ...]:
    """Choose two to four faults that can stand beside each other."""
    random = np.random.default_rng([seed, 3])
    names = [name for name in FAULTS if name not in _ALONE]
    chosen: list[str] = []
    for place in random.permutation(len(names)).tolist():
        name = names[place]
        rivals = set().union(*(group for group in _EXCLUSIVE if name in group))
        if not rivals & set(chosen):
            chosen.append(name)
    return tuple(chosen[: int(random.integers(2, 5))])
