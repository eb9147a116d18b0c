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
    mark,
    now,
)
from tracekit.nightly.history.listing import NightSummary, course_in, moment_in
from tracekit.nightly.history.night import DOCUMENT, Accepted
from tracekit.nightly.history.steps import Series, Step
from tracekit.record import Progress, quiet, size
from tracekit.tables import DIRECT_NOTE as DIRECT
from tracekit.tables import PutAway, direct, note_put_away, stored_to_put_away, to_put_away

_WORKING = timedelta(days=1)  # no stage takes longer; one that says so was cut off
_LONGEST = timedelta(days=3)  # that a night may take

Kind = Literal["bundle", "exports"]


@dataclass(frozen=True)
class Part:
    """What can be removed of a run; `size` in bytes."""

    kind: Kind
    paths: tuple[Path, ...]
    size: int


@dataclass(frozen=True)
class RunSeen:
    """A run's folder, found in `root`: when it was recorded, and what can be removed of it.

    `night` is the id of its night, empty for a run that somebody made. `busy` says why nothing of
    it can be removed now, `only` why its bundle is all there is of it; each is empty where that is
    not so.
    """

    folder: Path
    root: Path
    begun: datetime
    parts: tuple[Part, ...] = ()
    night: str = ""
    busy: str = ""
    only: str = ""


def trash(bundle: Path) -> Path:
    """Return what a bundle is called while it is being removed."""
    return bundle.with_name(f".{bundle.name}.pruned")


def bundles(recording: Recording) -> tuple[Path, ...]:
    """Return where the bundles of a run are, if it has them."""
    return (recording.bundle, recording.gputrace, recording.host_bundle)


def roots(folders: Iterable[Path]) -> list[Path]:
    """Return the folders by their real paths, without those that lie in another of them."""
    real = sorted({folder.resolve() for folder in folders})
    return [one for one in real if not any(other in one.parents for other in real)]


def runs_below(root: Path, now: datetime) -> Iterator[RunSeen]:
    """Yield the runs in a folder, and in folders in it, in the order of their names."""
    above = [parent for parent in root.parents if (parent / DOCUMENT).is_file()]
    nights = {one: course_in(one) for one in above}
    for name, folders, files in os.walk(root):
        place = Path(name)
        folders.sort()
        if DOCUMENT in files:
            nights[place] = course_in(place)
        if "recording.json" in files:
            folders.clear()
            own = [nights[one] for one in (place, *place.parents) if one in nights]
            run = _run(place, root, now)
            yield replace(run, **_of_night(own[0], now, busy=run.busy)) if own else run


def _run(place: Path, root: Path, now: datetime) -> RunSeen:
    recording = Recording(place)
    changed = datetime.fromtimestamp(recording.provenance_file.lstat().st_mtime, UTC)
    try:
        if recording.provenance_file.is_symlink():
            return RunSeen(place, root, changed, busy="its recording.json is a link")
        provenance = recording.provenance()
    except TracekitError:
        return RunSeen(place, root, changed, busy="its recording.json cannot be read")
    analyzed = recording.result_file.is_file()
    return RunSeen(
        folder=place,
        root=root,
        begun=moment_in(provenance.started) or moment_in(provenance.created) or changed,
        parts=tuple(_parts(recording, analyzed=analyzed)),
        busy=_busy(provenance, now),
        only="" if analyzed else "it was not analyzed, and its bundle is all there is of it",
    )


def _parts(recording: Recording, *, analyzed: bool) -> Iterator[Part]:
    there = [bundle for bundle in bundles(recording) if bundle.is_dir() and not bundle.is_symlink()]
    if not analyzed:
        there = [one for one in there if one == recording.gputrace]
    if there:
        yield Part("bundle", tuple(there), size(there))
    if analyzed and recording.exports.is_dir() and not recording.exports.is_symlink():
        texts = sorted(
            path
            for path in recording.exports.glob("*.xml")
            if path != recording.toc_file and path.is_file() and not path.is_symlink()
        )
        if texts:
            yield Part("exports", tuple(texts), size(texts))


