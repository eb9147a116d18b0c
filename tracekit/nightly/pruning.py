"""Room on the disk: the parts of runs and nights, those that must stay, and those to remove.

Only the files of a run count: a folder with a recording.json that can be read, and in it the files
that tracekit itself names. No link is followed.

Removal goes run by run, and an interruption leaves nothing half there. A bundle is renamed first,
in one step, and is then not a bundle any more; the next pruning removes its remains. Exports, and a
bundle that tables are read from, are removed once all of their tables are kept as Parquet and a
note describes their content; see `tracekit.tables.pruned`.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import starmap
from pathlib import Path
from typing import Literal, get_args

from tracekit.base import (
    Provenance,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    checksums,
    make_timestamp,
    stages,
)
from tracekit.nightly.history.listing import course_in
from tracekit.nightly.history.night import DOCUMENT, Accepted, moment_in
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.trend_changes import Changes
from tracekit.record import Progress, quiet, size
from tracekit.tables import DirectNote, cache, exports

_WORKING = timedelta(days=1)  # no stage takes longer; one that seems to was cut off
_LONGEST = timedelta(days=3)  # that a night may take

Kind = Literal["bundle", "exports"]


@dataclass(frozen=True)
class RunSeen:
    """A run's folder, found in `root`: the start of its recording, and its removable parts.

    `night` is the id of its night, empty for a run that somebody made. `stays` is the reason why
    nothing of it can be removed now, whatever the limits; empty if there is none.
    """

    folder: Path
    root: Path
    start: datetime
    parts: Mapping[Kind, tuple[Path, ...]] = field(default_factory=dict[Kind, tuple[Path, ...]])
    night: str = ""
    stays: str = ""


def trash(bundle: Path) -> Path:
    """Return the path of a bundle while it is being removed."""
    return bundle.with_name(f".{bundle.name}.pruned")


def bundles(recording: Recording) -> tuple[Path, ...]:
    """Return the paths of the bundles of a run, if it has them."""
    return (recording.bundle, recording.gputrace, recording.host_bundle)


def roots(folders: Iterable[Path]) -> list[Path]:
    """Return the folders by their real paths, without those that are in another of them."""
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
    changed_seconds = recording.provenance_file.lstat().st_mtime
    changed = datetime.fromtimestamp(changed_seconds, UTC)
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
    stays = _name_running_stage(provenance, current_time) or stays
    if not (parts or stays or recording.result_file.is_file()):
        stays = "it was not analyzed, and its bundle is all there is of it"
    return replace(run, start=start, parts=parts, stays=stays)


def _parts(recording: Recording) -> dict[Kind, tuple[Path, ...]]:
    """Return the removable parts; of a run that was not analyzed, only a capture of frames."""
    analyzed = recording.result_file.is_file()
    bundle_paths = bundles(recording) if analyzed else (recording.gputrace,)
    parts: dict[Kind, tuple[Path, ...]] = {}
    existing = tuple(path for path in bundle_paths if _is_own_folder(path))
    if existing:
        parts["bundle"] = existing
    if analyzed and not recording.exports.is_symlink():
        texts = tuple(_iter_texts(recording))
        if texts:
            parts["exports"] = texts
    return parts


def _is_own_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _iter_texts(recording: Recording) -> Iterator[Path]:
    """Yield the exported XML of a run, except its table of contents."""
    for path in sorted(recording.exports.glob("*.xml")):
        if path != recording.toc_file and path.is_file() and not path.is_symlink():
            yield path


def _name_running_stage(provenance: Provenance, current_time: datetime) -> str:
    """Return that a stage of a run is running, as a reason to stay; empty if none is."""
    for name, stage in provenance.stages.items():
        if stage.state != "running":
            continue
        stage_time = moment_in(stage.at)
        if stage_time is None or current_time - stage_time < _WORKING:
            return f"its stage {name} is running"
    return ""


def _night_of(run: Path, current_time: datetime) -> tuple[str, str]:
    """Return the id of a run's night, and why it lets nothing be removed; empty without one."""
    for folder in (run, *run.parents):
        if (folder / DOCUMENT).is_file():
            return _judge_night(folder, current_time)
    return "", ""


def _judge_night(folder: Path, current_time: datetime) -> tuple[str, str]:
    night = course_in(folder)
    if night is None:
        return "?", "its night.json cannot be read"
    cut_off = night.start_time is not None and current_time - night.start_time > _LONGEST
    if night.ended or cut_off:
        return night.id, ""
    return night.id, "its night has not ended"


