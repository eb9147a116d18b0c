"""A night from its first lock to its last line: plan, parity, sessions, history, page."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime

from tracekit.base import (
    InterruptedRunError,
    TracekitError,
    system,
)
from tracekit.machine import environment, git_commit, window_words
from tracekit.nightly.captures import CaptureRunner, NightSteps
from tracekit.nightly.folder import NightFolder, NightWriter, make_output, night_id
from tracekit.nightly.gate.anchors import anchors_due, with_previous
from tracekit.nightly.gate.drift import with_drift
from tracekit.nightly.gate.judge import advise, night_outcome
from tracekit.nightly.gate.withhold import withhold
from tracekit.nightly.history.night import KINDS, Night
from tracekit.nightly.memory import HistoryKeeper, Recalled
from tracekit.nightly.plan.plan import Capture, NightPlan, relative
from tracekit.nightly.schedule.job import rotate_log
from tracekit.nightly.schedule.running import awake, enforce_budget, only_one
from tracekit.nightly.session.worktree import kind_of
from tracekit.nightly.trend.course import cost_of
from tracekit.record import Progress, quiet, recorders

log = logging.getLogger(__name__)


def notes(night: Night) -> Iterator[str]:
    """Yield remarks that go with the numbers, a sentence a line."""
    for entry in night.entries:
        if entry.reference_kind and entry.reference:
            kind = KINDS[entry.reference_kind]
            yield f"{entry.capture}: against {entry.reference.words}, {kind}."
        if entry.parity:
            yield f"{entry.capture}: {entry.parity}"
        if entry.states:
            yield f"{entry.capture}: the machine meanwhile: {window_words(entry.states)}"
        advice = advise(entry)
        if advice:
            yield advice
        if entry.overhead is not None:
            yield f"{entry.capture}: {cost_of(entry.overhead)}"


def run_night(
    plan: NightPlan,
    *,
    captures: Sequence[str] | None = None,
    keep: bool = True,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Progress = quiet,
    steps: NightSteps | None = None,
) -> Night:
    """Carry out a plan; each measurement is on the disk at once.

    Nights that an earlier process left unfinished are added to the history first, and nights that
    were due and did not run are noted. Without `captures` all of the plan are done. Unless `keep`,
    the history does not keep the night, but acceptances are still read from it. A history that
    cannot be used does not prevent the measurement: then a NotKeptError has the night. Whatever is
    raised, including an InterruptedRunError, the night's folder keeps the measurements, and the
    next night or `tracekit nightly history sync` adds them to the history.
    """
    system.require_processes("A night")
    chosen = plan.select_captures(captures).captures if captures else plan.captures
    with ExitStack() as stack:
        remark = stack.enter_context(only_one(plan))
        rotate_log(plan.output)
        night_start = clock()
        initial_night = replace(_begin_night(plan, night_start, chosen), kept=keep)
        memory = HistoryKeeper(plan, initial_night.machine, keep)
        recalled = memory.recall(chosen, night_start)
        # One that was there and is gone at the end was moved: it is not made anew.
        make_history = bool(recalled.history_error)
        home = plan.file.parent
        chosen = [with_previous(capture, recalled.series, home) for capture in chosen]
        output = make_output(plan.output / initial_night.id)
        folder = NightFolder(output)
        remarks = (*recalled.remarks, *filter(None, [remark]))
        initial_night = replace(initial_night, folder=memory.place_of(folder), warnings=remarks)
        moving: dict[str, Capture] = {}
        expected = dict(recalled.accepted)
        for capture in chosen:
            if _moves(capture, plan):
                moving[capture.name] = capture
                # The acceptance of a reference that moves along is only the begin of its chain.
                expected.pop(capture.name, None)
        deadline = time.monotonic() + plan.budget
        # An interrupt from here on is written into the night's document.
        writer = NightWriter(folder, initial_night)
        runner = CaptureRunner(plan, chosen, writer, expected, deadline, progress)
        try:
            runner.steps = steps or runner.steps
            stack.enter_context(awake())
            stack.enter_context(enforce_budget(plan.budget))
            runner.run()
            anchors = list(
                anchors_due(writer.night, moving.values(), recalled.series, recalled.accepted)
            )
            if anchors and not runner.partial:
                runner.captures = anchors
                runner.run()
        except BaseException:
            runner.partial = True
            night = _end_night(runner, recalled, chosen, clock())
            not_kept = memory.remember(night, folder, clock(), make=make_history)
            if not_kept:
                log.warning("%s %s", not_kept.message, not_kept.hint)
            raise
        night = _end_night(runner, recalled, chosen, clock())
        not_kept = memory.remember(night, folder, clock(), make=make_history)
    if runner.interrupted:
        hint = "It counts as partial."
        if not_kept:
            hint += f" {not_kept.message} {not_kept.hint}"
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps its measurements.", hint=hint
        )
    if not_kept is not None:
        raise not_kept
    return night


def _end_night(
    runner: CaptureRunner, recalled: Recalled, chosen: Sequence[Capture], end_time: datetime
) -> Night:
    """Judge the night as a whole, and write its document a last time."""
    plan = runner.plan
    writer = runner.writer
    if recalled.history_error:
        night = withhold(writer.night, chosen)
    else:
        # Others read the document, so it names no one's folders.
        home = plan.file.parent
        folders = {capture.name: relative(capture.workloads, home) for capture in chosen}
        night = with_drift(writer.night, recalled.series, recalled.accepted, folders)
    night = replace(night, ended=_stamp(end_time), partial=runner.partial)
    outcome, reason = night_outcome(night.entries, partial=night.partial)
    night = replace(night, outcome=outcome, reason=reason)
    writer.save(night)
    return night


def _moves(capture: Capture, plan: NightPlan) -> bool:
    with suppress(TracekitError):  # the capture fails, and says why
        return kind_of(capture, plan.file.parent) == "moving"
    return False


def _begin_night(plan: NightPlan, night_start: datetime, chosen: Sequence[Capture]) -> Night:
    facts = environment.environment()
    recorder_names = _name_recorders(chosen)
    if recorder_names:
        facts["recorder"] = ", ".join(recorder_names)
    machine = plan.machine or environment.machine_name(facts)
    commit = git_commit(plan.file.parent)
    return Night(
        id=night_id(night_start),
        plan=plan.name,
        machine=machine,
        started=_stamp(night_start),
        digest=plan.digest,
        environment=facts,
        commit=commit,
    )


def _name_recorders(captures: Sequence[Capture]) -> list[str]:
    """Return the names of the recorders of traced captures, each once."""
    names: dict[str, None] = {}
    for capture in captures:
        if not capture.traced:
            continue
        try:
            names[recorders.choose(capture.recorder).name] = None
        except TracekitError:  # the capture fails, and says why
            names[capture.recorder] = None
    return list(names)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
