"""A machine claimed for one recording: nobody else records, and nothing outlives tracekit."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.xctrace.disk import Disk
from tracekit.record.xctrace.lock import locked, told
from tracekit.record.xctrace.rivals import refuse_rivals, rivals
from tracekit.record.xctrace.staging import remember, staging_folder, sweep

_STAGING_AGE = 60.0


@dataclass(frozen=True)
class Premises:
    """Where a recorder keeps its notes, and what it leaves alone.

    Attributes:
        notes: The folder of the lock and of the list of staging files.
        disk: What must stay free.
        staging_age: Seconds since its last change after which a staging file may be removed.
    """

    notes: Path = field(default_factory=notes_folder)
    disk: Disk = field(default_factory=Disk)
    staging_age: float = _STAGING_AGE

    @property
    def ledger(self) -> Path:
        """The list of staging files that recordings of ours made and that are still there."""
        return self.notes / "staging.json"

    def put_away(self, made: frozenset[Path] = frozenset()) -> frozenset[Path]:
        """Remove staging files of ours that nobody needs; return those of `made` that stay."""
        remember(self.ledger, made)
        return made & set(sweep(self.ledger, self.staging_age))


@dataclass(frozen=True)
class Claim:
    """What a recording needs that has the machine to itself."""

    guardian: Guardian
    premises: Premises
    places: tuple[Path, ...]
    warnings: tuple[str, ...] = ()


@contextmanager
def claimed(recording: Recording, premises: Premises) -> Generator[Claim]:
    """Claim the machine for as long as the block lasts.

    Raises:
        ToolError: Another recorder runs.
        RecordingError: Too little of the disk is free, or the lock cannot be written.
    """
    places = (recording.folder, staging_folder())
    with locked(recording.folder.absolute(), premises.notes) as lock:
        warnings = list(refuse_rivals(rivals()))
        if lock.stale is not None:
            warnings.append(told(lock.stale))
        premises.put_away()
        premises.disk.require(places)
        held = () if lock.handle is None else (lock.handle,)
        with Guardian(recording.folder, held) as guardian:
            yield Claim(guardian, premises, places, tuple(warnings))
