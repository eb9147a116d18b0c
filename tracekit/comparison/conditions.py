"""The conditions of runs that spoil their times, or make one side slower: states of the machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tracekit import analysis
from tracekit.comparison.samples import Sample

STATES_OF_THE_MACHINE = (
    "gpu-contended",
    "gpu-downclocked",
    "thermal-pressure",
    "capture-empty",
    "capture-truncated",
    "trace-overhead",
)
"""Rules that find a state of the machine, not of the work."""
CROWDED = "machine-crowded"
"""The condition that other processes left the target no room."""


@dataclass(frozen=True)
class Condition:
    """A condition that held for most runs of a side, and its description in words.

    If it `spoils`, times on that side decide nothing, in whichever direction they differ; else the
    condition can only have made that side slower.
    """

    side: Literal["before", "after"]
    what: str
    words: str
    spoils: bool = False


def conditions(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[Condition, ...]:
    """Return the conditions of one side only, and those that spoil the times of either."""
    old = _find_common_conditions(samples_before)
    new = _find_common_conditions(samples_after)
    return (*_iter_conditions("before", old, new), *_iter_conditions("after", new, old))


def _iter_conditions(
    side: Literal["before", "after"],
    side_conditions: Mapping[str, str],
    other_conditions: Mapping[str, str],
) -> Iterator[Condition]:
    for what, words in side_conditions.items():
        spoils = what == CROWDED
        if spoils or what not in other_conditions:
            yield Condition(side, what, words, spoils)


def _find_common_conditions(samples: Sequence[Sample]) -> dict[str, str]:
    """Return the conditions of more than half of the runs, in words about the first of them."""
    words_of_runs: dict[str, list[str]] = {}
    for sample in samples:
        conditions_of_run = dict((*_find_states(sample), *_find_crowding(sample)))
        for what, words in conditions_of_run.items():
            words_of_runs.setdefault(what, []).append(words)
    common_conditions: dict[str, str] = {}
    for what, words in words_of_runs.items():
        if len(words) > len(samples) / 2:
            common_conditions[what] = words[0]
    return common_conditions


def _find_states(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the states of the machine that rules found in a run."""
    for finding in sample.result.findings:
        if finding.rule in STATES_OF_THE_MACHINE:
            yield finding.rule, f"{finding.rule} was found in {sample.name}"


def _find_crowding(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the condition that other processes left the target no room, if something shows it."""
    if sample.disturbed:
        yield CROWDED, f"{sample.disturbed} in {sample.name}"
        return
    crowd = sample.measures.take("crowd", str, partial(_describe_crowd, sample))
    if crowd:
        yield CROWDED, f"{crowd} in {sample.name}"


def _describe_crowd(sample: Sample) -> str:
    """Return the load of other processes that spoils times, in words; empty without one."""
    crowd = analysis.crowd.crowd_of(sample.open_tables(), sample.result.provenance)
    return crowd.words if crowd is not None and crowd.spoils else ""
