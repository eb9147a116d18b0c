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
from tracekit.machine import environment, git_commit, machine_name, window_words
from tracekit.nightly.captures import Carrier, Session
from tracekit.nightly.dry_run import select_captures
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id
from tracekit.nightly.gate.drift import anchors_due, with_drift, with_previous
from tracekit.nightly.gate.judge import advise, night_outcome
from tracekit.nightly.gate.withhold import withhold
from tracekit.nightly.history.night import KINDS, Night
from tracekit.nightly.memory import HistoryKeeper, Recalled
from tracekit.nightly.plan.plan import Capture, NightPlan, relative
from tracekit.nightly.schedule.job import rotate_log
from tracekit.nightly.schedule.running import awake, enforce_budget, only_one
from tracekit.nightly.session.worktree import kind_of
from tracekit.nightly.trend.course import cost_of
from tracekit.record import Progress, choose, quiet

log = logging.getLogger(__name__)


def notes(night: Night) -> Iterator[str]:
    """Yield what is to be known beside the numbers, a sentence a line."""
    for entry in night.entries:
        if (kind := entry.reference_kind) and entry.reference:
            yield f"{entry.capture}: against {entry.reference.words}, {KINDS[kind]}."
        if entry.parity:
            yield f"{entry.capture}: {entry.parity}"
        if entry.states:
            yield f"{entry.capture}: the machine meanwhile: {window_words(entry.states)}"
        if advice := advise(entry):
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
    session: Session | None = None,
) -> Night:
    """Carry out a plan; what was measured is on the disk at every moment.

    Nights that an earlier process left unfinished are added to the history first, and nights that
    were due and did not run are noted. Without `captures` all of the plan are done. Unless `keep`,
    the history does not keep the night; what was accepted is read from it all the same. A history
    that cannot be used is no reason not to measure: a NotKeptError has the night then. Whatever is
    raised, an InterruptedRunError included, what was measured is kept in the night's folder, and
    the next night or `tracekit history sync` adds it to the history.
    """
    system.require_processes("A night")
    chosen = select_captures(plan, captures).captures if captures else plan.captures
    with ExitStack() as stack:
        remark = stack.enter_context(only_one(plan))
        rotate_log(plan.output)
        night_start = clock()
        initial_night = replace(_begin_night(plan, night_start, chosen), kept=keep)
        memory = HistoryKeeper(plan, initial_night.machine, keep)
        recalled = memory.recall(chosen, night_start)
        chosen = [
            with_previous(chosen_capture, recalled.series, plan.file.parent)
            for chosen_capture in chosen
        ]
        folder = NightFolder(make_output(plan.output / initial_night.id))
        remarks = (*recalled.remarks, *filter(None, [remark]))
        initial_night = replace(initial_night, folder=memory.place_of(folder), warnings=remarks)
        keeper = Keeper(folder, initial_night)
        stack.enter_context(awake())
        deadline = time.monotonic() + plan.budget
        stack.enter_context(enforce_budget(plan.budget))
        moving = {capture.name: capture for capture in chosen if _moves(capture, plan)}
        # What was accepted of one that moves along is where its chain begins.
        expected = {name: value for name, value in recalled.accepted.items() if name not in moving}
        carrier = Carrier(plan, chosen, keeper, expected, deadline, progress)
        carrier.session = session or carrier.session
        try:
            carrier.carry_out()
            anchors = [
                *anchors_due(keeper.night, moving.values(), recalled.series, recalled.accepted)
            ]
            if anchors and not carrier.partial:
                carrier.captures = anchors
                carrier.carry_out()
        except BaseException:
            night = _end_night(carrier, recalled, chosen, clock())
            if storage_error := memory.remember(
                night, folder, clock(), make=bool(recalled.history_error)
            ):
                log.warning("%s %s", storage_error.message, storage_error.hint)
            raise
        night = _end_night(carrier, recalled, chosen, clock())
        not_kept = memory.remember(night, folder, clock(), make=bool(recalled.history_error))
    if carrier.interrupted:
        also = f" {not_kept.message} {not_kept.hint}" if not_kept else ""
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps what was measured.",
            hint=f"It counts as partial.{also}",
        )
    if not_kept is not None:
        raise not_kept
    return night


def _end_night(
    carrier: Carrier, recalled: Recalled, chosen: Sequence[Capture], end_time: datetime
) -> Night:
    """Judge the night as a whole, and write its document a last time."""
    plan, keeper = carrier.plan, carrier.keeper
    if recalled.history_error:
        night = withhold(keeper.night, chosen)
    else:
        # What others read names no one's folders.
        home = plan.file.parent
        folders = {capture.name: relative(capture.workloads, home) for capture in chosen}
        night = with_drift(keeper.night, recalled.series, recalled.accepted, folders)
    night = replace(night, ended=_stamp(end_time), partial=carrier.partial)
    outcome, reason = night_outcome(night.entries, partial=night.partial)
    night = replace(night, outcome=outcome, reason=reason)
    keeper.save(night)
    return night


def _moves(capture: Capture, plan: NightPlan) -> bool:
    with suppress(TracekitError):  # the capture fails, and says why
        return kind_of(capture, plan.file.parent) == "moving"
    return False


def _begin_night(plan: NightPlan, night_start: datetime, chosen: Sequence[Capture]) -> Night:
    facts, recorders = environment(), dict[str, None]()
    for recorder_choice in (capture.recorder for capture in chosen if capture.traced):
        try:
            recorders[choose(recorder_choice).name] = None
        except TracekitError:  # the capture fails, and says why
            recorders[recorder_choice] = None
    facts |= {"recorder": ", ".join(recorders)} if recorders else {}
    return Night(
        id=night_id(night_start),
        plan=plan.name,
        machine=plan.machine or machine_name(facts),
        started=_stamp(night_start),
        digest=plan.digest,
        environment=facts,
        commit=git_commit(plan.file.parent),
    )


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
