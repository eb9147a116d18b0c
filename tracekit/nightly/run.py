"""A night from its first lock to its last line: plan, parity, sessions, history, page."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

from tracekit.base import InterruptedRunError, RecordingError, TracekitError, quantity
from tracekit.machine import environment, git_commit, machine_name
from tracekit.nightly.captures import Carrier
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id
from tracekit.nightly.gate.drift import with_drift
from tracekit.nightly.gate.outcomes import night_outcome
from tracekit.nightly.history.night import LEADS, Entry, Judged, Night
from tracekit.nightly.history_session import Memory
from tracekit.nightly.plan.plan import Capture, NightPlan, relative
from tracekit.nightly.rehearsal import moves_along, only
from tracekit.nightly.schedule.job import rotate_log
from tracekit.nightly.schedule.running import awake, enforced, only_one
from tracekit.nightly.trend.words import bounds, cost_of, shift
from tracekit.record import Progress, choose, quiet

Table = tuple[str, Sequence[str], list[Sequence[str]]]
NOTHING = "—"
_COLUMNS = ("metric", "reference", "candidate", "measured", "at equal pace", "95 % interval")
_LINE = 100  # characters
_SHOWN = 3  # names of metrics that are not known


def heading(night: Night) -> str:
    """Return how the night ended in a line of a terminal; `verdicts` says why, at any length."""
    lead = LEADS[night.outcome] if night.outcome else "Not ended"
    whole = f"{lead}: {night.reason}" if night.reason else lead
    named = [entry.capture for entry in night.entries if entry.outcome is night.outcome]
    if len(whole) <= _LINE or not named:
        return whole
    stopped = "; it was stopped before all captures were through" if night.partial else ""
    return f"{lead}: {', '.join(named)}{stopped}"


def verdicts(night: Night) -> list[Sequence[str]]:
    """Return how each metric that decides ended, and why; of captures without one, how they did."""
    rows: list[Sequence[str]] = []
    for entry in night.entries:
        deciding = [one for one in entry.judged if one.gated and one.outcome is not None]
        if not any(one.outcome is entry.outcome for one in deciding):
            rows.append((str(entry.outcome or "not ended"), entry.capture, entry.reason))
        rows += [
            (str(one.outcome), f"{entry.capture} {one.metric}", one.reason) for one in deciding
        ]
    return rows


def tables(night: Night) -> Iterator[Table]:
    """Yield a table of metrics for each capture, and one of what its traces have."""
    for entry in night.entries:
        if rows := [_row(judged) for judged in entry.judged if _measured(judged)]:
            yield title(entry), _COLUMNS, rows
        if entry.findings:
            found: list[Sequence[str]] = [
                (one.rule, f"in {one.traces} of {one.of}", f"in {one.in_reference}", one.message)
                for one in entry.findings
            ]
            columns = ("finding", "candidate", "reference", "what")
            yield f"{entry.capture}: findings", columns, found


def notes(night: Night) -> Iterator[str]:
    """Yield what is to be known beside the numbers, a sentence a line."""
    for entry in night.entries:
        if entry.parity:
            yield f"{entry.capture}: {entry.parity}"
        if entry.overhead is not None:
            yield f"{entry.capture}: {cost_of(entry.overhead)}"
    blank = {
        one.capture: tuple(each.metric for each in one.judged if not _measured(each))
        for one in night.entries
    }
    for names in dict.fromkeys(blank.values()):
        if names:
            captures = ", ".join(capture for capture, own in blank.items() if own == names)
            yield f"{captures}: no value of {_few(names)}; night.json says why."


def title(entry: Entry) -> str:
    """Return what was measured against what, and what its changes come on top of."""
    candidate = entry.candidate.words or entry.candidate.workload
    if entry.reference is None:
        return f"{entry.capture}: {candidate}, followed without a reference"
    beyond = next((judged.baseline for judged in entry.judged if judged.baseline), "")
    expected = f"; changes beyond the baseline {beyond}" if beyond else ""
    return f"{entry.capture}: {candidate} against {entry.reference.words}{expected}"


def _few(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more metrics"


def _row(judged: Judged) -> Sequence[str]:
    scale, unit = judged.scale, judged.unit
    medians = (judged.reference, judged.candidate)
    values = (NOTHING if one is None else quantity(one, unit) for one in medians)
    changes = (
        NOTHING if one is None else shift(one, scale, unit)
        for one in (judged.measured, judged.change)
    )
    interval = bounds(judged.low, judged.high, scale, unit) or NOTHING
    return (judged.metric, *values, *changes, interval)


def _measured(judged: Judged) -> bool:
    """Tell whether a value of any pair is known."""
    return judged.candidate is not None or judged.reference is not None


def run_night(
    plan: NightPlan,
    *,
    captures: Sequence[str] | None = None,
    keep: bool = True,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
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
        rotate_log(plan.output)
        memory = stack.enter_context(Memory.of(plan, keep=keep))
        begun = now()
        first = replace(_first(plan, begun, chosen), kept=keep)
        remarks = memory.catch_up(first.machine, begun)
        accepted, earlier = memory.accepted(first.machine, chosen), memory.earlier(first.machine)
        folder = NightFolder(make_output(plan.output / first.id))
        keeper = Keeper(folder, replace(first, folder=memory.place_of(folder), warnings=remarks))
        stack.enter_context(awake())
        deadline = time.monotonic() + plan.budget
        stack.enter_context(enforced(plan.budget))
        expected = {
            capture.name: accepted[capture.name]
            for capture in chosen
            if capture.name in accepted and not _moves(capture, plan)
        }
        carrier = Carrier(plan, chosen, keeper, expected, deadline, progress)
        try:
            carrier.carry_out()
        finally:
            for entry in keeper.night.entries:
                own = next(one.workloads for one in chosen if one.name == entry.capture)
                own = relative(own, plan.file.parent)  # what others read names no one's folders
                keeper.put(with_drift(entry, earlier, accepted.get(entry.capture), own))
            outcome, reason = night_outcome(keeper.night.entries, partial=carrier.partial)
            ended, partly = _stamp(now()), carrier.partial
            night = replace(
                keeper.night, ended=ended, outcome=outcome, reason=reason, partial=partly
            )
            keeper.save(night)
            _remember(memory, night, folder, now())
    if carrier.interrupted:
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps what was measured.",
            hint="It counts as partial.",
        )
    return night


def _moves(capture: Capture, plan: NightPlan) -> bool:
    """Tell whether a reference moves along: then what was accepted is where a chain begins."""
    try:
        return moves_along(capture, plan.file.parent)
    except TracekitError:
        return False  # the capture fails, and says why


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
            f"{error.message} What the night found: {heading(night)}",
            hint=f"{error.hint} {folder.document} keeps the night, and {held}.".strip(),
        ) from error


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
