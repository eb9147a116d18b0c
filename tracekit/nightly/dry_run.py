"""The preview of a night: its work, its duration, and its obstacles; nothing is touched."""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tracekit.analysis import METRICS
from tracekit.base import TracekitError, programs, units, verdicts
from tracekit.machine import git_commit
from tracekit.nightly.gate.judge import same_code
from tracekit.nightly.history.night import KINDS
from tracekit.nightly.history.store import place
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
    """The seconds of a night if nothing is repeated, and at `most`; `budget` ends it."""

    captures: tuple[Timed, ...]
    seconds: float
    most: float
    budget: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class NightPreview:
    """The work of a night, with its plan as plain data, and the obstacles to measuring it."""

    plan: dict[str, Any]
    estimate: Estimate
    remarks: tuple[str, ...]
    obstacles: tuple[str, ...]


def preview_night(plan: NightPlan) -> NightPreview:
    """Preview a night: nothing runs, and no file is written."""
    url = place.url_of(plan.history).render_as_string(hide_password=True)
    remarks = tuple(_remarks(plan))
    return NightPreview(
        plan=msgspec.to_builtins(replace(plan, history=url), enc_hook=str),
        estimate=estimate(plan),
        remarks=remarks,
        obstacles=obstacles(plan),
    )


def estimate(plan: NightPlan) -> Estimate:
    """Estimate how long a night takes."""
    captures: list[Timed] = []
    seconds = 0.0
    max_seconds = 0.0
    for capture in plan.captures:
        timed = _estimate_capture(capture, plan.retries)
        captures.append(timed)
        seconds += timed.seconds
        max_seconds += timed.most
    allowed = (
        f"{START:g} s are allowed for each process to start and warm up, and {TRACE:g} s for each "
        "trace in addition to its time limit; parity, checks and setup come on top."
    )
    assumptions = [allowed]
    if max_seconds > plan.budget:
        assumptions.append("With all repeats the night would be stopped at its budget, as partial.")
    return Estimate(tuple(captures), seconds, max_seconds, plan.budget, tuple(assumptions))


def _estimate_capture(capture: Capture, retries: int) -> Timed:
    sides = 2 if capture.reference else 1
    pair = sides * (START + 2 * capture.turn)  # two turns each
    measured_time = capture.pairs * pair
    traced_time = capture.traced * sides * (capture.time_limit + TRACE)
    session = measured_time + traced_time
    max_seconds = session + retries * pair
    if _decides(capture):
        max_seconds *= 2  # a second session reproduces a regression
    return Timed(capture.name, session, max_seconds)


def _decides(capture: Capture) -> bool:
    return bool(capture.fail_on) or any(metric.gate for metric in capture.metrics)


def _remarks(plan: NightPlan) -> Iterator[str]:
    """Yield remarks that a plan's author may not expect, and the reference of each capture."""
    plan_commit = git_commit(plan.file.parent)
    for capture in plan.captures:
        remarks = list(_iter_capture_remarks(capture))
        with suppress(TracekitError):  # `obstacles` reports it
            remarks += _of_reference(capture, plan.file.parent, plan_commit)
        for words in remarks:
            yield f"{capture.name}: {words}"


def _iter_capture_remarks(capture: Capture) -> Iterator[str]:
    unknown_metrics: list[str] = []
    for metric in capture.metrics:
        name = metric.metric
        if name not in METRICS:
            unknown_metrics.append(name)
    if unknown_metrics:
        yield (
            f"{', '.join(unknown_metrics)} is not a metric of tracekit; {capture.workload} must "
            "report it."
        )
    if capture.reference is None:
        yield "it has no reference, so that it is followed over nights, and decides nothing."
    elif capture.program and not capture.metrics:
        yield "its printed numbers decide; if it prints none that is known, the time of a run does."
    elif not _decides(capture):
        yield "none of its metrics decides."
    elif not capture.reference.same_work:
        yield (
            "its reference does other work, so nothing is decided until a night is accepted as "
            "expected: `tracekit nightly baseline accept NIGHT --reason TEXT`."
        )


