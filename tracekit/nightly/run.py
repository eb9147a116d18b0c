"""A night from its first lock to its last line: plan, parity, sessions, history, page."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from tracekit.base import (
    InterruptedRunError,
    RecordingError,
    TracekitError,
    own_redaction,
    require_ours,
    write_whole,
)
from tracekit.machine import environment, git_commit, machine_name
from tracekit.nightly.captures import Carrier, Session
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id, nights_in, work_of
from tracekit.nightly.gate.drift import anchors_due, with_drift, with_previous
from tracekit.nightly.gate.judge import night_outcome
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import verdict
from tracekit.nightly.history.night import KINDS, Accepted, Night
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.documents import cut_short, night_in
from tracekit.nightly.history.store.place import file_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, NightPlan, relative
from tracekit.nightly.rehearsal import only
from tracekit.nightly.schedule.job import rotate_log
from tracekit.nightly.schedule.running import awake, enforced, only_one
from tracekit.nightly.schedule.schedule import missed
from tracekit.nightly.session.worktree import kind_of
from tracekit.nightly.trend.course import cost_of, links_from
from tracekit.nightly.trend.page import render_trend
from tracekit.record import Progress, choose, quiet


@dataclass(frozen=True)
class Memory:
    """A plan's history: `store` is asked, and `kept` added to; each is None where there is none."""

    plan: NightPlan
    store: Store | None
    kept: Store | None

    @classmethod
    @contextmanager
    def of(cls, plan: NightPlan, *, keep: bool) -> Generator[Self]:
        """Open a plan's history; what is not to keep anything can do without one."""
        with ExitStack() as stack:
            store = None
            try:
                store = stack.enter_context(Store.open(plan.history, make=keep))
            except RecordingError:
                if keep:
                    raise
            yield cls(plan, store, store if keep else None)

    def accepted(self, machine: str, captures: Iterable[Capture]) -> dict[str, Accepted]:
        """Return what is expected of captures, by name, where something was accepted."""
        if self.store is None:
            return {}
        works = {capture.name: work_of(capture, self.plan.file.parent) for capture in captures}
        held = {name: self.store.accepted(machine, name, work) for name, work in works.items()}
        return {name: accepted for name, accepted in held.items() if accepted is not None}

    def earlier(self, machine: str) -> list[Series]:
        """Return the series of the plan on the machine before this night."""
        if self.store is None:
            return []
        return self.store.series(plan=self.plan.name, machine=machine)

    def catch_up(self, machine: str, begun: datetime) -> tuple[str, ...]:
        """Add what earlier processes left, and note nights that did not run; say so."""
        if self.kept is None:
            return ()
        return (*self._left(self.kept, machine), *self._missed(self.kept, machine, begun))

    def place_of(self, folder: NightFolder) -> str:
        """Return a night's folder, relative to the history's where it lies in that."""
        whole, own = folder.folder.resolve(), self._own_folder
        return str(whole.relative_to(own) if own and whole.is_relative_to(own) else whole)

    @property
    def _own_folder(self) -> Path | None:
        """The folder that holds the history; None where a server does."""
        file = file_of(self.plan.history)
        return file and file.parent.resolve()

    def keep(self, night: Night) -> None:
        """Add a night to the history."""
        if self.kept is not None:
            self.kept.append(night)

    def draw(self, folder: NightFolder, now: datetime) -> None:
        """Write the page of all series of the plan beside its nights."""
        if self.kept is None:
            return
        name = self.plan.name
        page = render_trend(
            self.kept.series(plan=name),
            self.kept.nights(plan=name),
            self.kept.acceptances(),
            missed=self.kept.missed_nights(plan=name),
            now=now.isoformat(),
            redact=own_redaction(),
            links=links_from(folder.page.parent, self._own_folder or folder.page.parent),
        )
        require_ours(folder.page, "The nights write theirs once that has another name.")
        write_whole(folder.page, page.encode())

    def _left(self, store: Store, machine: str) -> Iterator[str]:
        """Add nights that were ended from outside; those of other plans and machines may run."""
        known = store.ids()
        for night_folder in nights_in(self.plan.output):
            if night_folder.folder.name in known:
                continue
            try:
                night = night_in(night_folder.folder)
                ours = night and (night.plan, night.machine) == (self.plan.name, machine)
                if night and ours and night.kept and store.append(cut_short(night)):
                    yield f"The night {night.id} had not been added to the history; now it is."
            except TracekitError as error:
                yield f"The night {night_folder.folder.name} could not be added: {error.message}"

    def _missed(self, store: Store, machine: str, begun: datetime) -> Iterator[str]:
        nights = store.nights(plan=self.plan.name, machine=machine, limit=1)
        last = datetime.fromisoformat(nights[-1].started) if nights else None
        for due in missed(self.plan, last, begun.astimezone(UTC)):
            if store.missed(self.plan.name, machine, due.isoformat(), "no night began"):
                yield f"The night that was due at {due:%Y-%m-%d %H:%M} UTC did not run."


