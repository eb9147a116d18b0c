"""Room made: what goes is removed run by run, and an interruption leaves nothing half there.

A bundle is given another name first, which is one step, and is then no bundle any more; what is
left of it the next pruning removes. Exports, and a bundle that tables are read from, go once all of
their tables are kept as Parquet and a note says what they held; see `tracekit.tables.exports`.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tracekit.base import Recording, RecordingError, TracekitError, UsageError, mark, now
from tracekit.nightly.pruning.decide import (
    Limits,
    Part,
    Protection,
    Removal,
    Removals,
    RunSeen,
    bundles,
    decide,
    roots,
    runs_below,
    trash,
)
from tracekit.record import Progress, quiet, size
from tracekit.tables import DIRECT_NOTE as DIRECT
from tracekit.tables import PutAway, direct, note_put_away, stored_to_put_away, to_put_away

STAGE = "prune"


def remove(removal: Removal) -> dict[Path, str]:
    """Remove a part of a run; return why files of it had to stay, by path.

    Raises:
        RecordingError: It cannot be removed, or not be noted.
        InputError: What is known of exports that were removed before cannot be read.
    """
    recording = Recording(removal.run.folder)
    try:
        if removal.part.kind == "bundle":
            return _remove_bundles(recording, removal.part)
        return _remove_exports(recording)
    except OSError as error:
        raise RecordingError(
            f"{error.filename or removal.run.folder} cannot be removed: {error.strerror}.",
            hint="What was not removed is as it was; prune again when that is fixed.",
        ) from error


def left_over(run: RunSeen) -> Iterator[Path]:
    """Yield what an interrupted pruning left of bundles."""
    for bundle in bundles(Recording(run.folder)):
        left = trash(bundle)
        if left.is_dir() and not left.is_symlink():
            yield left


def finish(run: RunSeen) -> None:
    """Remove what an interrupted pruning left; raise RecordingError where that fails."""
    recording = Recording(run.folder)
    try:
        for bundle in bundles(recording):
            if trash(bundle) in set(left_over(run)):
                _note_and_delete(recording, bundle.name, trash(bundle))
    except OSError as error:
        raise RecordingError(
            f"{error.filename or run.folder} cannot be removed: {error.strerror}."
        ) from error


def _remove_bundles(recording: Recording, part: Part) -> dict[Path, str]:
    if recording.bundle in part.paths and direct(recording.exports) is not None:
        away, why = stored_to_put_away(recording.exports, recording.tables, now())
        if why:
            return {recording.bundle: why}
        _stand_for(recording, away)
        (recording.exports / DIRECT).unlink()
        _forget_normalized(recording)
    for bundle in part.paths:
        left = trash(bundle)
        if left.exists():
            shutil.rmtree(left)
        bundle.rename(left)
        _note_and_delete(recording, bundle.name, left)
    return {}


def _note_and_delete(recording: Recording, name: str, left: Path) -> None:
    """Note that a bundle is gone, and delete it; the other way round where the disk is full."""
    try:
        _note(recording, name)
    except RecordingError:
        shutil.rmtree(left)
        _note(recording, name)
        return
    shutil.rmtree(left)


def _remove_exports(recording: Recording) -> dict[Path, str]:
    away, stays = to_put_away(recording.exports, recording.tables, now())
    if away:
        _stand_for(recording, away)
        for one in away:
            (recording.exports / one.name).unlink(missing_ok=True)
        _forget_normalized(recording)
        _note(recording, "exports")
    return stays


def _stand_for(recording: Recording, away: Sequence[PutAway]) -> None:
    """Let what was kept stand for what is removed next."""
    _flush(recording.tables)
    note_put_away(recording.exports, *away)


def _forget_normalized(recording: Recording) -> None:
    """Remove the tables of questions: made of what went, they would never be read again."""
    if not recording.tables.is_symlink() and not recording.normalized.is_symlink():
        shutil.rmtree(recording.normalized, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Let what was kept be on the disk before what it stands for is removed."""
    for file in folder.iterdir():
        if file.is_file():
            handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _note(recording: Recording, what: str) -> None:
    """Note in recording.json what was removed, and when."""
    before = recording.provenance().pruned
    entry = f"{what} on {now()[:10]}"
    if entry not in before.split("; "):
        mark(recording, STAGE, "done", f"{before}; {entry}" if before else entry)


@dataclass(frozen=True)
class Removed:
    """What was removed of a run, or would be; sizes in bytes.

    Attributes:
        run: The run's folder.
        what: bundle or exports.
        freed: How much less it holds now; where exports went, their kept tables count against.
        why: old, or room.
    """

    run: Path
    what: str
    freed: int
    why: str


