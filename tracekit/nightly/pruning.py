"""Room on the disk: what lies in folders of runs and nights, what must stay, and what goes.

Only what is known to be a run's counts: a folder with a recording.json that can be read, and in
it the files that tracekit itself names. No link is followed.

What goes is removed run by run, and an interruption leaves nothing half there. A bundle is given
another name first, which is one step, and is then no bundle any more; what is left of it the next
pruning removes. Exports, and a bundle that tables are read from, go once all of their tables are
kept as Parquet and a note says what they held; see `tracekit.tables.exports`.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from tracekit.base import (
    Provenance,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    make_timestamp,
    mark,
    noting,
)
from tracekit.nightly.history.changes import Changes
from tracekit.nightly.history.listing import course_in
from tracekit.nightly.history.night import DOCUMENT, Accepted, moment_in
from tracekit.nightly.history.steps import Series
from tracekit.record import Progress, quiet, size
from tracekit.tables import DIRECT_NOTE as DIRECT
from tracekit.tables import PutAway, direct, note_put_away, stored_to_put_away, to_put_away

_WORKING = timedelta(days=1)  # no stage takes longer; one that says so was cut off
_LONGEST = timedelta(days=3)  # that a night may take

Kind = Literal["bundle", "exports"]


@dataclass(frozen=True)
class RunSeen:
    """A run's folder, found in `root`: when it was recorded, and what can be removed of it.

    `night` is the id of its night, empty for a run that somebody made. `stays` says why nothing of
    it can be removed now, whoever asks; it is empty where that is not so.
    """

    folder: Path
    root: Path
    start: datetime
    parts: Mapping[Kind, tuple[Path, ...]] = field(default_factory=dict[Kind, tuple[Path, ...]])
    night: str = ""
    stays: str = ""


def trash(bundle: Path) -> Path:
    """Return what a bundle is called while it is being removed."""
    return bundle.with_name(f".{bundle.name}.pruned")


def bundles(recording: Recording) -> tuple[Path, ...]:
    """Return where the bundles of a run are, if it has them."""
    return (recording.bundle, recording.gputrace, recording.host_bundle)


def roots(folders: Iterable[Path]) -> list[Path]:
    """Return the folders by their real paths, without those that lie in another of them."""
    real = {folder.resolve() for folder in folders}
    return sorted(folder for folder in real if real.isdisjoint(folder.parents))


def runs_below(root: Path, current_time: datetime) -> Iterator[RunSeen]:
    """Yield the runs in a folder, and in folders in it, in the order of their names."""
    for name, folders, files in os.walk(root):
        folders.sort()
        if "recording.json" in files:
            folders.clear()
            yield _run(Path(name), root, current_time)


def _run(place: Path, root: Path, current_time: datetime) -> RunSeen:
    recording = Recording(place)
    changed = datetime.fromtimestamp(recording.provenance_file.lstat().st_mtime, UTC)
    night, stays = _night_of(place, current_time)
    run = RunSeen(place, root, changed, night=night, stays=stays)
    try:
        if recording.provenance_file.is_symlink():
            return replace(run, stays="its recording.json is a link")
        provenance = recording.provenance()
    except TracekitError:
        return replace(run, stays="its recording.json cannot be read")
    start = moment_in(provenance.started) or moment_in(provenance.created) or changed
    parts = _parts(recording)
    stays = _working(provenance, current_time) or stays
    if not (parts or stays or recording.result_file.is_file()):
        stays = "it was not analyzed, and its bundle is all there is of it"
    return replace(run, start=start, parts=parts, stays=stays)


def _parts(recording: Recording) -> dict[Kind, tuple[Path, ...]]:
    """Return what can be removed; of a run that was not analyzed a capture of frames alone."""
    analyzed = recording.result_file.is_file()
    bundle_paths = bundles(recording) if analyzed else (recording.gputrace,)
    there = tuple(path for path in bundle_paths if path.is_dir() and not path.is_symlink())
    parts: dict[Kind, tuple[Path, ...]] = {"bundle": there} if there else {}
    if analyzed and not recording.exports.is_symlink():
        texts = tuple(
            path
            for path in sorted(recording.exports.glob("*.xml"))
            if path != recording.toc_file and path.is_file() and not path.is_symlink()
        )
        parts |= {"exports": texts} if texts else {}
    return parts


def _working(provenance: Provenance, current_time: datetime) -> str:
    for name, stage in provenance.stages.items():
        stage_time = moment_in(stage.at)
        if stage.state == "running" and (
            stage_time is None or current_time - stage_time < _WORKING
        ):
            return f"its stage {name} is running"
    return ""


def _night_of(run: Path, current_time: datetime) -> tuple[str, str]:
    """Return the id of a run's night, and why that lets nothing be removed; empty without one."""
    night_folder = next(
        (folder for folder in (run, *run.parents) if (folder / DOCUMENT).is_file()), None
    )
    if night_folder is None:
        return "", ""
    night = course_in(night_folder)
    if night is None:
        return "?", "its night.json cannot be read"
    cut_off = night.start_time is not None and current_time - night.start_time > _LONGEST
    return night.id, "" if night.ended or cut_off else "its night has not ended"


