"""What differs between two sides: machine and software, conditions, work, findings."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import pandas as pd

from tracekit.analysis import Finding, Severity, Status, families, grouped, steady_window
from tracekit.base import Provenance, TracekitError
from tracekit.compare.samples import Sample

_PERCENTILES = (50, 95)


@dataclass(frozen=True)
class Kernel:
    """All intervals of one label in a run, or the median of that over runs; times in ns."""

    count: float
    total: float
    p50: float
    p95: float


@dataclass(frozen=True)
class KernelChange:
    """What became of the work of one label; None where a side has none of it.

    `ratio` is after / before of the median interval, None where a side has none.
    """

    label: str
    before: Kernel | None
    after: Kernel | None
    ratio: float | None


def kernel_changes(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[KernelChange, ...]:
    """Match work by label; what gained or lost most time in sum comes first.

    Runs whose tables are gone take no part.
    """
    old, new = _side(before), _side(after)
    found = [_change(label, old.get(label), new.get(label)) for label in {**old, **new}]
    return tuple(sorted(found, key=lambda one: (-_shift(one), one.label)))


def _change(label: str, before: Kernel | None, after: Kernel | None) -> KernelChange:
    ratio = after.p50 / before.p50 if before and after and before.p50 > 0 else None
    return KernelChange(label, before, after, ratio)


def _shift(change: KernelChange) -> float:
    before, after = (side.total if side else 0 for side in (change.before, change.after))
    return abs(after - before)


def _side(samples: Sequence[Sample]) -> dict[str, Kernel]:
    """Return the kernels of one side: of each label the median over the runs that have it."""
    by_label: dict[str, list[Kernel]] = {}
    for sample in samples:
        for label, kernel in _kernels(sample.tables or {}).items():
            by_label.setdefault(label, []).append(kernel)
    return {label: _middle(kernels) for label, kernels in by_label.items()}


def _middle(kernels: Sequence[Kernel]) -> Kernel:
    rows = [(kernel.count, kernel.total, kernel.p50, kernel.p95) for kernel in kernels]
    return Kernel(*(statistics.median(column) for column in zip(*rows, strict=True)))


def _kernels(tables: Mapping[str, pd.DataFrame]) -> dict[str, Kernel]:
    try:
        frame = tables["gpu_intervals"]
    except (KeyError, TracekitError):
        return {}
    own = frame[frame["target"].astype(bool) & frame["duration"].notna()]
    codes, names = families(own["label"])
    durations = own["duration"].to_numpy(dtype=np.int64)
    found = grouped(codes.to_numpy(), durations, _PERCENTILES)
    columns = (found.codes, found.counts, found.totals, found.percentiles)
    return {
        names[code]: Kernel(float(count), float(total), *map(float, percentiles))
        for code, count, total, percentiles in zip(
            *(column.tolist() for column in columns), strict=True
        )
    }


NOT_STATED = "not stated"
_Facts = list[dict[str, str]]


class Weight(StrEnum):
    """What a difference does to a comparison: it voids it, or is to be kept in mind."""

    VOID = "void"
    MARKED = "marked"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in all runs; values of several runs stand with commas."""

    what: str
    before: str
    after: str
    weight: Weight


