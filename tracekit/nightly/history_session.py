"""What a night knows of other nights, and what they will know of it."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from tracekit.base import RecordingError, TracekitError, own_redaction, require_ours, write_whole
from tracekit.nightly.folder import NightFolder, nights_in, work_of
from tracekit.nightly.history.night import Accepted, Night
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.place import folder_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.schedule.schedule import missed
from tracekit.nightly.trend.course import links_from
from tracekit.nightly.trend.page import render_trend


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
        found: dict[str, Accepted] = {}
        for capture in captures:
            work = work_of(capture, self.plan.file.parent)
            if (one := self.store.accepted(machine, capture.name, work)) is not None:
                found[capture.name] = one
        return found

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
        own = folder_of(self.plan.history)
        return own and own.resolve()

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
        """Add nights that were ended from outside, and yield a sentence for each.

        Those of other plans and machines, which may still run, are left to these; those that were
        not to be kept are left alone.
        """
        known = store.ids()
        for night_folder in nights_in(self.plan.output):
            if night_folder.folder.name in known:
                continue
            try:
                found = night_folder.load()
                if not found.kept or (found.plan, found.machine) != (self.plan.name, machine):
                    continue
                night = store.recover(night_folder.folder)
            except TracekitError as error:
                yield f"The night {night_folder.folder.name} could not be added: {error.message}"
                continue
            if night is not None:
                yield f"The night {night.id} had not been added to the history; now it is."

    def _missed(self, store: Store, machine: str, begun: datetime) -> Iterator[str]:
        """Note nights that were due and did not run, and yield a sentence for each."""
        nights = store.nights(plan=self.plan.name, machine=machine, limit=1)
        last = datetime.fromisoformat(nights[-1].started) if nights else None
        for due in missed(self.plan, last, begun.astimezone(UTC)):
            if store.missed(self.plan.name, machine, due.isoformat(), "no night began"):
                yield f"The night that was due at {due:%Y-%m-%d %H:%M} UTC did not run."
