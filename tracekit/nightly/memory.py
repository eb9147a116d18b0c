"""A plan's history as a night sees it: asked before, added to afterwards, and never in its way.

The folder of nights is the queue. A night that the history does not have yet lies there as its
`night.json`; the next night, or `tracekit history sync`, adds it: oldest first, and once.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit.base import (
    InputError,
    RecordingError,
    TracekitError,
    UsageError,
    own_redaction,
    require_ours,
    write_whole,
)
from tracekit.nightly.folder import NightFolder, nights_in, work_of
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import verdict
from tracekit.nightly.history.night import Accepted, Night, moment_in
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.database import NoHistoryError
from tracekit.nightly.history.store.documents import cut_short, night_in
from tracekit.nightly.history.store.place import file_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.schedule.running import runs_in
from tracekit.nightly.schedule.schedule import find_missed_times
from tracekit.nightly.trend.course import links_from
from tracekit.nightly.trend.page import render_trend


class NotKeptError(RecordingError):
    """A night was measured, and what comes after could not be done: `cause` says what.

    `night` is what it found. It is `stored` where the history has it, and only the page failed.
    """

    def __init__(
        self, cause: TracekitError, night: Night, folder: NightFolder, *, stored: bool
    ) -> None:
        then = "the next night or `tracekit history sync` adds it to the history"
        history_words = "the history has it" if stored else then
        super().__init__(
            f"{cause.message} What the night found: {verdict(of_night(night))}",
            hint=f"{cause.hint} {folder.document} keeps the night, and {history_words}.".strip(),
        )
        self.cause = cause.message
        self.night = night
        self.stored = stored


@dataclass(frozen=True)
class Waiting:
    """A night that the history does not have, by the name of its folder, and why."""

    night: str
    why: str


@dataclass
class Synced:
    """What became of the nights that lay in a plan's folder alone.

    Ids of nights that were `added`, and times of those that were due and did not run, `missed`;
    nights that `wait`, as one that runs does; nights that `failed`, each for a reason of its own;
    and what ended it all early: the history itself.
    """

    added: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    wait: list[Waiting] = field(default_factory=list[Waiting])
    failed: list[Waiting] = field(default_factory=list[Waiting])
    fatal_error: TracekitError | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a night says of it, a sentence each."""
        failed = [
            f"The night {failure.night} could not be added: {failure.why}"
            for failure in self.failed
        ]
        added = [
            f"The night {name} had not been added to the history; now it is." for name in self.added
        ]
        return (*failed, *added, *map(_missed_words, self.missed))


def _missed_words(due_time: str) -> str:
    moment = datetime.fromisoformat(due_time)
    return f"The night that was due at {moment:%Y-%m-%d %H:%M} UTC did not run."


@dataclass(frozen=True)
class Recalled:
    """What is known before a night: the `series` of earlier ones, and what was `accepted`.

    Both are of the plan on this machine, accepted ones by capture. Where the history could not be
    asked, `history_error` says why: then the series are those of the nights in the plan's folder,
    and what was accepted is not known. `remarks` are for the night.
    """

    series: list[Series] = field(default_factory=list[Series])
    accepted: dict[str, Accepted] = field(default_factory=dict[str, Accepted])
    remarks: tuple[str, ...] = ()
    history_error: str = ""


@dataclass(frozen=True)
class HistoryKeeper:
    """The history of a plan's nights on a machine; what is not to be kept is never added to it."""

    plan: NightPlan
    machine: str
    keep: bool = True

    def recall(self, captures: Iterable[Capture], night_start: datetime) -> Recalled:
        """Add what waits, note nights that did not run, and ask what a night must know.

        A history that cannot be used keeps no night from being measured.
        """
        done = Synced()
        try:
            with Store.connect(self.plan.history, make=self.keep) as store:
                if self.keep:
                    done = self._queue(store).add_all(night_start)
                series = store.series(plan=self.plan.name, machine=self.machine)
                accepted = self._find_acceptances(store, captures)
        except NoHistoryError:
            return Recalled()
        except UsageError:
            raise
        except TracekitError as error:
            reason = error.message.rstrip(".")
            remark = (
                f"The history could not be read before the night, so what was accepted is not "
                f"known, and no metric is judged against a reference: {reason}."
            )
            return Recalled(self._in_folders(), {}, (*done.remarks, remark), history_error=reason)
        return Recalled(series, accepted, done.remarks)

    def remember(
        self, night: Night, folder: NightFolder, current_time: datetime, *, make: bool
    ) -> NotKeptError | None:
        """Add a night, after those that wait, and draw the page; return what went wrong.

        Unless `make`, a history that is gone since the night began stays away.
        """
        if not self.keep:
            return None
        try:
            with Store.connect(self.plan.history, make=make) as store:
                self._queue(store).add_all()
                store.append(night)
                try:
                    self.draw(store, folder, current_time)
                except TracekitError as error:
                    return NotKeptError(error, night, folder, stored=True)
        except TracekitError as error:
            return NotKeptError(error, night, folder, stored=False)
        return None

    def place_of(self, folder: NightFolder) -> str:
        """Return a night's folder, relative to the history's where it lies in that."""
        night_path, history_folder = folder.folder.resolve(), self._own_folder
        return str(
            night_path.relative_to(history_folder)
            if history_folder and night_path.is_relative_to(history_folder)
            else night_path
        )

    def draw(self, store: Store, folder: NightFolder, current_time: datetime) -> None:
        """Write the page of all series of the plan beside its nights."""
        name = self.plan.name
        page = render_trend(
            store.series(plan=name),
            store.nights(plan=name),
            store.acceptances(),
            missed=store.missed_nights(plan=name),
            now=current_time.isoformat(),
            redact=own_redaction(),
            links=links_from(folder.page.parent, self._own_folder or folder.page.parent),
        )
        require_ours(folder.page, "The nights write theirs once that has another name.")
        write_whole(folder.page, page.encode())

    @property
    def _own_folder(self) -> Path | None:
        """The folder that holds the history; None where a server does."""
        file = file_of(self.plan.history)
        return file and file.parent.resolve()

    def _queue(self, store: Store) -> "WaitingNights":
        return WaitingNights(store, self.plan, self.machine, alone=True)

    def _find_acceptances(self, store: Store, captures: Iterable[Capture]) -> dict[str, Accepted]:
        """Return what is expected of captures, by name, where something was accepted."""
        works = {capture.name: work_of(capture, self.plan.file.parent) for capture in captures}
        acceptances = {
            name: store.find_baseline(self.machine, name, work) for name, work in works.items()
        }
        return {name: accepted for name, accepted in acceptances.items() if accepted is not None}

    def _in_folders(self) -> list[Series]:
        """Return the series of the nights that lie in the plan's folder and can be read."""
        with TemporaryDirectory() as place, Store.connect(f"{place}/history.db") as store:
            for folder in nights_in(self.plan.output):
                with suppress(TracekitError):
                    night = night_in(folder.folder)
                    if night is not None and night.kept:
                        store.append(cut_short(night))
            return store.series(plan=self.plan.name, machine=self.machine)


