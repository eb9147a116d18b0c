"""What a night would do, how long that takes, and whether it could: nothing is touched."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy.engine import make_url

from tracekit.analysis import METRICS
from tracekit.base import (
    TracekitError,
    UsageError,
    require_program,
    short_commit,
    span,
    suggest_name,
)
from tracekit.compare import Shown
from tracekit.machine import git_commit
from tracekit.nightly.gate.judge import same_code
from tracekit.nightly.history.night import KINDS
from tracekit.nightly.plan.plan import Capture, NightPlan, allow_imports
from tracekit.nightly.session.variants import CodeVariant, interpreter, work_words
from tracekit.nightly.session.worktree import commit_of, kind_of, repository
from tracekit.workload import find

COLUMNS = ("capture", "work", "reference", "pairs", "traced", "decides", "time")
START = 5.0  # seconds for a process to start and warm up
TRACE = 30.0  # seconds of a trace beyond its time limit: start, saving, export, analysis


@dataclass(frozen=True)
class Timed:
    """The `seconds` of a capture's first session, and the `most` it takes with all that repeats."""

    capture: str
    seconds: float
    most: float


@dataclass(frozen=True)
class Estimate:
    """How many seconds a night takes if nothing is repeated, and at most; `budget` ends it."""

    captures: tuple[Timed, ...]
    seconds: float
    most: float
    budget: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class NightPreview:
    """What a night would do, its plan as plain data, and what would keep it from being measured."""

    plan: dict[str, Any]
    estimate: Estimate
    remarks: tuple[str, ...]
    obstacles: tuple[str, ...]


def preview_night(plan: NightPlan) -> NightPreview:
    """Look at what a night would do: nothing runs, and no file is written."""
    url = make_url(plan.history).render_as_string(hide_password=True)
    return NightPreview(
        plan=msgspec.to_builtins(replace(plan, history=url), enc_hook=str),
        estimate=estimate(plan),
        remarks=tuple(_remarks(plan)),
        obstacles=obstacles(plan),
    )


def estimate(plan: NightPlan) -> Estimate:
    """Estimate how long a night takes."""
    captures = tuple(_estimate_capture(capture, plan.retries) for capture in plan.captures)
    seconds, max_seconds = (
        sum(timing.seconds for timing in captures),
        sum(timing.most for timing in captures),
    )
    allowed = (
        f"{START:g} s are allowed for each process to start and warm up, and {TRACE:g} s for each "
        "trace in addition to its time limit; parity, checks and setup come on top."
    )
    assumptions = [allowed]
    if max_seconds > plan.budget:
        assumptions.append("With all repeats the night would be stopped at its budget, as partial.")
    return Estimate(captures, seconds, max_seconds, plan.budget, tuple(assumptions))


def _estimate_capture(capture: Capture, retries: int) -> Timed:
    sides = 2 if capture.reference else 1
    pair = sides * (START + 2 * capture.turn)  # two turns each
    session = capture.pairs * pair + capture.traced * sides * (capture.time_limit + TRACE)
    decides = bool(capture.fail_on) or any(metric.gate for metric in capture.metrics)
    return Timed(capture.name, session, (2 if decides else 1) * (session + retries * pair))


def _remarks(plan: NightPlan) -> Iterator[str]:
    """Yield what a plan's author may not expect, and what each reference is."""
    plan_commit = git_commit(plan.file.parent)
    for capture in plan.captures:
        remarks = list(_iter_capture_remarks(capture))
        with suppress(TracekitError):  # an obstacle, which is said as one
            remarks += _of_reference(capture, plan.file.parent, plan_commit)
        yield from (f"{capture.name}: {words}" for words in remarks)


def _iter_capture_remarks(capture: Capture) -> Iterator[str]:
    if unknown_metrics := [
        plan_metric.metric for plan_metric in capture.metrics if plan_metric.metric not in METRICS
    ]:
        yield (
            f"{', '.join(unknown_metrics)} is no metric of tracekit; {capture.workload} must tell "
            "it."
        )
    if capture.reference is None:
        yield "it has no reference, so that it is followed over nights, and decides nothing."
    elif capture.program and not capture.metrics:
        yield "what it prints decides; if it prints nothing that is known, the time of a run does."
    elif not any(metric.gate for metric in capture.metrics) and not capture.fail_on:
        yield "none of its metrics decides."
    elif not capture.reference.same_work:
        yield (
            "its reference does other work, so nothing is decided until a night is accepted as "
            "what to expect: `tracekit baseline accept NIGHT --reason TEXT`."
        )


