"""What slowed one side down from outside: a machine that was hot, down-clocked or shared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from tracekit.analysis.intervals import steady_window
from tracekit.base.errors import TracekitError
from tracekit.compare.sample import Sample

# Rules that find a state of the machine, not of the work.
_OUTSIDE = (
    *("gpu-contended", "gpu-downclocked", "thermal-pressure"),
    *("capture-empty", "capture-truncated", "trace-overhead"),
)
CROWDED = "machine-crowded"
_FULL = 0.9
_NOTABLE = 0.2


@dataclass(frozen=True)
class Condition:
    """Something that held for most runs of a side: which side, what it was, and in words.

    `spoils` tells that times on that side say nothing, in whichever direction they differ; else
    the condition can only have made that side slower.
    """

    side: Literal["before", "after"]
    what: str
    words: str
    spoils: bool = False


def conditions(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[Condition, ...]:
    """Return what held for one side only, and what spoils the times of either."""
    old, new = _held(before), _held(after)
    return (*_of("before", old, new), *_of("after", new, old))


def _of(
    side: Literal["before", "after"], own: dict[str, str], other: dict[str, str]
) -> Iterator[Condition]:
    for what, words in own.items():
        spoils = what == CROWDED
        if spoils or what not in other:
            yield Condition(side, what, words, spoils)


def _held(samples: Sequence[Sample]) -> dict[str, str]:
    """Return what held for more than half of the runs, in words about the first of them."""
    by_what: dict[str, list[str]] = {}
    for sample in samples:
        for what, words in dict((*_found(sample), *_crowded(sample))).items():
            by_what.setdefault(what, []).append(words)
    return {what: words[0] for what, words in by_what.items() if len(words) > len(samples) / 2}


def _found(sample: Sample) -> Iterator[tuple[str, str]]:
    for finding in sample.result.findings:
        if finding.rule in _OUTSIDE:
            yield finding.rule, f"{finding.rule} was found in {sample.name}"


def _crowded(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield that other processes left the target no room, where samples of the host show it."""
    cores = sample.result.provenance.machine.get("cores")
    try:
        samples = (sample.tables or {})["process_samples"]
        phases = (sample.tables or {}).get("phases")
    except (KeyError, TracekitError):
        return
    window = steady_window(phases, samples.assign(start=samples["time"], duration=0))
    if window is None or not isinstance(cores, int):
        return
    inside = samples[samples["time"].between(window.start, window.end)]
    used, own = inside["machine"].median(), inside["cpu"].median()
    if pd.isna(used) or pd.isna(own):
        return  # no sample fell into the window, or the system gave none
    if used >= _FULL * cores and used - own >= _NOTABLE:
        yield (
            CROWDED,
            f"other processes used {used - own:.1f} of {cores} cores in {sample.name}",
        )