def _busy(provenance: Provenance, now: datetime) -> str:
    for name, stage in provenance.stages.items():
        at = moment_in(stage.at)
        if stage.state == "running" and (at is None or now - at < _WORKING):
            return f"its stage {name} is running"
    return ""


def _of_night(night: NightSummary | None, now: datetime, *, busy: str) -> dict[str, str]:
    """Return what a run's night says of it; one that began long ago was cut off."""
    if night is None:
        return {"night": "?", "busy": busy or "its night.json cannot be read"}
    long_ago = night.began is not None and now - night.began > _LONGEST
    unended = "" if night.ended or long_ago else "its night has not ended"
    return {"night": night.id, "busy": busy or unended}


@dataclass(frozen=True)
class Protection:
    """Why nights must stay, by id, and folders with all that is in them, by real path.

    It is not `known` where no history was asked; then nights stay.
    """

    nights: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: Mapping[Path, str] = field(default_factory=dict[Path, str])
    known: bool = True

    def reason(self, run: RunSeen) -> str:
        """Say why a run must stay; empty where it may go."""
        for folder in (run.folder, *run.folder.parents):
            if folder in self.folders:
                return self.folders[folder]
        if run.night and not self.known:
            return "no history says whether its night must stay; name the plan with --config"
        return self.nights.get(run.night, "")


def protection(
    stepped: Iterable[tuple[Series, Sequence[Step]]],
    accepted: Iterable[Accepted],
    pinned: Iterable[str],
) -> Protection:
    """Return what a history says must stay: what was ever accepted or is pinned, and changes.

    Of a change point the nights right before and after stay, and all that it may have been. What
    is pinned are ids of nights, and whole paths of folders.
    """
    nights: dict[str, str] = {}
    for series, steps in stepped:
        ids = [point.night for point in series.points]
        for step in steps:
            first, last = min(step.index, step.earliest), max(step.index, step.latest)
            for night in ids[max(0, first - 1) : last + 2]:
                nights[night] = f"{series.metric} of {series.capture} changed there"
    for one in accepted:
        nights[one.night] = f"it was accepted as a baseline: {one.reason}"
    folders: dict[Path, str] = {}
    for name in pinned:
        if Path(name).is_absolute():
            folders[Path(name).resolve()] = "it is pinned"
        else:
            nights[name] = "its night is pinned"
    return Protection(nights, folders)


@dataclass(frozen=True)
class Limits:
    """How old runs may be, and how many bytes all folders may hold; None for any.

    So many of the `newest` runs of each folder stay all the same.
    """

    keep: timedelta | None = None
    most: int | None = None
    newest: int = 3


@dataclass(frozen=True)
class Removal:
    """A part of a run that is to go: it is "old", or there is to be "room"."""

    run: RunSeen
    part: Part
    why: Literal["old", "room"]


def decide(
    runs: Sequence[RunSeen], limits: Limits, now: datetime, reason: Callable[[RunSeen], str]
) -> tuple[list[Removal], dict[Path, str]]:
    """Decide what goes, and say by folder why runs stay whole that have something to remove.

    First comes what is old, then what may go for room; of each bundles before exports, and of
    these the oldest first. `reason` says why a run must stay; it is empty where it may go.
    """
    newest_first = sorted(runs, key=lambda run: (run.begun, run.folder), reverse=True)
    seen: Counter[Path] = Counter()
    stay: dict[Path, str] = {}
    for run in newest_first:
        seen[run.root] += 1
        new = "it is one of the newest" if seen[run.root] <= limits.newest else ""
        stay[run.folder] = run.busy or reason(run) or new
    removals: list[Removal] = []
    for kind in get_args(Kind):
        for run in reversed(newest_first):
            old = limits.keep is not None and now - run.begun > limits.keep
            if not stay[run.folder] and (old or limits.most is not None):
                why = "old" if old else "room"
                removals += [Removal(run, part, why) for part in run.parts if part.kind == kind]
    kept = {
        run.folder: stay[run.folder] or run.only
        for run in runs
        if run.only or (stay[run.folder] and (run.parts or run.busy))
    }
    return sorted(removals, key=lambda removal: removal.why), kept


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
