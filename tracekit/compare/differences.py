"""The differences between two sides: machine and software, conditions, work, findings."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from tracekit.analysis import Finding, Status, crowd_of, intervals
from tracekit.base import Provenance, TracekitError
from tracekit.compare.samples import Sample
from tracekit.tables import Severity, families

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
    """The change of the work of one label; None for a side without that work.

    `ratio` is after / before of the median interval, None if a side has none.
    """

    label: str
    before: Kernel | None
    after: Kernel | None
    ratio: float | None


def kernel_changes(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[KernelChange, ...]:
    """Match work by label; the largest changes of the total time come first.

    Runs whose tables are gone take no part.
    """
    old = _kernels(samples_before)
    new = _kernels(samples_after)
    labels = {**old, **new}
    changes = [_kernel_change(label, old.get(label), new.get(label)) for label in labels]
    changes.sort(key=lambda change: (-_shift_of_total(change), change.label))
    return tuple(changes)


def _kernel_change(
    label: str, kernel_before: Kernel | None, kernel_after: Kernel | None
) -> KernelChange:
    ratio = None
    if kernel_before and kernel_after and kernel_before.p50 > 0:
        ratio = kernel_after.p50 / kernel_before.p50
    return KernelChange(label, kernel_before, kernel_after, ratio)


def _shift_of_total(change: KernelChange) -> float:
    total_before = 0
    if change.before:
        total_before = change.before.total
    total_after = 0
    if change.after:
        total_after = change.after.total
    return abs(total_after - total_before)


def _kernels(samples: Sequence[Sample]) -> dict[str, Kernel]:
    """Return the kernels of one side: of each label the median over the runs that have it."""
    by_label: dict[str, list[list[float]]] = {}
    for sample in samples:
        try:
            frame = (sample.tables or {})["gpu_intervals"]
        except (KeyError, TracekitError):
            continue
        is_of_target = frame["target"].astype(bool)
        target_rows = frame[is_of_target & frame["duration"].notna()]
        codes, names = families(target_rows["label"])
        durations = target_rows["duration"].to_numpy(dtype=np.int64)
        groups = intervals.grouped(codes.to_numpy(), durations, _PERCENTILES)
        columns = (groups.counts, groups.totals, groups.percentiles)
        numbers = np.column_stack(columns)
        kernel_rows = zip(groups.codes.tolist(), numbers.tolist(), strict=True)
        for code, row in kernel_rows:
            by_label.setdefault(names[code], []).append(row)
    return {label: _median_kernel(rows) for label, rows in by_label.items()}


def _median_kernel(rows: Sequence[Sequence[float]]) -> Kernel:
    columns = zip(*rows, strict=True)
    return Kernel(*map(statistics.median, columns))


NOT_STATED = "not stated"


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
    void: list[Difference] = []
    marked: list[Difference] = []
    for name in names:
        old = _values_of(name, facts_before)
        new = _values_of(name, facts_after)
        distinct_values = {*old, *new}
        if len(distinct_values) == 1:
            continue
        weight = _weigh(name, distinct_values, samples_before, samples_after)
        joined_before = _join_distinct(old)
        joined_after = _join_distinct(new)
        difference = Difference(name, joined_before, joined_after, weight)
        if weight is Weight.VOID:
            void.append(difference)
        else:
            marked.append(difference)
    return (*void, *marked)


def _values_of(name: str, facts_of_runs: Sequence[Mapping[str, str]]) -> list[str]:
    return [facts.get(name, NOT_STATED) for facts in facts_of_runs]


def _join_distinct(values: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _weigh(
    name: str, values: set[str], samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> Weight:
    """Return whether a difference of both sides voids their comparison."""
    if name not in _VOID or NOT_STATED in values:
        return Weight.MARKED
    if name in _OF_A_PROGRAM and _measure_the_same(samples_before, samples_after):
        return Weight.MARKED
    return Weight.VOID


# These differ between two builds of one program, such as ./main-old and ./main-new.
_OF_A_PROGRAM = frozenset({"workload", "target"})


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
    target_names = {target.name for target in run.targets if target.name}
    workload = _subject(run)
    recorder = _CLOCKS.get(run.recorder, "trace of Instruments")
    facts: dict[str, Any] = {
        "workload": workload,
        # The clock of the times: exports of others are traces, too.
        "recorder": recorder,
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
        "method used": run.used and run.used.method,
        "instruments used": run.used and run.used.instruments,
        "counter set": run.used and run.used.counter_set,
        "counter profile": run.used and run.used.counter_profile,
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


_CLOCKS = {"host": "host: work on a CPU", "bench": "bench"}
_VOID = frozenset({"workload", "recorder", "virtual machine"})


# Rules that find a state of the machine, not of the work.
_OUTSIDE = (
    "gpu-contended",
    "gpu-downclocked",
    "thermal-pressure",
    "capture-empty",
    "capture-truncated",
    "trace-overhead",
)
CROWDED = "machine-crowded"


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
    by_what: dict[str, list[str]] = {}
    for sample in samples:
        words_by_rule: dict[str, str] = {}
        for finding in sample.result.findings:
            if finding.rule in _OUTSIDE:
                words_by_rule[finding.rule] = f"{finding.rule} was found in {sample.name}"
        words_by_rule.update(_find_crowding(sample))
        for what, words in words_by_rule.items():
            by_what.setdefault(what, []).append(words)
    return {what: words[0] for what, words in by_what.items() if len(words) > len(samples) / 2}


def _find_crowding(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield the condition that other processes left the target no room, if something shows it."""
    if sample.disturbed:
        yield CROWDED, f"{sample.disturbed} in {sample.name}"
        return
    crowd = crowd_of(sample.tables or {}, sample.result.provenance)
    if crowd is not None and crowd.spoils:
        yield CROWDED, f"{crowd.words} in {sample.name}"


