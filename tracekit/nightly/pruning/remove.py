"""A part of a run removed, so that an interruption leaves nothing half there.

A bundle is given another name first, which is one step, and is then no bundle any more; what is
left of it the next pruning removes. Exports, and a bundle that tables are read from, go once all of
their tables are kept as Parquet and a note says what they held; see `tracekit.tables.exports`.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.base.errors import RecordingError
from tracekit.base.recording import Recording, mark, now
from tracekit.nightly.pruning.decide import Removal
from tracekit.nightly.pruning.found import Part, RunSeen, bundles, trash
from tracekit.tables.direct import NOTE as DIRECT
from tracekit.tables.direct import direct
from tracekit.tables.exports import PutAway, note_put_away
from tracekit.tables.pruned import stored_to_put_away, to_put_away

STAGE = "prune"


def remove(one: Removal) -> dict[Path, str]:
    """Remove a part of a run; return why files of it had to stay, by path.

    Raises:
        RecordingError: It cannot be removed, or not be noted.
        InputError: What is known of exports that were removed before cannot be read.
    """
    recording = Recording(one.run.folder)
    try:
        if one.part.kind == "bundle":
            return _remove_bundles(recording, one.part)
        return _remove_exports(recording)
    except OSError as error:
        raise RecordingError(
            f"{error.filename or one.run.folder} cannot be removed: {error.strerror}.",
            hint="What was not removed is as it was; prune again when that is mended.",
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
    told = f"{what} on {now()[:10]}"
    if told not in before.split("; "):
        mark(recording, STAGE, "done", f"{before}; {told}" if before else told)
