"""A plan's history as a night sees it: read before, extended afterwards, and never in its way.

The folder of nights is the queue. It holds the `night.json` of each night that the history does not
have yet; the next night, or `tracekit nightly history sync`, adds it: oldest first, and once.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit.base import InputError, RecordingError, TracekitError, UsageError, files, outputs
from tracekit.nightly.folder import NightFolder, nights_in, work_of
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.gate.report.text import verdict
from tracekit.nightly.history.documents import cut_short, night_in
from tracekit.nightly.history.night import Accepted, Night, moment_in
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.database import NoHistoryError
from tracekit.nightly.history.store.place import file_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.schedule.installation import find_missed_times
from tracekit.nightly.schedule.running import runs_in
from tracekit.nightly.trend.drawing import draw_trend


class NotKeptError(RecordingError):
    """A night was measured, and a later step failed for the reason `cause`.

    The `night` is complete. It is `stored` if the history has it, and only the page failed.
    """

    def __init__(
        self, cause: TracekitError, night: Night, folder: NightFolder, *, stored: bool
    ) -> None:
        history_words = "the next night or `tracekit nightly history sync` adds it to the history"
        if stored:
            history_words = "the history has it"
        night_verdict = verdict(of_night(night))
        super().__init__(
            f"{cause.message} Result of the night: {night_verdict}",
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
    """The result for the nights that only a plan's folder had.

    `added` are ids of nights, and `missed` the times of nights that were due and did not run.
    Nights `wait` that may still run; nights `failed`, each for a reason of its own. `fatal_error`
    is an error of the history itself, which ended it early.
    """

    added: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    wait: list[Waiting] = field(default_factory=list[Waiting])
    failed: list[Waiting] = field(default_factory=list[Waiting])
    fatal_error: TracekitError | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks for a night, a sentence each."""
        remarks: list[str] = []
        for failure in self.failed:
            reason = failure.why
            remarks.append(f"The night {failure.night} could not be added: {reason}")
        remarks += [
            f"The night {name} had not been added to the history; now it is." for name in self.added
        ]
        for due_time in self.missed:
            moment = datetime.fromisoformat(due_time)
            remarks.append(f"The night that was due at {moment:%Y-%m-%d %H:%M} UTC did not run.")
        return tuple(remarks)


@dataclass(frozen=True)
class Recalled:
    """The facts before a night: the `series` of earlier ones, and the `accepted` expectations.

    Both are of the plan on this machine, accepted ones by capture. If the history could not be
    read, `history_error` says why: then the series are those of the nights in the plan's folder,
    and acceptances are not known. `remarks` are for the night.
    """

    series: list[Series] = field(default_factory=list[Series])
    accepted: dict[str, Accepted] = field(default_factory=dict[str, Accepted])
    remarks: tuple[str, ...] = ()
    history_error: str = ""


@dataclass(frozen=True)
class HistoryKeeper:
    """The history of a plan's nights on a machine; without `keep`, no night is added to it."""

    plan: NightPlan
    machine: str
    keep: bool = True

    def recall(self, captures: Iterable[Capture], night_start: datetime) -> Recalled:
        """Add waiting nights, note nights that did not run, and read the facts for a night.

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
                f"The history could not be read before the night, so its accepted changes are not "
                f"known, and no metric is judged against a reference: {reason}."
            )
            return Recalled(self._in_folders(), {}, (*done.remarks, remark), history_error=reason)
        return Recalled(series, accepted, done.remarks)

    def remember(
        self, night: Night, folder: NightFolder, current_time: datetime, *, make: bool
    ) -> NotKeptError | None:
        """Add a night, after those that wait, and draw the page; return the error, if any.

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
        """Return a night's folder, relative to the history's folder if it is in that."""
        night_path = folder.folder.resolve()
        history_folder = self._own_folder
        if history_folder and night_path.is_relative_to(history_folder):
            night_path = night_path.relative_to(history_folder)
        return str(night_path)

    def draw(self, store: Store, folder: NightFolder, current_time: datetime) -> None:
        """Write the page of all series of the plan next to its nights."""
        name = self.plan.name
        now = current_time.isoformat()
        page = draw_trend(
            store,
            store.series(plan=name),
            folder.page,
            history_folder=self._own_folder,
            now=now,
            plan=name,
        )
        outputs.require_ours(folder.page, "The nights write theirs once that has another name.")
        files.write_whole(folder.page, page.encode())

    @property
    def _own_folder(self) -> Path | None:
        """The folder that holds the history; None if a server does."""
        file = file_of(self.plan.history)
        if file is None:
            return None
        return file.parent.resolve()

    def _queue(self, store: Store) -> "WaitingNights":
        return WaitingNights(store, self.plan, self.machine, alone=True)

    def _find_acceptances(self, store: Store, captures: Iterable[Capture]) -> dict[str, Accepted]:
        """Return the acceptances of captures, by name, that have one."""
        acceptances: dict[str, Accepted] = {}
        for capture in captures:
            work = work_of(capture, self.plan.file.parent)
            accepted = store.find_baseline(self.machine, capture.name, work)
            if accepted is not None:
                acceptances[capture.name] = accepted
        return acceptances

    def _in_folders(self) -> list[Series]:
        """Return the series of the nights in the plan's folder that can be read."""
        with TemporaryDirectory() as place, Store.connect(f"{place}/history.db") as store:
            for folder in nights_in(self.plan.output):
                with suppress(TracekitError):
                    night = night_in(folder.folder)
                    if night is not None and night.kept:
                        store.append(cut_short(night))
            return store.series(plan=self.plan.name, machine=self.machine)