@dataclass(frozen=True)
class Protection:
    """The reasons why nights must stay, by id, and folders with their content, by real path.

    It is not `is_known` if no history was asked; then nights stay.
    """

    nights: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: Mapping[Path, str] = field(default_factory=dict[Path, str])
    is_known: bool = True

    def reason(self, run: RunSeen) -> str:
        """Return why a run must stay; empty if it may be removed."""
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
    """Return the nights and folders that must stay: accepted ever, pinned, or next to a change.

    Of a step, the nights right before and after stay, and all that it may belong to. Of a drift,
    its ends stay, and the nights right before and after it. `pinned` are ids of nights, and
    absolute paths of folders.
    """
    nights: dict[str, str] = {}
    for series, trend in trends:
        nights.update(_nights_of_changes(series, trend))
    for baseline in accepted:
        nights[baseline.night] = f"it was accepted as a baseline: {baseline.reason}"
    folders: dict[Path, str] = {}
    for name in pinned:
        if Path(name).is_absolute():
            folders[Path(name).resolve()] = "it is pinned"
        else:
            nights[name] = "its night is pinned"
    return Protection(nights, folders)


def _nights_of_changes(series: Series, trend: Changes) -> dict[str, str]:
    """Return why nights at the changes of a series must stay, by id."""
    subject = f"{series.metric} of {series.capture}"
    ids = [point.night for point in series.points]
    nights: dict[str, str] = {}
    for ramp in trend.ramps:
        first_nights = ids[max(0, ramp.first_night - 1) : ramp.first_night + 1]
        last_nights = ids[ramp.last_night : ramp.last_night + 2]
        for night in (*first_nights, *last_nights):
            nights[night] = f"a drift of {subject} began or ended there"
    for step in trend.steps:
        first_index = min(step.index, step.earliest)
        last_index = max(step.index, step.latest)
        begin = max(0, first_index - 1)
        for night in ids[begin : last_index + 2]:
            nights[night] = f"{subject} changed there"
    return nights


@dataclass(frozen=True)
class PruneLimits:
    """The age that runs may have, and the bytes that all folders may hold; None for any.

    The `newest` runs of each folder, so many, stay in any case.
    """

    keep: timedelta | None = None
    max_bytes: int | None = None
    newest: int = 3


Removal = tuple[RunSeen, Kind, Literal["old", "room"]]
"""A part of a run to remove: because it is "old", or to make "room"."""


def decide(
    runs: Sequence[RunSeen],
    limits: PruneLimits,
    current_time: datetime,
    reason: Callable[[RunSeen], str],
) -> tuple[list[Removal], dict[Path, str]]:
    """Return the parts to remove, and by folder why runs stay whole that have something to remove.

    Old parts come before parts that make room, of each bundles before exports, the oldest first.
    """
    oldest_first = sorted(runs, key=lambda run: (run.start, run.folder))
    stay = _reasons_to_stay(oldest_first, limits, reason)
    old_parts: list[Removal] = []
    parts_for_room: list[Removal] = []
    for kind in get_args(Kind):
        for run in oldest_first:
            if stay[run.folder] or kind not in run.parts:
                continue
            if limits.keep is not None and current_time - run.start > limits.keep:
                old_parts.append((run, kind, "old"))
            elif limits.max_bytes is not None:
                parts_for_room.append((run, kind, "room"))
    kept_reasons: dict[Path, str] = {}
    for run in runs:
        stay_reason = stay[run.folder]
        if stay_reason and (run.parts or run.stays):
            kept_reasons[run.folder] = stay_reason
    return [*old_parts, *parts_for_room], kept_reasons


def _reasons_to_stay(
    oldest_first: Sequence[RunSeen], limits: PruneLimits, reason: Callable[[RunSeen], str]
) -> dict[Path, str]:
    """Return why each run stays whole, by folder; empty if parts of it may be removed."""
    remaining_runs = Counter(run.root for run in oldest_first)
    stay: dict[Path, str] = {}
    for run in oldest_first:
        stay_reason = run.stays or reason(run)
        if not stay_reason and remaining_runs[run.root] <= limits.newest:
            stay_reason = "it is one of the newest"
        stay[run.folder] = stay_reason
        remaining_runs[run.root] -= 1
    return stay


STAGE = "prune"


def _remove_bundles(recording: Recording, paths: Sequence[Path]) -> dict[Path, str]:
    """Remove the bundles of a run; return those that stay, each with the reason."""
    read_bundle = _find_read_bundle(recording)
    if read_bundle is not None and read_bundle in paths:
        pruned_exports, reason = cache.keep_bundle_tables(
            recording.exports, recording.tables, make_timestamp()
        )
        if reason:
            return {read_bundle: reason}
        _keep_tables_instead(recording, pruned_exports)
        (recording.exports / DirectNote.FILE).unlink()
    for bundle in paths:
        bundle.rename(trash(bundle))
        _delete(recording, bundle)
    return {}


def _find_read_bundle(recording: Recording) -> Path | None:
    """Return the bundle or the capture of a run that its tables are read from, if there is one."""
    note = DirectNote.read(recording.exports)
    if note is None:
        return None
    for bundle in (recording.bundle, recording.gputrace):
        if note.path(recording.exports).resolve() == bundle.resolve():
            return bundle
    return None


def _delete(recording: Recording, bundle: Path) -> None:
    """Note that a bundle was removed, and remove the folder that it was renamed to."""
    _note(recording, bundle.name)
    shutil.rmtree(trash(bundle))