def sync(plan: NightPlan, machine: str, url: str = "") -> Synced:
    """Add the nights in a plan's folder that its history, or the one at `url`, does not have.

    Raise a TracekitError where the history cannot be used; what failed later is in the answer.
    """
    with Store.connect(url or plan.history) as store:
        done = WaitingNights(store, plan, machine).add_all()
        if done.added and done.fatal_error is None and not url:
            try:
                HistoryKeeper(plan, machine).draw(
                    store, nights_in(plan.output)[-1], datetime.now(UTC)
                )
            except TracekitError as error:
                done.fatal_error = error
    return done


@dataclass
class WaitingNights:
    """The nights in a plan's folder that a history does not have.

    A night on this machine that asks is `alone`: it holds the folder's lock, so no other runs.
    """

    store: Store
    plan: NightPlan
    machine: str
    alone: bool = False
    _starts: list[datetime] = field(default_factory=list[datetime])
    _done: Synced = field(default_factory=Synced)

    def add_all(self, night_start: datetime | None = None) -> Synced:
        """Add the nights, oldest first.

        Before each, the nights are noted that were due and did not run; so they are before one
        that has `night_start` now. Nights that never ended are added as cut short, but for those of
        other machines, which may run, and those that run here.
        """
        try:
            known_ids, output = self.store.ids(), self.plan.output
            folders = [
                night_folder
                for night_folder in nights_in(output)
                if night_folder.folder.name not in known_ids
            ]
            waiting = [
                (night_folder, night)
                for night_folder in folders
                if (night := self._read(night_folder)) is not None
            ]
            starts = [moment_in(night.started) for _, night in waiting if self._is_own(night)]
            self._starts = [*filter(None, starts)]
            for folder, night in waiting:
                self._add(folder, night)
            if night_start is not None:
                self._note_missed(night_start)
        except RecordingError as error:
            self._done.fatal_error = error
        return self._done

    def _read(self, folder: NightFolder) -> Night | None:
        """Return the night of a folder; None where it is of another plan, or cannot be read."""
        try:
            night = night_in(folder.folder)
        except TracekitError as error:
            self._done.failed.append(Waiting(folder.folder.name, error.message))
            return None
        return night if night is not None and night.plan == self.plan.name else None

    def _is_own(self, night: Night) -> bool:
        return night.machine == self.machine

    def _add(self, folder: NightFolder, night: Night) -> None:
        """Add a night if it is to be kept and over; raise RecordingError if the history is away."""
        if not night.kept:
            return
        reason = self._waits(night)
        if reason:
            self._done.wait.append(Waiting(night.id, reason))
            return
        if not night.ended:  # it may have, before its lock was looked at
            night = self._read(folder) or night
        try:
            if self._is_own(night) and (night_start := moment_in(night.started)) is not None:
                self._note_missed(night_start)
            if self.store.append(cut_short(night)):
                self._done.added.append(night.id)
        except InputError as error:
            self._done.failed.append(Waiting(night.id, error.message))

    def _waits(self, night: Night) -> str:
        """Say why a night may still be written; empty where it is over.

        A night holds the lock of its folder from before its first document until after its last.
        """
        if night.ended:
            return ""
        if not self._is_own(night):
            return f"it has not ended, and may still run on {night.machine}"
        return "" if self.alone or not runs_in(self.plan.output) else "it may still run"

    def _note_missed(self, night_start: datetime) -> None:
        """Note the nights that were due between the last one and `night_start`."""
        plan, machine = self.plan.name, self.machine
        earlier_nights = self.store.nights(plan=plan, machine=machine, until=night_start, limit=1)
        starts = [
            *self._starts,
            *filter(None, (moment_in(night.started) for night in earlier_nights)),
        ]
        last_start = max((start for start in starts if start < night_start), default=None)
        for due_time in find_missed_times(self.plan, last_start, night_start.astimezone(UTC)):
            if self.store.record_missed(plan, machine, due_time.isoformat(), "no night began"):
                self._done.missed.append(due_time.isoformat())
