"""What differs between two sides: machine and software, conditions, work, findings."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from tracekit.analysis import Finding, Severity, Status, crowd_of, grouped
from tracekit.base import TracekitError
from tracekit.compare.samples import Sample
from tracekit.tables import families

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


def kernel_changes(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[KernelChange, ...]:
    """Match work by label; what gained or lost most time in sum comes first.

    Runs whose tables are gone take no part.
    """
    old, new = _kernels(samples_before), _kernels(samples_after)

    def change(label: str) -> KernelChange:
        kernel_before, kernel_after = old.get(label), new.get(label)
        ratio = (
            kernel_after.p50 / kernel_before.p50
            if kernel_before and kernel_after and kernel_before.p50 > 0
            else None
        )
        return KernelChange(label, kernel_before, kernel_after, ratio)

    def shift(label: str) -> float:
        totals = [side[label].total if label in side else 0 for side in (old, new)]
        return abs(totals[1] - totals[0])

    labels = sorted({**old, **new}, key=lambda label: (-shift(label), label))
    return tuple(map(change, labels))


def _kernels(samples: Sequence[Sample]) -> dict[str, Kernel]:
    """Return the kernels of one side: of each label the median over the runs that have it."""
    by_label: dict[str, list[list[float]]] = {}
    for sample in samples:
        try:
            frame = (sample.tables or {})["gpu_intervals"]
        except (KeyError, TracekitError):
            continue
        target_rows = frame[frame["target"].astype(bool) & frame["duration"].notna()]
        codes, names = families(target_rows["label"])
        durations = target_rows["duration"].to_numpy(dtype=np.int64)
        groups = grouped(codes.to_numpy(), durations, _PERCENTILES)
        numbers = np.column_stack((groups.counts, groups.totals, groups.percentiles))
        for code, row in zip(groups.codes.tolist(), numbers.tolist(), strict=True):
            by_label.setdefault(names[code], []).append(row)
    return {
        label: Kernel(*(statistics.median(column) for column in zip(*runs, strict=True)))
        for label, runs in by_label.items()
    }


NOT_STATED = "not stated"


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


def differences(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[Difference, ...]:
    """Return what differs between the sides, and within a side; what voids comes first."""
    sides = [[_facts(sample) for sample in side] for side in (samples_before, samples_after)]
    found_differences: list[Difference] = []
    for name in dict.fromkeys(name for side in sides for facts in side for name in facts):
        old, new = ([facts.get(name, NOT_STATED) for facts in side] for side in sides)
        if len({*old, *new}) > 1:
            weight = _weigh(name, {*old, *new}, samples_before, samples_after)
            before_words, after_words = (", ".join(dict.fromkeys(side)) for side in (old, new))
            found_differences.append(Difference(name, before_words, after_words, weight))
    return tuple(
        sorted(found_differences, key=lambda difference: difference.weight is not Weight.VOID)
    )


def _weigh(
    name: str, values: set[str], samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> Weight:
    """Return whether a difference of both sides voids their comparison."""
    if name not in _VOID or NOT_STATED in values:
        return Weight.MARKED
    of_builds = name in _OF_A_PROGRAM and _measure_the_same(samples_before, samples_after)
    return Weight.MARKED if of_builds else Weight.VOID


# What differs between two builds of one program, such as ./main-old and ./main-new.
_OF_A_PROGRAM = frozenset({"workload", "target"})


def _measure_the_same(samples_before: Sequence[Sample], samples_after: Sequence[Sample]) -> bool:
    """Tell whether all runs are of programs that measured the same things of themselves."""
    samples = [*samples_before, *samples_after]
    if not all(sample.result.provenance.command for sample in samples):
        return False
    printed = {
        frozenset(number.name for number in sample.result.results) - {"wall_time"}
        for sample in samples
    }
    return len(printed) == 1 and bool(next(iter(printed)))


def _facts(sample: Sample) -> dict[str, str]:
    run, machine = sample.result.provenance, sample.result.provenance.machine
    workload = "" if run.recorder == "import" else run.workload  # exports of others do not say
    facts = {
        "workload": run.command[0] if run.command else workload,
        # Whose clock the times are read from: exports of others are traces, too.
        "recorder": _CLOCKS.get(run.recorder, "trace of Instruments"),
        "target": ", ".join(sorted({target.name for target in run.targets if target.name})),
        "chip": machine.get("chip"),
        "model": machine.get("model"),
        "GPU cores": machine.get("gpu_cores"),
        "cores": machine.get("cores"),
        "memory": machine.get("memory"),
        "architecture": machine.get("architecture"),
        "Rosetta": machine.get("rosetta"),
        "operating system": machine.get("os"),
        "kernel": machine.get("release"),
        "Instruments": "" if run.recorder == "host" else run.recorder_version,
        "templates": ", ".join(run.templates),
        "instruments": ", ".join(run.instruments),
        "method": run.method,
        "counters": run.counters,
        "warm-up steps": run.warmup,
        "time limit": run.time_limit,
        "repeats": run.repeats,
        "Python": machine.get("python"),
        "MLX": machine.get("mlx"),
        "tracekit": run.tracekit,
        "git commit": run.git_commit,
        **{f"parameter {name}": value for name, value in run.parameters.items()},
    }
    return {
        name: NOT_STATED if value is None else str(value) or NOT_STATED
        for name, value in facts.items()
    }


_CLOCKS = {"host": "host: work on a CPU", "bench": "bench"}
_VOID = frozenset({"workload", "recorder"})


# Rules that find a state of the machine, not of the work.
_OUTSIDE = (
    *("gpu-contended", "gpu-downclocked", "thermal-pressure"),
    *("capture-empty", "capture-truncated", "trace-overhead"),
)
CROWDED = "machine-crowded"


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


def conditions(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[Condition, ...]:
    """Return what held for one side only, and what spoils the times of either."""
    old, new = _find_common_conditions(samples_before), _find_common_conditions(samples_after)
    sides: tuple[tuple[Literal["before", "after"], dict[str, str], dict[str, str]], ...]
    sides = (("before", old, new), ("after", new, old))
    return tuple(
        Condition(side, what, words, spoils=what == CROWDED)
        for side, side_conditions, other_conditions in sides
        for what, words in side_conditions.items()
        if what == CROWDED or what not in other_conditions
    )


def _find_common_conditions(samples: Sequence[Sample]) -> dict[str, str]:
    """Return what held for more than half of the runs, in words about the first of them."""
    by_what: dict[str, list[str]] = {}
    for sample in samples:
        words_by_rule = {
            finding.rule: f"{finding.rule} was found in {sample.name}"
            for finding in sample.result.findings
            if finding.rule in _OUTSIDE
        }
        for what, words in (words_by_rule | dict(_find_crowding(sample))).items():
            by_what.setdefault(what, []).append(words)
    return {what: words[0] for what, words in by_what.items() if len(words) > len(samples) / 2}


def _find_crowding(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield that other processes left the target no room, where something shows it."""
    if sample.disturbed:
        yield CROWDED, f"{sample.disturbed} in {sample.name}"
        return
    crowd = crowd_of(sample.tables or {}, sample.result.provenance)
    if crowd is not None and crowd.spoils:
        yield CROWDED, f"{crowd.words} in {sample.name}"


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