def notes(night: Night) -> Iterator[str]:
    """Yield what is to be known beside the numbers, a sentence a line."""
    for entry in night.entries:
        if (kind := entry.reference_kind) and entry.reference:
            yield f"{entry.capture}: against {entry.reference.words}, {KINDS[kind]}."
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

    Nights that an earlier process left unfinished are added to the history first, and nights that
    were due and did not run are noted. Without `captures` all of the plan are done. Unless `keep`,
    the history does not keep the night; what was accepted is read from it all the same. Whatever is
    raised, an InterruptedRunError included, what was measured is kept in the night's folder, and
    the next night adds it to the history.
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
        chosen = [with_previous(capture, earlier, plan.file.parent) for capture in chosen]
        accepted = memory.accepted(first.machine, chosen)
        folder = NightFolder(make_output(plan.output / first.id))
        keeper = Keeper(folder, replace(first, folder=memory.place_of(folder), warnings=remarks))
        stack.enter_context(awake())
        deadline = time.monotonic() + plan.budget
        stack.enter_context(enforced(plan.budget))
        moving = {capture.name: capture for capture in chosen if _moves(capture, plan)}
        # What was accepted of one that moves along is where its chain begins.
        expected = {name: value for name, value in accepted.items() if name not in moving}
        carrier = Carrier(plan, chosen, keeper, expected, deadline, progress)
        carrier.session = session or carrier.session
        try:
            carrier.carry_out()
            anchors = [*anchors_due(keeper.night, moving.values(), earlier, accepted)]
            if anchors and not carrier.partial:
                carrier.captures = anchors
                carrier.carry_out()
        finally:
            # What others read names no one's folders.
            home = plan.file.parent
            folders = {capture.name: relative(capture.workloads, home) for capture in chosen}
            night = with_drift(keeper.night, earlier, accepted, folders)
            night = replace(night, ended=_stamp(now()), partial=carrier.partial)
            outcome, reason = night_outcome(night.entries, partial=night.partial)
            night = replace(night, outcome=outcome, reason=reason)
            keeper.save(night)
            _remember(memory, night, folder, now())
    if carrier.interrupted:
        raise InterruptedRunError(
            f"The night was interrupted; {folder.folder} keeps what was measured.",
            hint="It counts as partial.",
        )
    return night


def _moves(capture: Capture, plan: NightPlan) -> bool:
    with suppress(TracekitError):  # the capture fails, and says why
        return kind_of(capture, plan.file.parent) == "moving"
    return False


def _first(plan: NightPlan, begun: datetime, chosen: Sequence[Capture]) -> Night:
    facts, recorders = environment(), dict[str, None]()
    for asked in (capture.recorder for capture in chosen if capture.traced):
        try:
            recorders[choose(asked).name] = None
        except TracekitError:  # the capture fails, and says why
            recorders[asked] = None
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