@dataclass(frozen=True)
class Protection:
    """Why nights must stay, by id, and folders with all that is in them, by real path.

    It is not `is_known` where no history was asked; then nights stay.
    """

    nights: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: Mapping[Path, str] = field(default_factory=dict[Path, str])
    is_known: bool = True

    def reason(self, run: RunSeen) -> str:
        """Say why a run must stay; empty where it may go."""
        for folder in (run.folder, *run.folder.parents):
            if folder in self.folders:
                return self.folders[folder]
        if run.night and not self.is_known:
            return "no history says whether its night must stay; name the plan with --config"
        return self.nights.get(run.night, "")


def protection(
    trends: Iterable[tuple[Series, Changes]],
    accepted: Iterable[Accepted],
    pinned: Iterable[str],
) -> Protection:
    """Return what a history says must stay: what was ever accepted or is pinned, and changes.

    Of a step the nights right before and after stay, and all that it may have been. Of a drift its
    ends stay, and the nights right before and after it. What is pinned are ids of nights, and whole
    paths of folders.
    """
    nights: dict[str, str] = {}
    for series, trend in trends:
        ids = [point.night for point in series.points]
        for ramp in trend.ramps:
            ends = (
                *ids[max(0, ramp.first_night - 1) : ramp.first_night + 1],
                *ids[ramp.last_night : ramp.last_night + 2],
            )
            reason = f"a drift of {series.metric} of {series.capture} began or ended there"
            nights |= dict.fromkeys(ends, reason)
        for step in trend.steps:
            first_index, last_index = min(step.index, step.earliest), max(step.index, step.latest)
            for night in ids[max(0, first_index - 1) : last_index + 2]:
                nights[night] = f"{series.metric} of {series.capture} changed there"
    nights |= {
        baseline.night: f"it was accepted as a baseline: {baseline.reason}" for baseline in accepted
    }
    folders: dict[Path, str] = {}
    for name in pinned:
        if Path(name).is_absolute():
            folders[Path(name).resolve()] = "it is pinned"
        else:
            nights[name] = "its night is pinned"
    return Protection(nights, folders)


@dataclass(frozen=True)
class PruneLimits:
    """How old runs may be, and how many bytes all folders may hold; None for any.

    So many of the `newest` runs of each folder stay all the same.
    """

    keep: timedelta | None = None
    max_bytes: int | None = None
    newest: int = 3


Removal = tuple[RunSeen, Kind, Literal["old", "room"]]
"""A part of a run that is to go: it is "old", or there is to be "room"."""


def decide(
    runs: Sequence[RunSeen],
    limits: PruneLimits,
    current_time: datetime,
    reason: Callable[[RunSeen], str],
) -> tuple[list[Removal], dict[Path, str]]:
    """Decide what goes, and say by folder why runs stay whole that have something to remove.

    What is old comes before what may go for room, of each bundles before exports, the oldest first.
    """
    oldest_first = sorted(runs, key=lambda run: (run.start, run.folder))
    remaining_runs = Counter(run.root for run in runs)
    stay: dict[Path, str] = {}
    for run in oldest_first:
        new = "it is one of the newest" if remaining_runs[run.root] <= limits.newest else ""
        stay[run.folder] = run.stays or reason(run) or new
        remaining_runs[run.root] -= 1
    removals: list[Removal] = []
    for kind in get_args(Kind):
        for run in oldest_first:
            old = limits.keep is not None and current_time - run.start > limits.keep
            if kind in run.parts and not stay[run.folder] and (old or limits.max_bytes is not None):
                removals.append((run, kind, "old" if old else "room"))
    able = [run.folder for run in runs if run.parts or run.stays]
    kept_reasons = {folder: stay[folder] for folder in able if stay[folder]}
    return sorted(removals, key=lambda removal: removal[2]), kept_reasons


STAGE = "prune"


