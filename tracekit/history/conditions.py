"""What slowed one side down from outside: a machine that was hot, down-clocked or shared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tracekit.analysis.intervals import steady_window
from tracekit.errors import TracekitError
from tracekit.history.sample import Sample

# Rules that find a state of the machine, not of the work.
_OUTSIDE = (
    *("gpu-contended", "gpu-downclocked", "thermal-pressure"),
    *("capture-empty", "capture-truncated", "trace-overhead"),
)
_FREE = 0.9


@dataclass(frozen=True)
class Condition:
    """Something that held on one side only: where, what found it, and in words."""

    side: Literal["before", "after"]
    what: str
    words: str


def conditions(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[Condition, ...]:
    """Return what held for a run of one side, and for none of the other."""
    old, new = _held(before), _held(after)
    found = [Condition("before", what, words) for what, words in old.items() if what not in new]
    found += [Condition("after", what, words) for what, words in new.items() if what not in old]
    return tuple(found)


def _held(samples: Sequence[Sample]) -> dict[str, str]:
    return {what: words for one in samples for what, words in (*_found(one), *_crowded(one))}


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
    if used >= _FREE * cores and used - own > 1 - _FREE:
        yield (
            "machine-crowded",
            f"other processes used {used - own:.1f} of {cores} cores in {sample.name}",
        )
