"""A night from its first lock to its last line: plan, parity, sittings, history, page."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

from tracekit.base.errors import InterruptedRunError, RecordingError, TracekitError
from tracekit.machine import machine
from tracekit.machine.environment import environment, machine_name
from tracekit.nightly.carrying import Carrier
from tracekit.nightly.folder import NightFolder, claim, night_id
from tracekit.nightly.gate.outcomes import night_outcome
from tracekit.nightly.history.night import Night
from tracekit.nightly.keeper import Keeper
from tracekit.nightly.memory import Memory
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.rehearsal import only
from tracekit.nightly.schedule.awake import awake
from tracekit.nightly.schedule.budget import Budget, enforced
from tracekit.nightly.schedule.log_file import bound_log
from tracekit.nightly.schedule.only_one import only_one
from tracekit.nightly.terms import Terms
from tracekit.nightly.words import heading
from tracekit.record.recorder import Progress, quiet
from tracekit.record.recorders import choose

Clock = Callable[[], datetime]


def this_moment() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def run_night(
    plan: NightPlan,
    *,
    captures: Sequence[str] | None = None,
    keep: bool = True,
    now: Clock = this_moment,
    progress: Progress = quiet,
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
        bound_log(plan.output)
        memory = stack.enter_context(Memory.of(plan, keep=keep))
        begun = now()
        first = replace(_first(plan, begun, chosen), kept=keep)
        remarks = memory.catch_up(first.machine, begun)
        accepted = memory.accepted(first.machine, chosen)
        folder = claim(plan.output, first.id)
        keeper = Keeper(folder, replace(first, folder=memory.place_of(folder), warnings=remarks))
        stack.enter_context(awake())
        budget = Budget(plan.budget)
        stack.enter_context(enforced(budget))
        terms = Terms(plan, keeper, accepted, budget.deadline, progress)
        carrier = Carrier(terms, chosen)
        try:
            carrier.carry_out()
        finally:
            night = _ended(keeper, carrier, now())
            _remember(memory, night, folder, now())
    if carrier.interrupted:
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps what was measured.",
            hint="It counts as partial.",
        )
    return night


def _first(plan: NightPlan, begun: datetime, chosen: Sequence[Capture]) -> Night:
    """Return the night before anything was measured."""
    facts = environment()
    recorders = dict.fromkeys(_recorder(one) for one in chosen if one.traced)
    facts |= {"recorder": ", ".join(recorders)} if recorders else {}
    return Night(
        id=night_id(begun),
        plan=plan.name,
        machine=plan.machine or machine_name(facts),
        started=_stamp(begun),
        digest=plan.digest,
        environment=facts,
        commit=machine.git_commit(plan.file.parent),
    )


def _recorder(capture: Capture) -> str:
    """Return who traces a capture here; what was asked for, where that cannot be had."""
    try:
        return choose(capture.recorder).name
    except TracekitError:
        return capture.recorder


def _ended(keeper: Keeper, carrier: Carrier, ended: datetime) -> Night:
    night = keeper.night
    outcome, reason = night_outcome(night.entries, partial=carrier.partial)
    keeper.end(
        replace(night, ended=_stamp(ended), outcome=outcome, reason=reason, partial=carrier.partial)
    )
    return keeper.night


def _remember(memory: Memory, night: Night, folder: NightFolder, now: datetime) -> None:
    """Add the night to the history and draw all; say what it found where that fails."""
    held = "the next night adds it to the history"
    try:
        memory.keep(night)
        held = "the history has it"
        memory.draw(folder, now)
    except TracekitError as error:
        raise RecordingError(
            f"{error.message} What the night found: {heading(night)}",
            hint=f"{error.hint} {folder.document} keeps the night, and {held}.".strip(),
        ) from error


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
