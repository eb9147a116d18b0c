"""A bench from beginning to end: prepare, measure in turns, compare, describe."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tracekit.base import UsageError, require
from tracekit.lab.bench.document import GPU, HOST, INTERRUPTED, Bench, Row
from tracekit.lab.bench.inputs import Inputs, Shape, Subject, Unavailable, cache_here
from tracekit.lab.bench.measure import (
    Clock,
    Effort,
    Runner,
    compared,
    failed,
    finished,
    measure_in_turns,
)
from tracekit.lab.bench.subjects.attention import DECODE, PREFILL
from tracekit.lab.bench.subjects.layers import CACHE, NORM
from tracekit.machine import describe as describe_machine
from tracekit.record import Progress, quiet
from tracekit.workload import backend

SUBJECTS: tuple[Subject, ...] = (*DECODE, *PREFILL, *CACHE, *NORM)  # in the order of their tables
SUITES = ("attention", "cache", "norm")


def chosen(suite: str, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects of a suite, or those of `names`.

    Raises:
        UsageError: There is no such suite, or no such subject in it.
    """
    require(suite, (*SUITES, "all"), "suite")
    in_suite = [subject for subject in SUBJECTS if suite in {"all", subject.suite}]
    for name in names:
        require(name, [subject.name for subject in in_suite], "subject")
    return tuple(subject for subject in in_suite if not names or subject.name in names)


@dataclass(frozen=True)
class Settings:
    """What to measure, and how much.

    Attributes:
        suite: "attention", "cache", "norm" or "all".
        subjects: Some of the suite's subjects; all of them if empty.
        against: The subject that all of its family are compared with.
        effort: Warm-up, repetitions and budget.
    """

    suite: str = "all"
    subjects: tuple[str, ...] = ()
    against: str | None = None
    effort: Effort = field(default_factory=Effort)


def run_bench(
    shape: Shape,
    settings: Settings,
    *,
    subjects: Sequence[Subject] | None = None,
    clock: Clock = time.perf_counter_ns,
    progress: Progress = quiet,
) -> Bench:
    """Measure subjects on a shape.

    One that fails is a row that says so; an interrupt ends the measuring, and keeps what there
    is. The subjects are those of the settings' suite by default.

    Raises:
        UsageError: There is no such suite, or no such subject in it.
    """
    if subjects is None:
        against = [settings.against] if settings.against else []
        names = [*settings.subjects, *against] if settings.subjects else []
        subjects = chosen(settings.suite, names)
    asked = tuple(subjects)
    if settings.against is not None:
        require(settings.against, [one.name for one in asked], "subject")
    started = datetime.now(UTC).isoformat(timespec="seconds")
    inputs = Inputs(shape, cache_here())
    rows: dict[str, Row] = {}
    left: list[Runner] | None = None
    for family in dict.fromkeys(subject.family for subject in asked):
        pairs = [(one, inputs) for one in asked if one.family == family]
        found, left = measure_in_turns(
            pairs, settings.effort, _refused, clock=clock, progress=progress, title=f"{family} · "
        )
        rows |= found
        if left is not None:
            rows |= {
                one.subject.name: finished(one, None, INTERRUPTED) for one in left if one.micro
            }
            break
    plain = asdict(settings)
    compared_rows = [rows[one.name] for one in asked if one.name in rows]
    return Bench(
        environment=_environment(inputs, compared_rows),
        shape=shape,
        settings={**{k: v for k, v in plain.items() if k != "effort"}, **plain["effort"]},
        rows=compared(compared_rows, asked, settings.against),
        started=started,
        interrupted=left is not None,
    )


def _refused(subject: Subject, error: Exception) -> Row:
    if isinstance(error, UsageError):
        raise error
    if isinstance(error, Unavailable):
        return Row(subject.name, subject.family, "unavailable", str(error))
    return failed(subject, error)


def _environment(inputs: Inputs, rows: Sequence[Row]) -> dict[str, Any]:
    on_gpu = any(row.dispatches for row in rows)
    return {
        "tracekit": version("tracekit"),
        "machine": describe_machine(),
        "variables": {
            name: os.environ[name] for name in sorted(os.environ) if name.startswith("MLX_")
        },
        "backend": backend(),
        "clock": HOST,
        "kernel_clock": GPU if on_gpu else HOST,
        "cache": inputs.cache.bytes,
        "cache_known_from": inputs.cache.known,
    }
