"""The differences between two sides: machine and software, settings, work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from tracekit.base import Provenance
from tracekit.comparison.samples import Sample

NOT_STATED = "not stated"
_CLOCKS = {"host": "host: work on a CPU", "bench": "bench"}  # by recorder
_VOID = frozenset({"workload", "recorder", "virtual machine"})  # facts that must not differ
# Of these, those that differ between two builds of one program, such as ./main-old and ./main-new.
_OF_A_PROGRAM = frozenset({"workload", "target"})


class Weight(StrEnum):
    """The effect of a difference on a comparison: it voids it, or is a caveat."""

    VOID = "void"
    MARKED = "marked"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in all runs; values of several runs are joined by commas."""

    what: str
    before: str
    after: str
    weight: Weight


def differences(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[Difference, ...]:
    """Return the differences between the sides, and within a side; those that void come first."""
    facts_before = list(map(_facts, samples_before))
    facts_after = list(map(_facts, samples_after))
    names: dict[str, None] = {}
    for facts in (*facts_before, *facts_after):
        names.update(dict.fromkeys(facts))
    all_differences: list[Difference] = []
    for name in names:
        values_before = _values_of(name, facts_before)
        values_after = _values_of(name, facts_after)
        values = {*values_before, *values_after}
        if len(values) == 1:
            continue
        weight = _weigh(name, values, samples_before, samples_after)
        joined_before = _join_distinct(values_before)
        joined_after = _join_distinct(values_after)
        all_differences.append(Difference(name, joined_before, joined_after, weight))
    all_differences.sort(key=lambda difference: difference.weight is not Weight.VOID)
    return tuple(all_differences)


def _values_of(name: str, facts_of_runs: Sequence[Mapping[str, str]]) -> list[str]:
    return [facts.get(name, NOT_STATED) for facts in facts_of_runs]


def _join_distinct(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _weigh(
    name: str, values: set[str], samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> Weight:
    """Return whether a difference of both sides voids their comparison."""
    samples = (*samples_before, *samples_after)
    # An import has no other name of its program.
    is_program = name == "target" and all(
        sample.result.provenance.recorder == "import" for sample in samples
    )
    if NOT_STATED in values or not (name in _VOID or is_program):
        return Weight.MARKED
    if name in _OF_A_PROGRAM and _measure_the_same(samples_before, samples_after):
        return Weight.MARKED
    return Weight.VOID


def _measure_the_same(samples_before: Sequence[Sample], samples_after: Sequence[Sample]) -> bool:
    """Tell whether all runs are of programs that measured the same things of themselves."""
    printed: set[frozenset[str]] = set()
    for sample in (*samples_before, *samples_after):
        if not sample.result.provenance.command:
            return False
        results = sample.result.results
        names = frozenset(number.name for number in results)
        printed.add(names - {"wall_time"})
    return len(printed) == 1 and frozenset() not in printed


def _facts(sample: Sample) -> dict[str, str]:
    run = sample.result.provenance
    machine = run.machine
    used = run.used
    target_names = {PurePath(target.name).name for target in run.targets if target.name}
    facts: dict[str, Any] = {
        "workload": _subject(run),
        # The clock of the times: exports of others are traces, too.
        "recorder": _CLOCKS.get(run.recorder, "trace of Instruments"),
        "target": ", ".join(sorted(target_names)),
        "chip": machine.get("chip"),
        "model": machine.get("model"),
        "virtual machine": machine.get("virtual"),
        "GPU cores": machine.get("gpu_cores"),
        "cores": machine.get("cores"),
        "memory": machine.get("memory"),
        "architecture": machine.get("architecture"),
        "Rosetta": machine.get("rosetta"),
        "operating system": machine.get("os"),
        "kernel": machine.get("release"),
        "Instruments": "" if run.recorder == "host" else run.recorder_version,
        **dict(run.conditions),
        "method used": used and used.method,
        "instruments used": used and used.instruments,
        "counter set": used and used.counter_set,
        "counter profile": used and used.counter_profile,
        "Python": machine.get("python"),
        "MLX": machine.get("mlx"),
        "tracekit": run.tracekit,
        "git commit": run.git_commit,
    }
    for name, value in run.parameters.items():
        facts[f"parameter {name}"] = value
    return {name: _words(value) for name, value in facts.items()}


def _subject(run: Provenance) -> str:
    """Return the program or workload of a run; empty for exports of others, which name none."""
    if run.command:
        return run.command[0]
    if run.recorder == "import":
        return ""
    return run.workload


def _words(value: Any) -> str:
    if value is None:
        return NOT_STATED
    if isinstance(value, tuple):
        value = ", ".join(value)
    return str(value) or NOT_STATED