def _of_reference(capture: Capture, home: Path, plan_commit: str) -> Iterator[str]:
    reference = capture.reference
    if reference is None or not reference.has_commit:
        return
    commit, kind = commit_of(reference, repository(home)), kind_of(capture, home)
    alone = reference.previous_night or commit.startswith(reference.revision or "-")
    reference_words = reference.words if alone else f"{reference.words} ({short_commit(commit)})"
    yield f"against the {reference_words}, {KINDS[kind]}."
    if reference.is_revision_alone and commit == plan_commit and not reference.previous_night:
        yield f"{same_code(plan_commit)}."
    if kind == "moving":
        yield (
            f"the anchor is measured every {reference.anchor_every} nights, and once the nights "
            "since "
            "have lost half of a threshold."
        )
        if plan_commit.endswith("-dirty"):
            yield "files differ from the commit, so tonight is no link of the chain."


def select_captures(plan: NightPlan, names: Sequence[str]) -> NightPlan:
    """Return the plan with the named captures alone; raise UsageError if it lacks one."""
    captures = {capture.name: capture for capture in plan.captures}
    for name in names:
        if name not in captures:
            raise UsageError(
                f"{plan.file} has no capture {name!r}.", hint=suggest_name(name, [*captures])
            )
    return replace(plan, captures=tuple(captures[name] for name in captures if name in names))


def obstacles(plan: NightPlan) -> tuple[str, ...]:
    """Return why captures cannot be prepared, as far as a glance tells, a sentence each."""
    there = next(path for path in (plan.output, *plan.output.parents) if path.exists())
    sentences: list[str] = []
    if not (there.is_dir() and os.access(there, os.W_OK)):
        problem = "cannot be written to" if there.is_dir() else "is no folder"
        sentences.append(f"Nights cannot be kept in {plan.output}: {there} {problem}.")
    for capture in plan.captures:
        try:
            _require_ready(capture, plan.file.parent)
        except TracekitError as error:
            sentences.append(f"{capture.name}: {error.message} {error.hint}".rstrip())
    return tuple(sentences)


def _require_ready(capture: Capture, folder: Path) -> None:
    reference = capture.reference
    if capture.program:
        variant = CodeVariant(
            "candidate", "", None, {}, Path(), os.environ, folder, argv=capture.program
        )
        require_program(variant.command[0], os.environ.get("PATH"))
    with allow_imports(reference, folder):
        for name in (capture.workload, reference.workload if reference else ""):
            if name and not capture.program:
                find(name, capture.workloads)
    if reference is not None and reference.has_commit:
        commit_of(reference, repository(folder))
    elif reference is not None and reference.python is not None:
        interpreter(reference.python, folder)


def rows(plan: NightPlan, estimated: Estimate) -> list[tuple[str, ...]]:
    """Return what would run, a row for each capture, under `COLUMNS`."""
    return [
        (
            capture.name,
            shlex.join(capture.program) or work_words(capture.workload, capture.parameters),
            _reference(capture),
            str(capture.pairs),
            str(capture.traced),
            _deciding(capture),
            f"{span(timed.seconds)} … {span(timed.most)}",
        )
        for capture, timed in zip(plan.captures, estimated.captures, strict=True)
    ]


def _reference(capture: Capture) -> str:
    reference = capture.reference
    if reference is None:
        return "none"
    parts = [reference.words] if reference.words else []
    parts += [f"python {reference.python}"] if reference.python else []
    parts += [shlex.join(reference.program)] if reference.program else []
    if not reference.same_work:
        parts.append(work_words(reference.workload or capture.workload, reference.parameters))
    return ", ".join(parts)


def _deciding(capture: Capture) -> str:
    words: list[str] = []
    for gated in (metric for metric in capture.metrics if metric.gate):
        unit = METRICS[gated.metric].unit if gated.metric in METRICS else ""
        threshold = Shown(gated.scale, unit).amount(gated.threshold)
        words.append(f"{gated.metric} {threshold}")
    return ", ".join([*words, *capture.fail_on]) or "nothing"
