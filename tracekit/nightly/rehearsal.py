"""What a night would do, and whether it could: looked at without touching anything."""

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy.engine import make_url

from tracekit.analysis import METRICS
from tracekit.base import (
    InputError,
    TracekitError,
    UsageError,
    nearest,
    percent,
    quantity,
    short_commit,
    span,
)
from tracekit.machine import git_commit
from tracekit.nightly.folder import nights_in
from tracekit.nightly.gate.judge import same_code
from tracekit.nightly.history.night import KINDS, Entry
from tracekit.nightly.plan.estimate import Estimate, estimate, remarks
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, searched
from tracekit.nightly.session.variants import work_words
from tracekit.nightly.session.worktree import commit_of, kind_of, repository
from tracekit.workload import find

_NIGHTS = 5
COLUMNS = ("capture", "work", "reference", "pairs", "traced", "decides", "time")


@dataclass(frozen=True)
class Rehearsal:
    """What a night would do: its plan as plain data, the history's URL without a password.

    `obstacles` would keep it from being measured; it has none where nothing was found.
    """

    plan: dict[str, Any]
    estimate: Estimate
    remarks: tuple[str, ...]
    obstacles: tuple[str, ...]


def rehearse(plan: NightPlan) -> Rehearsal:
    """Look at what a night would do: nothing runs, and no file is written."""
    url = make_url(plan.history).render_as_string(hide_password=True)
    return Rehearsal(
        plan=msgspec.to_builtins(replace(plan, history=url), enc_hook=str),
        estimate=estimate(plan, earlier(plan)),
        remarks=(*remarks(plan), *_of_references(plan)),
        obstacles=obstacles(plan),
    )


def only(plan: NightPlan, names: Sequence[str]) -> NightPlan:
    """Return the plan with the named captures alone; raise UsageError if it lacks one."""
    known = [capture.name for capture in plan.captures]
    for name in names:
        if name not in known:
            raise UsageError(f"{plan.file} has no capture {name!r}.", hint=nearest(name, known))
    return replace(plan, captures=tuple(one for one in plan.captures if one.name in names))


def obstacles(plan: NightPlan) -> tuple[str, ...]:
    """Return why captures cannot be prepared, as far as a glance tells, a sentence each."""
    sentences = list(_unwritable(plan.output))
    for look in (_unloadable, _in_the_way):
        for one in plan.captures:
            sentences += [f"{one.name}: {words}" for words in look(one, plan.file.parent)]
    return tuple(dict.fromkeys(sentences))


def _unwritable(output: Path) -> Iterator[str]:
    """Yield why no night can be kept, where that is so."""
    there = next(one for one in (output, *output.parents) if one.exists())
    if not there.is_dir():
        yield f"Nights cannot be kept in {output}: {there} is no folder."
    elif not os.access(there, os.W_OK):
        yield f"Nights cannot be kept in {output}: {there} cannot be written to."


def _unloadable(capture: Capture, folder: Path) -> Iterator[str]:
    """Yield why the files of a capture's workloads cannot be loaded."""
    names = [capture.workload, capture.reference.workload if capture.reference else ""]
    for name in dict.fromkeys(one for one in names if one):
        try:
            with searched(capture.reference, folder):
                find(name, capture.workloads)
        except InputError as error:
            yield error.message


def _of_references(plan: NightPlan) -> Iterator[str]:
    """Yield what each reference is, and which are the candidate's own commit."""
    home = plan.file.parent
    own = git_commit(home)
    for capture in plan.captures:
        asked = capture.reference
        if asked is None or not asked.has_commit:
            continue
        with suppress(TracekitError):  # an obstacle, which is said as one
            commit, kind = commit_of(asked, repository(home)), kind_of(capture, home)
            alone = asked.previous_night or commit.startswith(asked.revision or "-")
            named = asked.words if alone else f"{asked.words} ({short_commit(commit)})"
            yield f"{capture.name}: against the {named}, {KINDS[kind]}."
            if asked.is_revision_alone and commit == own and not asked.previous_night:
                yield f"{capture.name}: {same_code(own)}."
            if kind == "moving":
                yield (
                    f"{capture.name}: the anchor is measured every {asked.anchor_every} nights, "
                    "and once the nights since have lost half of a threshold."
                )
                if own.endswith("-dirty"):
                    yield (
                        f"{capture.name}: files differ from the commit, or are in none and not "
                        "ignored, so tonight is no link of the chain."
                    )


def _in_the_way(capture: Capture, folder: Path) -> Iterator[str]:
    """Yield why a capture's reference cannot be had."""
    reference = capture.reference
    if reference is None:
        return
    python = reference.python
    if reference.has_commit:
        try:
            commit_of(reference, repository(folder))
        except TracekitError as error:
            yield f"{error.message} {error.hint}".rstrip()
    elif python is not None and not python.is_file():
        yield f"There is no interpreter {python}."
    elif python is not None and not os.access(python, os.X_OK):
        yield f"{python} cannot be run: it is no program."


def earlier(plan: NightPlan) -> Mapping[str, float]:
    """Return how many seconds each capture took, in the median of the last nights of this plan.

    Nights in which it was measured twice, or not to its end, are left out.
    """
    took: dict[str, list[float]] = {}
    for folder in reversed(nights_in(plan.output)[-_NIGHTS:]):
        try:
            night = folder.load()
        except (TracekitError, OSError):
            continue
        same = (night.plan, night.digest) == (plan.name, plan.digest)
        for entry in night.entries if same else ():
            if (seconds := _lasted(entry)) is not None:
                took.setdefault(entry.capture, []).append(seconds)
    return {name: statistics.median(each) for name, each in took.items()}


def _lasted(entry: Entry) -> float | None:
    """Return the seconds from before the first pair to after the last, of one session."""
    if entry.outcome is None or any(one.sitting > 1 for one in entry.pairs):
        return None
    times = [
        datetime.fromisoformat(state.at)
        for pair in entry.pairs
        for state in (pair.before, pair.after)
        if state is not None
    ]
    return (max(times) - min(times)).total_seconds() if times else None


def rows(plan: NightPlan, estimated: Estimate) -> list[tuple[str, ...]]:
    """Return what would run, a row for each capture, under `COLUMNS`."""
    return [
        (
            one.name,
            work_words(one.workload, one.parameters),
            _reference(one),
            str(one.pairs),
            str(one.traced),
            _deciding(one),
            f"{span(timed.seconds)} … {span(timed.most)}",
        )
        for one, timed in zip(plan.captures, estimated.captures, strict=True)
    ]


def _reference(capture: Capture) -> str:
    reference = capture.reference
    if reference is None:
        return "none"
    parts = [reference.words] if reference.words else []
    parts += [f"python {reference.python}"] if reference.python else []
    if not reference.same_work:
        parts.append(work_words(reference.workload or capture.workload, reference.parameters))
    return ", ".join(parts)


def _deciding(capture: Capture) -> str:
    words = [f"{one.metric} {_threshold(one)}" for one in capture.metrics if one.gate]
    return ", ".join([*words, *capture.fail_on]) or "nothing"


def _threshold(gated: Gated) -> str:
    if gated.scale == "ratio":
        return percent(gated.threshold)
    unit = METRICS[gated.metric].unit if gated.metric in METRICS else ""
    return (
        f"{gated.threshold * 100:g} points" if unit == "ratio" else quantity(gated.threshold, unit)
    )