_LEAST_SAVING = 0.2


class Became(StrEnum):
    """The change of a finding; it appeared or is gone only if the other side looked for it."""

    APPEARED = "appeared"
    GONE = "gone"
    GREW = "grew"
    SHRANK = "shrank"
    STAYED = "stayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FindingChange:
    """The change of a rule's finding.

    `runs_before` and `runs_after` are the numbers of runs with a finding; the findings are those
    of the first run that has one. `reason` explains an unknown course.
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
    """Return the change of each finding: new ones first, the worst of them at the top."""
    rules: dict[str, None] = {}
    for sample in (*samples_after, *samples_before):
        for finding in sample.result.findings:
            rules[finding.rule] = None
    changes = [_finding_change(rule, samples_before, samples_after) for rule in rules]
    changes.sort(key=_rank_of_change)
    return tuple(changes)


def _rank_of_change(change: FindingChange) -> tuple[int, int, str]:
    course_rank = list(Became).index(change.course)
    return course_rank, change.severity.rank, change.rule


def _finding_change(
    rule: str, samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> FindingChange:
    old = list(_findings(rule, samples_before))
    new = list(_findings(rule, samples_after))
    reason = ""
    if not old:
        reason = _unseen(rule, samples_before)
    elif not new:
        reason = _unseen(rule, samples_after)
    finding_before = old[0] if old else None
    finding_after = new[0] if new else None
    all_findings = (*old, *new)
    worst = min(all_findings, key=lambda finding: finding.severity.rank)
    return FindingChange(
        rule=rule,
        course=_course(rule, finding_before, finding_after, reason),
        severity=worst.severity,
        before=finding_before,
        after=finding_after,
        runs_before=len(old),
        runs_after=len(new),
        reason=reason,
    )


def _findings(rule: str, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yield the worst finding of the rule in each run that has one: the first one of its result.

    If the rule is an effect, that is the finding of the rule whose effect it is.
    """
    for sample in samples:
        for finding in sample.result.findings:
            if rule in {finding.rule, *finding.effects}:
                yield finding
                break


def _unseen(rule: str, samples: Sequence[Sample]) -> str:
    """Return why the rule cannot be taken as passed in these runs; empty if it passed."""
    for sample in samples:
        checks = (entry for entry in sample.result.checks if entry.rule == rule)
        check = next(checks, None)
        if check is None:
            return "the rule was not among those that judged"
        if check.status is not Status.PASSED:
            return check.reason or f"the rule {check.status}"
    return ""


def _course(
    rule: str, finding_before: Finding | None, finding_after: Finding | None, reason: str
) -> Became:
    """Return the change of a rule's finding; as an effect of another rule's it has no size."""
    if reason and (finding_before is None or finding_after is None):
        return Became.UNKNOWN
    if finding_before is None:
        return Became.APPEARED
    if finding_after is None:
        return Became.GONE
    if finding_before.rule != rule or finding_after.rule != rule:
        return Became.STAYED
    return _compare_sizes(finding_before, finding_after)


def _compare_sizes(finding_before: Finding, finding_after: Finding) -> Became:
    """Return whether a finding grew or shrank, by its severity or else by its saving."""
    if finding_before.severity is not finding_after.severity:
        worse = finding_after.severity.rank < finding_before.severity.rank
        return Became.GREW if worse else Became.SHRANK
    old = finding_before.saving
    new = finding_after.saving
    if old is None or new is None or abs(new - old) < _LEAST_SAVING * max(old, 1):
        return Became.STAYED
    return Became.GREW if new > old else Became.SHRANK