@dataclass(frozen=True)
class Stays:
    """What stayed, and why."""

    path: Path
    why: str


@dataclass(frozen=True)
class Pruned:
    """What became of folders.

    Attributes:
        before: What they held, in bytes.
        after: What they hold now, or would.
        removed: What went.
        kept: Runs that have something to remove and stayed.
        stayed: Files that stayed, of runs that were pruned.
        failed: What could not be done, in words.
        missing: How many bytes more than allowed are left; 0 where nothing is.
        dry: Whether nothing was touched.
    """

    before: int
    after: int
    removed: tuple[Removed, ...] = ()
    kept: tuple[Stays, ...] = ()
    stayed: tuple[Stays, ...] = ()
    failed: tuple[str, ...] = ()
    missing: int = 0
    dry: bool = False

    @property
    def freed(self) -> int:
        """How many bytes there are less."""
        return self.before - self.after


def prune(
    folders: Sequence[Path],
    limits: Limits,
    protection: Protection | None = None,
    progress: Progress = quiet,
    *,
    dry: bool = False,
    now: datetime | None = None,
) -> Pruned:
    """Remove what is too old or too much: bundles first, then the XML of exports.

    Results, pages, kept tables, journals and nights' documents always stay. Of several folders
    the limits hold for all together. What cannot be removed is reported, and the others go on.

    Args:
        folders: Folders of runs and of nights.
        limits: What may stay.
        protection: What must stay; None for nothing.
        progress: What hears what goes on.
        dry: Whether to report only; how much the kept tables of exports will take is not known
            then, and counts as nothing.
        now: The time; None for this moment.

    Raises:
        UsageError: There is no limit at all.
        RecordingError: A folder is none.
    """
    if limits.keep is None and limits.most is None:
        raise UsageError(
            "Nothing says what may stay.", hint="Add --keep 30d, --max-size 50GB, or both."
        )
    for folder in folders:
        if not folder.is_dir():
            raise RecordingError(f"{folder} is no folder.", hint="Name one with runs or nights.")
    where, moment = roots(folders), now or datetime.now(UTC)
    progress("looking at the runs")
    runs = [run for root in where for run in runs_below(root, moment)]
    reason = (protection or Protection()).reason
    decision = decide(runs, limits, moment, reason)
    before = size(where)
    work = _Work(before, limits.most, progress, dry=dry)
    work.finish(runs)
    work.carry_out(decision)
    after = work.total if dry else size(where)
    return Pruned(
        before=before,
        after=after,
        removed=tuple(work.removed),
        kept=tuple(
            Stays(run.folder, decision.kept[run.folder]) for run in runs if _kept(run, decision)
        ),
        stayed=tuple(work.stayed),
        failed=tuple(work.failed),
        missing=0 if limits.most is None else max(0, after - limits.most),
        dry=dry,
    )


class _Work:
    """What has been done so far, and how much is left."""

    def __init__(self, total: int, most: int | None, progress: Progress, *, dry: bool) -> None:
        self.total = total
        self.removed: list[Removed] = []
        self.stayed: list[Stays] = []
        self.failed: list[str] = []
        self._most = most
        self._progress = progress
        self._dry = dry

    def finish(self, runs: Sequence[RunSeen]) -> None:
        """Remove what an interrupted pruning left."""
        for run in runs:
            left = size(left_over(run))
            if left and not self._dry:
                try:
                    finish(run)
                except TracekitError as error:
                    self.failed.append(error.message)
            self.total -= left

    def carry_out(self, decision: Removals) -> None:
        """Remove what is old, then what is too much."""
        for removal in decision.old:
            self._remove(removal)
        for one in decision.spare:
            if self._most is None or self.total <= self._most:
                return
            self._remove(one)

    def _remove(self, removal: Removal) -> None:
        freed = removal.part.size
        if not self._dry:
            self._progress(f"pruning {removal.run.folder.name}")
            before = size([removal.run.folder])
            try:
                self.stayed += [Stays(path, why) for path, why in remove(removal).items()]
            except TracekitError as error:
                self.failed.append(error.message)
            freed = before - size([removal.run.folder])
        self.total -= freed
        if freed:
            self.removed.append(Removed(removal.run.folder, removal.part.kind, freed, removal.why))


def _kept(run: RunSeen, decision: Removals) -> bool:
    return run.folder in decision.kept and bool(run.parts or run.only or run.busy)