def differences(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[Difference, ...]:
    """Return what differs between the sides, and within a side; what voids comes first."""
    sides = [[_facts(one) for one in side] for side in (before, after)]
    names = dict.fromkeys(name for side in sides for facts in side for name in facts)
    found = list(_differing(names, sides))
    return tuple(sorted(found, key=lambda one: one.weight is not Weight.VOID))


def _differing(names: Iterable[str], sides: Sequence[_Facts]) -> Iterator[Difference]:
    for name in names:
        old, new = ([facts.get(name, NOT_STATED) for facts in side] for side in sides)
        if len({*old, *new}) > 1:
            void = name in _VOID and NOT_STATED not in {*old, *new}
            weight = Weight.VOID if void else Weight.MARKED
            yield Difference(name, _joined(old), _joined(new), weight)


def _facts(sample: Sample) -> dict[str, str]:
    provenance = sample.result.provenance
    facts = {name: read(provenance) for name, read in _READ.items()}
    facts |= {f"parameter {name}": str(value) for name, value in provenance.parameters.items()}
    return {name: words or NOT_STATED for name, words in facts.items()}


def _work(provenance: Provenance) -> str:
    """Return what was recorded: a workload, or a program; exports of others do not say."""
    if provenance.command:
        return provenance.command[0]
    return "" if provenance.recorder == "import" else provenance.workload


def _target(provenance: Provenance) -> str:
    return ", ".join(sorted({target.name for target in provenance.targets if target.name}))


def _kind(provenance: Provenance) -> str:
    """Return whose clock the times are read from: exports of others are traces, too."""
    return "host: work on a CPU" if provenance.recorder == "host" else "trace of Instruments"


def _of_machine(key: str) -> Callable[[Provenance], str]:
    return lambda provenance: str(provenance.machine.get(key, ""))


def _optional(value: object) -> str:
    return "" if value is None else str(value)


_READ: dict[str, Callable[[Provenance], str]] = {
    "workload": _work,
    "recorder": _kind,
    "target": _target,
    "chip": _of_machine("chip"),
    "model": _of_machine("model"),
    "GPU cores": _of_machine("gpu_cores"),
    "cores": _of_machine("cores"),
    "memory": _of_machine("memory"),
    "architecture": _of_machine("architecture"),
    "Rosetta": _of_machine("rosetta"),
    "operating system": _of_machine("os"),
    "kernel": _of_machine("release"),
    "Instruments": lambda one: "" if one.recorder == "host" else one.recorder_version,
    "templates": lambda one: ", ".join(one.templates),
    "instruments": lambda one: ", ".join(one.instruments),
    "method": lambda one: one.method,
    "counters": lambda one: one.counters,
    "warm-up steps": lambda one: _optional(one.warmup),
    "time limit": lambda one: _optional(one.time_limit),
    "repeats": lambda one: _optional(one.repeats),
    "Python": _of_machine("python"),
    "MLX": _of_machine("mlx"),
    "tracekit": lambda one: one.tracekit,
    "git commit": lambda one: one.git_commit,
}
_VOID = frozenset({"workload", "recorder"})


def _joined(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))


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

    Where it `spoils`, times on that side decide nothing, in whichever direction they differ; else
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


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_LEAST_SAVING = 0.2


class Became(StrEnum):
    """What became of a finding; new and gone are said only where the other side looked for it."""

    APPEARED = "appeared"
    GONE = "gone"
    GREW = "grew"
    SHRANK = "shrank"
    STAYED = "stayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FindingChange:
    """What became of what a rule finds.

    `runs_before` and `runs_after` say in how many runs it was found; the findings are those of
    the first run that has one. `reason` says why its course is unknown.
    """

    rule: str
    course: Became
    severity: Severity
    before: Finding | None
    after: Finding | None
    runs_before: int
    runs_after: int
    reason: str = ""


def finding_changes(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[FindingChange, ...]:
    """Return what became of each finding: new ones first, the worst of them at the top."""
    found = {
        finding.rule: None for sample in (*after, *before) for finding in sample.result.findings
    }
    changes = [_finding_change(rule, before, after) for rule in found]
    order = list(Became)
    return tuple(
        sorted(changes, key=lambda one: (order.index(one.course), _RANKS[one.severity], one.rule))
    )


def _finding_change(rule: str, before: Sequence[Sample], after: Sequence[Sample]) -> FindingChange:
    old, new = list(_findings(rule, before)), list(_findings(rule, after))
    reason = "" if old and new else _unseen(rule, before if not old else after)
    first, last = (side[0] if side else None for side in (old, new))
    severity = min((one.severity for one in (*old, *new)), key=_RANKS.__getitem__)
    return FindingChange(
        rule=rule,
        course=_course(first, last, reason),
        severity=severity,
        before=first,
        after=last,
        runs_before=len(old),
        runs_after=len(new),
        reason=reason,
    )


def _findings(rule: str, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yield the worst finding of the rule in each run that has one."""
    for sample in samples:
        own = [finding for finding in sample.result.findings if finding.rule == rule]
        if own:
            yield min(own, key=lambda one: (_RANKS[one.severity], -(one.saving or 0)))


def _unseen(rule: str, samples: Sequence[Sample]) -> str:
    """Return why the rule cannot be said to have passed in these runs; empty if it passed."""
    for sample in samples:
        check = next((one for one in sample.result.checks if one.rule == rule), None)
        if check is None:
            return "the rule was not among those that judged"
        if check.status is not Status.PASSED:
            return check.reason or f"the rule {check.status}"
    return ""


def _course(before: Finding | None, after: Finding | None, reason: str) -> Became:
    if before is None or after is None:
        if reason:
            return Became.UNKNOWN
        return Became.APPEARED if before is None else Became.GONE
    if before.severity is not after.severity:
        worse = _RANKS[after.severity] < _RANKS[before.severity]
        return Became.GREW if worse else Became.SHRANK
    return _by_saving(before.saving, after.saving)


def _by_saving(before: int | None, after: int | None) -> Became:
    if before is None or after is None or abs(after - before) < _LEAST_SAVING * max(before, 1):
        return Became.STAYED
    return Became.GREW if after > before else Became.SHRANK
