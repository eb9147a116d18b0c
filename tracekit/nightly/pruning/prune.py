"""Room made: what goes is removed run by run, and an interruption leaves nothing half there.

A bundle is given another name first, which is one step, and is then no bundle any more; what is
left of it the next pruning removes. Exports, and a bundle that tables are read from, go once all of
their tables are kept as Parquet and a note says what they held; see `tracekit.tables.exports`.
"""

import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tracekit.base import Recording, RecordingError, TracekitError, UsageError, mark, now
from tracekit.nightly.pruning.decide import (
    Limits,
    Part,
    Protection,
    Removal,
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
        _delete(recording, bundle.name, left)
    return {}


def _delete(recording: Recording, name: str, left: Path) -> None:
    """Empty a renamed bundle, then note it; while its folder is there, this can be finished."""
    for path in left.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    _note(recording, name)
    left.rmdir()


def _remove_exports(recording: Recording, _part: Part) -> dict[Path, str]:
    away, stays = to_put_away(recording.exports, recording.tables, now())
    if away:
        _stand_for(recording, away)
        for one in away:
            (recording.exports / one.name).unlink(missing_ok=True)
        _forget_normalized(recording)
        _note(recording, "exports")
    return stays


def _stand_for(recording: Recording, away: Sequence[PutAway]) -> None:
    """Let what was kept, once it is on the disk, stand for what is removed next."""
    for file in recording.tables.iterdir():
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
    note_put_away(recording.exports, *away)


def _forget_normalized(recording: Recording) -> None:
    """Remove the tables of questions: made of what went, they would never be read again."""
    if not recording.tables.is_symlink() and not recording.normalized.is_symlink():
        shutil.rmtree(recording.normalized, ignore_errors=True)


def _note(recording: Recording, what: str) -> None:
    """Note in recording.json what was removed, and when."""
    before = recording.provenance().pruned
    entry = f"{what} on {now()[:10]}"
    if entry not in before.split("; "):
        mark(recording, STAGE, "done", f"{before}; {entry}" if before else entry)


@dataclass(frozen=True)
class Removed:
    """What was removed of a run, or would be: a bundle or exports, as `old` or for `room`.

    `freed` is how many bytes less it holds; where exports went, their kept tables count against.
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


@dataclass
class Pruned:
    """What became of folders, which held `before` bytes and hold `after` now, or would if `dry`.

    Runs that have something to remove are `kept`, files of runs that were pruned have `stayed`;
    `failed` says in words what could not be done. So many bytes more than allowed are `missing`.
    """

    before: int
    after: int
    removed: list[Removed] = field(default_factory=list[Removed])
    kept: list[Stays] = field(default_factory=list[Stays])
    stayed: list[Stays] = field(default_factory=list[Stays])
    failed: list[str] = field(default_factory=list[str])
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

    If `dry`, it is only reported; how much the kept tables of exports will take is not known then,
    and counts as nothing.

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
    removals, kept = decide(runs, limits, moment, (protection or Protection()).reason)
    before = size(where)
    done = Pruned(before, before, dry=dry)
    done.kept = [Stays(folder, why) for folder, why in kept.items()]
    for run in runs:
        _finish(run, done)
    for removal in removals:
        if removal.why == "room" and done.after <= (limits.most or 0):
            break
        _carry_out(removal, done, progress)
    if not dry:
        done.after = size(where)
    done.missing = 0 if limits.most is None else max(0, done.after - limits.most)
    return done


def _finish(run: RunSeen, done: Pruned) -> None:
    """Remove what an interrupted pruning left."""
    recording = Recording(run.folder)
    for bundle in bundles(recording):
        left = trash(bundle)
        if not left.is_dir() or left.is_symlink():
            continue
        done.after -= size([left])
        if not done.dry:
            with _removing(run, done):
                _delete(recording, bundle.name, left)


def _carry_out(removal: Removal, done: Pruned, progress: Progress) -> None:
    run, part = removal.run, removal.part
    freed = part.size
    if not done.dry:
        progress(f"pruning {run.folder.name}")
        before = size([run.folder])
        with _removing(run, done):
            remove = _remove_bundles if part.kind == "bundle" else _remove_exports
            stayed = remove(Recording(run.folder), part)
            done.stayed += [Stays(path, reason) for path, reason in stayed.items()]
        freed = before - size([run.folder])
    done.after -= freed
    if freed:
        done.removed.append(Removed(run.folder, part.kind, freed, removal.why))


@contextmanager
def _removing(run: RunSeen, done: Pruned) -> Generator[None]:
    """Report what could not be removed; the other runs go on."""
    try:
        yield
    except TracekitError as error:
        done.failed.append(error.message)
    except OSError as error:
        place = error.filename or run.folder
        done.failed.append(f"{place} cannot be removed: {error.strerror}.")