def finding_changes(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[FindingChange, ...]:
    """Return what became of each finding: new ones first, the worst of them at the top."""
    rules = {
        finding.rule: None
        for sample in (*samples_after, *samples_before)
        for finding in sample.result.findings
    }
    changes = [_finding_change(rule, samples_before, samples_after) for rule in rules]
    order = list(Became)
    return tuple(
        sorted(
            changes,
            key=lambda change: (order.index(change.course), _RANKS[change.severity], change.rule),
        )
    )


def _finding_change(
    rule: str, samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> FindingChange:
    old, new = list(_findings(rule, samples_before)), list(_findings(rule, samples_after))
    reason = "" if old and new else _unseen(rule, samples_before if not old else samples_after)
    finding_before, finding_after = (side[0] if side else None for side in (old, new))
    severity = min((finding.severity for finding in (*old, *new)), key=_RANKS.__getitem__)
    return FindingChange(
        rule=rule,
        course=_course(finding_before, finding_after, reason),
        severity=severity,
        before=finding_before,
        after=finding_after,
        runs_before=len(old),
        runs_after=len(new),
        reason=reason,
    )


def _findings(rule: str, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yield the worst finding of the rule in each run that has one."""
    for sample in samples:
        findings = sample.result.findings
        rule_findings = [
            finding for finding in findings if rule in {finding.rule, *finding.effects}
        ]
        if rule_findings:
            yield min(
                rule_findings,
                key=lambda finding: (_RANKS[finding.severity], -(finding.saving or 0)),
            )


def _unseen(rule: str, samples: Sequence[Sample]) -> str:
    """Return why the rule cannot be said to have passed in these runs; empty if it passed."""
    for sample in samples:
        check = next((entry for entry in sample.result.checks if entry.rule == rule), None)
        if check is None:
            return "the rule was not among those that judged"
        if check.status is not Status.PASSED:
            return check.reason or f"the rule {check.status}"
    return ""


def _course(finding_before: Finding | None, finding_after: Finding | None, reason: str) -> Became:
    if finding_before is None or finding_after is None:
        if reason:
            return Became.UNKNOWN
        return Became.APPEARED if finding_before is None else Became.GONE
    if finding_before.severity is not finding_after.severity:
        worse = _RANKS[finding_after.severity] < _RANKS[finding_before.severity]
        return Became.GREW if worse else Became.SHRANK
    old, new = finding_before.saving, finding_after.saving
    if old is None or new is None or abs(new - old) < _LEAST_SAVING * max(old, 1):
        return Became.STAYED
    return Became.GREW if new > old else Became.SHRANK
