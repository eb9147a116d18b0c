"""A night from its first lock to its last line: plan, parity, sessions, history, page."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime

from tracekit.base import InterruptedRunError, RecordingError, TracekitError
from tracekit.machine import environment, git_commit, machine_name
from tracekit.nightly.captures import Carrier, Session
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id
from tracekit.nightly.gate.drift import anchors_due, with_drift, with_previous
from tracekit.nightly.gate.judge import night_outcome
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import verdict
from tracekit.nightly.history.night import KINDS, Night
from tracekit.nightly.history_session import Memory
from tracekit.nightly.plan.plan import Capture, NightPlan, relative
from tracekit.nightly.rehearsal import only
from tracekit.nightly.schedule.job import rotate_log
from tracekit.nightly.schedule.running import awake, enforced, only_one
from tracekit.nightly.session.worktree import kind_of
from tracekit.nightly.trend.course import cost_of
from tracekit.record import Progress, choose, quiet


def notes(night: Night) -> Iterator[str]:
    """Yield what is to be known beside the numbers, a sentence a line."""
    for entry in night.entries:
        if entry.reference_kind and entry.reference:
            kind = KINDS[entry.reference_kind]
            yield f"{entry.capture}: against {entry.reference.words}, {kind}."
        if entry.parity:
            yield f"{entry.capture}: {entry.parity}"
        if entry.overhead is not None:
            yield f"{entry.capture}: {cost_of(entry.overhead)}"


def run_night(
    plan: NightPlan,
    *,
    captures: Sequence[str] | None = None,
    keep: bool = True,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Progress = quiet,
    session: Session | None = None,
) -> Night:
    """Carry out a plan; what was measured is on the disk at every moment.

    Nights that an earlier process left unfinished are added to the history first, and nights
    that were due and did not run are noted.

    Args:
        plan: What to do.
        captures: The captures to do; all of the plan where none is named.
        keep: Whether the history keeps the night; what was accepted is read from it all the same.
        now: The clock.
        progress: Hears what is being done.
        session: Measures captures.

    Raises:
        UsageError: A capture is named that the plan does not have.
        ToolError: Another night runs.
        RecordingError: The folder cannot be written, or the history cannot be opened or added to;
            what was measured is kept in the night's folder, and added at the next start.
        InterruptedRunError: Somebody asked to stop; the night so far is kept as partial.
    """
    chosen = only(plan, captures).captures if captures else plan.captures
    with ExitStack() as stack:
        stack.enter_context(only_one(plan))
        rotate_log(plan.output)
        memory = stack.enter_context(Memory.of(plan, keep=keep))
        begun = now()
        first = replace(_first(plan, begun, chosen), kept=keep)
        remarks = memory.catch_up(first.machine, begun)
        earlier = memory.earlier(first.machine)
        chosen = [with_previous(one, earlier, plan.file.parent) for one in chosen]
        accepted = memory.accepted(first.machine, chosen)
        folder = NightFolder(make_output(plan.output / first.id))
        keeper = Keeper(folder, replace(first, folder=memory.place_of(folder), warnings=remarks))
        stack.enter_context(awake())
        deadline = time.monotonic() + plan.budget
        stack.enter_context(enforced(plan.budget))
        moving = [capture for capture in chosen if _moves(capture, plan)]
        # What was accepted of one that moves along is where its chain begins.
        expected = {name: one for name, one in accepted.items() if name not in _names(moving)}
        carrier = Carrier(plan, chosen, keeper, expected, deadline, progress)
        carrier.session = session or carrier.session
        try:
            carrier.carry_out()
            anchors = [*anchors_due(keeper.night, moving, earlier, accepted)]
            if anchors and not carrier.partial:
                carrier.captures = anchors
                carrier.carry_out()
        finally:
            # What others read names no one's folders.
            home = plan.file.parent
            folders = {one.name: relative(one.workloads, home) for one in chosen}
            night = with_drift(keeper.night, earlier, accepted, folders)
            partly = carrier.partial
            outcome, reason = night_outcome(night.entries, partial=partly)
            ended = _stamp(now())
            night = replace(night, ended=ended, outcome=outcome, reason=reason, partial=partly)
            keeper.save(night)
            _remember(memory, night, folder, now())
    if carrier.interrupted:
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps what was measured.",
            hint="It counts as partial.",
        )
    return night


def _moves(capture: Capture, plan: NightPlan) -> bool:
    """Tell whether a reference moves along."""
    with suppress(TracekitError):  # the capture fails, and says why
        return kind_of(capture, plan.file.parent) == "moving"
    return False


def _names(captures: Sequence[Capture]) -> set[str]:
    return {capture.name for capture in captures}


def _first(plan: NightPlan, begun: datetime, chosen: Sequence[Capture]) -> Night:
    """Return the night before anything was measured."""
    facts = environment()
    recorders = dict.fromkeys(_recorder(capture) for capture in chosen if capture.traced)
    facts |= {"recorder": ", ".join(recorders)} if recorders else {}
    return Night(
        id=night_id(begun),
        plan=plan.name,
        machine=plan.machine or machine_name(facts),
        started=_stamp(begun),
        digest=plan.digest,
        environment=facts,
        commit=git_commit(plan.file.parent),
    )


def _recorder(capture: Capture) -> str:
    """Return who traces a capture here; what was asked for, where that cannot be had."""
    try:
        return choose(capture.recorder).name
    except TracekitError:
        return capture.recorder


def _remember(memory: Memory, night: Night, folder: NightFolder, now: datetime) -> None:
    """Add the night to the history and draw all; say what it found where that fails."""
    held = "the next night adds it to the history"
    try:
        memory.keep(night)
        held = "the history has it"
        memory.draw(folder, now)
    except TracekitError as error:
        raise RecordingError(
            f"{error.message} What the night found: {verdict(of_night(night))}",
            hint=f"{error.hint} {folder.document} keeps the night, and {held}.".strip(),
        ) from error


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