def _remove_bundles(recording: Recording, paths: Sequence[Path]) -> dict[Path, str]:
    if recording.bundle in paths and direct(recording.exports) is not None:
        put_away_exports, reason = stored_to_put_away(
            recording.exports, recording.tables, make_timestamp()
        )
        if reason:
            return {recording.bundle: reason}
        _stand_for(recording, put_away_exports)
        (recording.exports / DIRECT).unlink()
    for bundle in paths:
        bundle.rename(trash(bundle))
        _delete(recording, bundle)
    return {}


def _delete(recording: Recording, bundle: Path) -> None:
    """Note that a bundle is none any more, and remove what it was renamed to."""
    _note(recording, bundle.name)
    shutil.rmtree(trash(bundle))


def _remove_exports(recording: Recording, _paths: Sequence[Path]) -> dict[Path, str]:
    put_away_exports, stays = to_put_away(recording.exports, recording.tables, make_timestamp())
    if put_away_exports:
        _stand_for(recording, put_away_exports)
        for export in put_away_exports:
            (recording.exports / export.name).unlink(missing_ok=True)
        _note(recording, "exports")
    return stays


def _stand_for(recording: Recording, put_away_exports: Sequence[PutAway]) -> None:
    """Let what was kept, once it is on the disk, stand for what is removed next."""
    for file in recording.tables.iterdir():
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
    note_put_away(recording.exports, *put_away_exports)


def _note(recording: Recording, part: str) -> None:
    earlier_notes = recording.provenance().pruning_note
    entry = f"{part} on {make_timestamp()[:10]}"
    if entry not in earlier_notes.split("; "):
        mark(recording, STAGE, "done", f"{earlier_notes}; {entry}" if earlier_notes else entry)


@dataclass(frozen=True)
class Removed:
    """What was removed of a run, or would be: a bundle or exports, as `old` or for `room`.

    `freed_bytes` is how many bytes less it holds; where exports went, their kept tables count
    against.
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

    Whole runs are `kept`, files of pruned ones have `stayed`; `failed` is what could not be done,
    in words. So many bytes more than allowed are `missing`.
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
    def freed_bytes(self) -> int:
        """How many bytes there are less."""
        return self.before - self.after


def prune(
    folders: Sequence[Path],
    limits: PruneLimits,
    protection: Protection | None = None,
    progress: Progress = quiet,
    *,
    dry: bool = False,
    current_time: datetime | None = None,
) -> Pruned:
    """Remove what is too old or too much: bundles first, then the XML of exports.

    Results, pages, kept tables, journals and nights' documents always stay. Of several folders
    the limits hold for all together. What cannot be removed is reported, and the others go on.
    If `dry`, all is only reported; what the kept tables of exports will take counts as nothing.
    """
    if limits.keep is None and limits.max_bytes is None:
        raise UsageError(
            "Nothing says what may stay.", hint="Add --keep 30d, --max-size 50GB, or both."
        )
    for folder in folders:
        if not folder.is_dir():
            raise RecordingError(f"{folder} is no folder.", hint="Name one with runs or nights.")
    root_folders, moment = roots(folders), current_time or datetime.now(UTC)
    progress("looking at the runs")
    runs = [run for root in root_folders for run in runs_below(root, moment)]
    removals, kept_reasons = decide(runs, limits, moment, (protection or Protection()).reason)
    bytes_before = size(root_folders)
    done = Pruned(bytes_before, bytes_before, dry=dry)
    done.kept = [Stays(folder, cause) for folder, cause in kept_reasons.items()]
    for run in runs:
        _finish(run, done)
    for run, kind, cause in removals:
        if cause == "room" and done.after <= (limits.max_bytes or 0):
            break
        freed = size(run.parts[kind])
        if not dry:
            progress(f"pruning {run.folder.name}")
            remove = _remove_bundles if kind == "bundle" else _remove_exports
            held_bytes = size([run.folder])
            with _removing(run, done), noting(run.folder, STAGE, begin=False):
                stayed = remove(Recording(run.folder), run.parts[kind])
                done.stayed += [Stays(path, reason) for path, reason in stayed.items()]
            freed = held_bytes - size([run.folder])
        done.after -= freed
        if freed:
            done.removed.append(Removed(run.folder, kind, freed, cause))
    if not dry:
        done.after = size(root_folders)
    done.missing = 0 if limits.max_bytes is None else max(0, done.after - limits.max_bytes)
    return done


def _finish(run: RunSeen, done: Pruned) -> None:
    for bundle in bundles(Recording(run.folder)):
        leftover = trash(bundle)
        if leftover.is_dir() and not leftover.is_symlink():
            done.after -= size([leftover])
            with _removing(run, done):
                if not done.dry:
                    _delete(Recording(run.folder), bundle)


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