def sync(plan: NightPlan, machine: str, url: str = "") -> Synced:
    """Add the nights in a plan's folder that its history, or the one at `url`, does not have.

    Raise a TracekitError if the history cannot be used; later failures are in the answer.
    """
    with Store.connect(url or plan.history) as store:
        done = WaitingNights(store, plan, machine).add_all()
        if done.added and done.fatal_error is None and not url:
            try:
                newest_folder = nights_in(plan.output)[-1]
                HistoryKeeper(plan, machine).draw(store, newest_folder, datetime.now(UTC))
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
        that has `night_start` now. Nights that never ended are added as cut short, except those of
        other machines, which may run, and those that run here.
        """
        try:
            waiting = self._read_unknown()
            self._starts = []
            for _, night in waiting:
                start = moment_in(night.started)
                if self._is_own(night) and start is not None:
                    self._starts.append(start)
            for folder, night in waiting:
                self._add(folder, night)
            if night_start is not None:
                self._note_missed(night_start)
        except RecordingError as error:
            self._done.fatal_error = error
        return self._done

    def _read_unknown(self) -> list[tuple[NightFolder, Night]]:
        """Return the plan's nights that the history does not have, with their folders."""
        known_ids = self.store.ids()
        unknown: list[tuple[NightFolder, Night]] = []
        for folder in nights_in(self.plan.output):
            if folder.folder.name in known_ids:
                continue
            night = self._read(folder)
            if night is not None:
                unknown.append((folder, night))
        return unknown

    def _read(self, folder: NightFolder) -> Night | None:
        """Return the night of a folder; None if it is of another plan, or cannot be read."""
        try:
            night = night_in(folder.folder)
        except TracekitError as error:
            self._done.failed.append(Waiting(folder.folder.name, error.message))
            return None
        if night is None or night.plan != self.plan.name:
            return None
        return night

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
            night_start = moment_in(night.started)
            if self._is_own(night) and night_start is not None:
                self._note_missed(night_start)
            if self.store.append(cut_short(night)):
                self._done.added.append(night.id)
        except InputError as error:
            self._done.failed.append(Waiting(night.id, error.message))

    def _waits(self, night: Night) -> str:
        """Return why a night may still be written; empty if it is over.

        A night holds the lock of its folder from before its first document until after its last.
        """
        if night.ended:
            return ""
        if not self._is_own(night):
            return f"it has not ended, and may still run on {night.machine}"
        if self.alone or not runs_in(self.plan.output):
            return ""
        return "it may still run"

    def _note_missed(self, night_start: datetime) -> None:
        """Note the nights that were due between the last one and `night_start`."""
        plan = self.plan.name
        machine = self.machine
        earlier_nights = self.store.nights(plan=plan, machine=machine, until=night_start, limit=1)
        starts = [start for start in self._starts if start < night_start]
        for night in earlier_nights:
            start = moment_in(night.started)
            if start is not None and start < night_start:
                starts.append(start)
        last_start = max(starts, default=None)
        missed_times = find_missed_times(self.plan, last_start, night_start.astimezone(UTC))
        for due_time in missed_times:
            due_words = due_time.isoformat()
            if self.store.record_missed(plan, machine, due_words, "no night began"):
                self._done.missed.append(due_words)