def _remove_exports(recording: Recording, _paths: Sequence[Path]) -> dict[Path, str]:
    """Remove the exports of a run; return those that stay, each with the reason."""
    pruned_exports, stays = cache.keep_exported_tables(
        recording.exports, recording.tables, make_timestamp()
    )
    if pruned_exports:
        _keep_tables_instead(recording, pruned_exports)
        for export in pruned_exports:
            (recording.exports / export.name).unlink(missing_ok=True)
        _note(recording, "exports")
    return stays


def _keep_tables_instead(
    recording: Recording, pruned_exports: Sequence[exports.PrunedExport]
) -> None:
    """Write the kept tables to the disk, and note that they replace the files to be removed."""
    for file in recording.tables.iterdir():
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
    exports.note_pruned_exports(recording.exports, *pruned_exports)


def _note(recording: Recording, part: str) -> None:
    """Note in the run that a part was pruned, and the day."""
    note = recording.provenance().pruning_note
    entry = f"{part} on {make_timestamp()[:10]}"
    if not note:
        stages.mark(recording, STAGE, "done", entry)
    elif entry not in note.split("; "):
        stages.mark(recording, STAGE, "done", f"{note}; {entry}")


@dataclass(frozen=True)
class Removed:
    """A removed part of a run, or one to remove: a bundle or exports, as "old" or for "room".

    `freed` is how many bytes less the run holds; the kept tables of removed exports count against.
    """

    run: Path
    what: str
    freed: int
    why: str


@dataclass(frozen=True)
class Stays:
    """A path that stayed, and the reason."""

    path: Path
    why: str


@dataclass
class Pruned:
    """The result for folders that held `before` bytes and hold `after` now, or would if `dry`.

    Whole runs are `kept`, files of pruned ones have `stayed`; `failed` are failures in words.
    `missing` is how many bytes more than allowed the folders hold.
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
        """The bytes that were freed."""
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
    """Remove parts that are too old or too much: bundles first, then the XML of exports.

    Results, pages, kept tables, journals and nights' documents always stay. The limits hold for all
    folders together. A part that cannot be removed is reported, and pruning continues. If `dry`,
    removals are only reported; the size of tables that would be kept for exports counts as 0.
    """
    if limits.keep is None and limits.max_bytes is None:
        raise UsageError("Specify what to keep.", hint="Add --keep 30d, --max-size 50GB, or both.")
    for folder in folders:
        if not folder.is_dir():
            raise RecordingError(f"{folder} is not a folder.", hint="Name one with runs or nights.")
    root_folders = roots(folders)
    moment = current_time or datetime.now(UTC)
    protection = protection or Protection()
    progress("looking at the runs")
    runs: list[RunSeen] = []
    for root in root_folders:
        runs += runs_below(root, moment)
    removals, kept_reasons = decide(runs, limits, moment, protection.reason)
    bytes_before = size(root_folders)
    done = Pruned(bytes_before, bytes_before, dry=dry)
    done.kept = list(starmap(Stays, kept_reasons.items()))
    for run in runs:
        _remove_leftovers(run, done)
    _remove_parts(removals, limits, done, progress)
    if not dry:
        done.after = size(root_folders)
    if limits.max_bytes is not None:
        done.missing = max(0, done.after - limits.max_bytes)
    return done


def _remove_parts(
    removals: Sequence[Removal], limits: PruneLimits, done: Pruned, progress: Progress
) -> None:
    """Remove parts, or count them if pruning is dry, until there is enough room."""
    for run, kind, cause in removals:
        if cause == "room" and done.after <= (limits.max_bytes or 0):
            break
        if done.dry:
            freed = size(run.parts[kind])
        else:
            progress(f"pruning {run.folder.name}")
            freed = _remove(run, kind, done)
        done.after -= freed
        if freed:
            done.removed.append(Removed(run.folder, kind, freed, cause))


def _remove(run: RunSeen, kind: Kind, done: Pruned) -> int:
    """Remove a part of a run, and return the bytes that this freed."""
    remove = _remove_bundles if kind == "bundle" else _remove_exports
    bytes_before = size([run.folder])
    with _removing(run, done), checksums.noting(run.folder, STAGE, begin=False):
        stayed = remove(Recording(run.folder), run.parts[kind])
        done.stayed += starmap(Stays, stayed.items())
    return bytes_before - size([run.folder])


def _remove_leftovers(run: RunSeen, done: Pruned) -> None:
    """Remove the leftovers of an interrupted pruning: bundles that it had renamed already."""
    for bundle in bundles(Recording(run.folder)):
        leftover = trash(bundle)
        if _is_own_folder(leftover):
            done.after -= size([leftover])
            with _removing(run, done):
                if not done.dry:
                    _delete(Recording(run.folder), bundle)


@contextmanager
def _removing(run: RunSeen, done: Pruned) -> Generator[None]:
    """Report a part that could not be removed; the other runs go on."""
    try:
        yield
    except TracekitError as error:
        done.failed.append(error.message)
    except OSError as error:
        place = error.filename or run.folder
        done.failed.append(f"{place} cannot be removed: {error.strerror}.")
