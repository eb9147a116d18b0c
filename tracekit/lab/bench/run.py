"""Run a bench from beginning to end: choose subjects, measure each family, compare them."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tracekit.base import (
    ToolError,
    UsageError,
    own_version,
    require,
)
from tracekit.lab.bench.company import Count, count_now
from tracekit.lab.bench.document import (
    GPU,
    HOST,
    Bench,
    BenchRow,
    ReplayedCounters,
)
from tracekit.lab.bench.inputs import (
    Inputs,
    Prepared,
    Shape,
    Subject,
    SubjectUnavailable,
    cache_here,
)
from tracekit.lab.bench.measure import Clock, Effort, measure_in_turns
from tracekit.lab.bench.ratios import compare_rows
from tracekit.lab.bench.replayed import read_replayed
from tracekit.lab.bench.subjects.attention import DECODE, PREFILL
from tracekit.lab.bench.subjects.blocks import RESIDUAL, TRAINING
from tracekit.lab.bench.subjects.elementwise import ROPE, SOFTMAX
from tracekit.lab.bench.subjects.experts import EXPERTS, ROUTING
from tracekit.lab.bench.subjects.layers import CACHE, NORM
from tracekit.lab.bench.subjects.products import MATMUL, MLP, QUANTIZED
from tracekit.machine import describe as describe_machine
from tracekit.record import Progress, quiet
from tracekit.workload import backend

SUBJECTS: tuple[Subject, ...] = (  # in the order of their tables
    *(*DECODE, *PREFILL, *CACHE, *NORM),
    *(*MATMUL, *QUANTIZED, *MLP, *ROUTING, *EXPERTS, *SOFTMAX, *ROPE, *RESIDUAL, *TRAINING),
)
SUITES = ("attention", "cache", "norm", "layers", "training")


def chosen(suite: str, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects of a suite, or those of `names`; raise UsageError for unknown ones."""
    require(suite, (*SUITES, "all"), "suite")
    in_suite = [subject for subject in SUBJECTS if suite in {"all", subject.suite}]
    known_names = [subject.name for subject in in_suite]
    for name in names:
        require(name, known_names, "subject")
    if not names:
        return tuple(in_suite)
    return tuple(subject for subject in in_suite if subject.name in names)


def prepare_subject(name: str, shape: Shape) -> Prepared:
    """Prepare one subject on a shape, so that another tool can repeat its step.

    Raises UsageError for an unknown name, and ToolError if the subject cannot run here.
    """
    (subject,) = chosen("all", [name])
    try:
        return subject.prepare(Inputs(shape, cache_here()))
    except SubjectUnavailable as why:
        raise ToolError(
            f"The subject {name} cannot run here: {why}.",
            hint="tracekit bench run --list lists the subjects.",
        ) from why


@dataclass(frozen=True)
class Settings:
    """The subjects to measure, and the effort.

    Without `subjects`, all of the suite are measured. All subjects of a family are compared with
    `against`, and judged by `threshold`: the least change of a call's time that matters, as a
    ratio. `counters` are files of Xcode's counters of a frame capture of the one subject.
    `transposes` are listed if that is set.
    """

    suite: str = "all"
    subjects: tuple[str, ...] = ()
    against: str | None = None
    effort: Effort = field(default_factory=Effort)
    threshold: float = 0.03
    counters: tuple[str, ...] = ()
    transposes: bool = False


def run_bench(
    shape: Shape,
    settings: Settings,
    *,
    subjects: Sequence[Subject] | None = None,
    clock: Clock = time.perf_counter_ns,
    progress: Progress = quiet,
    count: Count = count_now,
) -> Bench:
    """Measure subjects on a shape, by default those of the settings' suite.

    The row of a subject that fails has the reason; an interrupt ends the measurement and keeps
    the rows. Raises UsageError for an unknown suite, or a subject that is not in it.
    """
    if subjects is None:
        subjects = _choose_subjects(settings)
    if settings.against is not None:
        require(settings.against, [subject.name for subject in subjects], "subject")
    replayed = _read_counters(settings)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    inputs = Inputs(shape, cache_here())
    rows: dict[str, BenchRow] = {}
    stopped = False
    for family in dict.fromkeys(subject.family for subject in subjects):
        pairs = [(subject, inputs) for subject in subjects if subject.family == family]
        family_rows, stopped = measure_in_turns(
            pairs,
            settings.effort,
            clock=clock,
            progress=progress,
            title=f"{family} · ",
            count=count,
            transposes=settings.transposes,
        )
        rows.update(family_rows)
        if stopped:
            break
    measured_rows = [rows[subject.name] for subject in subjects if subject.name in rows]
    if replayed is not None:
        measured_rows = [
            replace(row, replayed=replayed) if row.name in settings.subjects else row
            for row in measured_rows
        ]
    setting_values = asdict(settings)
    effort_values = setting_values.pop("effort")
    environment = _environment(inputs, measured_rows)
    compared_rows = compare_rows(measured_rows, subjects, settings.against, settings.threshold)
    return Bench(
        environment=environment,
        shape=shape,
        settings=setting_values | effort_values,
        rows=compared_rows,
        started=started,
        interrupted=stopped,
    )


def _read_counters(settings: Settings) -> ReplayedCounters | None:
    """Read the counters before anything is measured; raise UsageError without their subject."""
    if not settings.counters:
        return None
    if len(settings.subjects) != 1:
        raise UsageError(
            "Counters are those of one subject.", hint="Name it with --subject, and no other."
        )
    return read_replayed(settings.counters)


def _choose_subjects(settings: Settings) -> tuple[Subject, ...]:
    names = list(settings.subjects)
    if names and settings.against:
        names.append(settings.against)
    return chosen(settings.suite, names)


def _environment(inputs: Inputs, rows: Sequence[BenchRow]) -> dict[str, Any]:
    on_gpu = any(row.dispatches for row in rows)
    variables = sorted(os.environ.items())
    return {
        "tracekit": own_version(),
        "machine": describe_machine(),
        "variables": {name: value for name, value in variables if name.startswith("MLX_")},
        "backend": backend(),
        "clock": HOST,
        "kernel_clock": GPU if on_gpu else HOST,
        "cache": inputs.cache.bytes,
        "cache_known_from": inputs.cache.source,
    }