def _of_reference(capture: Capture, home: Path, plan_commit: str) -> Iterator[str]:
    reference = capture.reference
    if reference is None or not reference.has_commit:
        return
    commit = commit_of(reference, repository(home))
    kind = kind_of(capture, home)
    reference_words = reference.words
    names_its_commit = commit.startswith(reference.revision or "-")
    if not reference.previous_night and not names_its_commit:
        reference_words += f" ({units.short_commit(commit)})"
    yield f"against the {reference_words}, {KINDS[kind]}."
    if reference.is_revision_alone and commit == plan_commit and not reference.previous_night:
        yield f"{same_code(plan_commit)}."
    if kind == "moving":
        yield (
            f"the anchor is measured every {reference.anchor_every} nights, and once the nights "
            "since have lost half of a threshold."
        )
        if plan_commit.endswith("-dirty"):
            yield "files differ from the commit, so tonight is not a link of the chain."


def obstacles(plan: NightPlan) -> tuple[str, ...]:
    """Return the reasons why captures cannot be prepared that can be seen now, a sentence each."""
    folders = (plan.output, *plan.output.parents)
    parent = next(path for path in folders if path.exists())
    sentences: list[str] = []
    if not parent.is_dir():
        sentences.append(f"Nights cannot be kept in {plan.output}: {parent} is not a folder.")
    elif not os.access(parent, os.W_OK):
        sentences.append(f"Nights cannot be kept in {plan.output}: {parent} cannot be written to.")
    for capture in plan.captures:
        try:
            _require_ready(capture, plan.file.parent)
        except TracekitError as error:
            sentences.append(f"{capture.name}: {error.message} {error.hint}".rstrip())
    return tuple(sentences)


def _require_ready(capture: Capture, folder: Path) -> None:
    """Raise a TracekitError if a program, workload, commit or interpreter is not available."""
    reference = capture.reference
    if capture.program:
        variant = CodeVariant(
            "candidate", "", None, {}, Path(), os.environ, folder, argv=capture.program
        )
        programs.require_program(variant.command[0], os.environ.get("PATH"))
    else:
        names = [capture.workload]
        if reference is not None:
            names.append(reference.workload)
        with allow_imports(reference, folder):
            for name in filter(None, names):
                find(name, capture.workloads)
    if reference is not None and reference.has_commit:
        commit_of(reference, repository(folder))
    elif reference is not None and reference.python is not None:
        interpreter(reference.python, folder)


def rows(plan: NightPlan, estimated: Estimate) -> list[tuple[str, ...]]:
    """Return a row for each capture that would run, under `COLUMNS`."""
    estimates = zip(plan.captures, estimated.captures, strict=True)
    return [_row(capture, timed) for capture, timed in estimates]


def _row(capture: Capture, timed: Timed) -> tuple[str, ...]:
    work = shlex.join(capture.program) or work_words(capture.workload, capture.parameters)
    duration = f"{units.span(timed.seconds)} … {units.span(timed.most)}"
    return (
        capture.name,
        work,
        _reference(capture),
        str(capture.pairs),
        str(capture.traced),
        _deciding(capture),
        duration,
    )


def _reference(capture: Capture) -> str:
    reference = capture.reference
    if reference is None:
        return "none"
    parts: list[str] = []
    if reference.words:
        parts.append(reference.words)
    if reference.python:
        parts.append(f"python {reference.python}")
    if reference.program:
        parts.append(shlex.join(reference.program))
    if not reference.same_work:
        parts.append(work_words(reference.workload or capture.workload, reference.parameters))
    return ", ".join(parts)


def _deciding(capture: Capture) -> str:
    words: list[str] = []
    for metric in capture.metrics:
        if metric.gate:
            unit = ""
            if metric.metric in METRICS:
                unit = METRICS[metric.metric].unit
            formatter = verdicts.Shown(metric.scale, unit)
            threshold = formatter.amount(metric.threshold)
            words.append(f"{metric.metric} {threshold}")
    words += capture.fail_on
    return ", ".join(words) or "nothing"
