"""What lies in folders of runs and nights: each run, its parts, and how large they are.

Only what is known to be a run's counts: a folder with a recording.json that can be read, and in
it the files that tracekit itself names. No link is followed.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tracekit.base.errors import TracekitError
from tracekit.base.recording import Provenance, Recording
from tracekit.nightly.history.course import course_in
from tracekit.nightly.history.night import DOCUMENT
from tracekit.record.guardian.care import size

_TRASH = ".pruned"
_WORKING = timedelta(days=1)  # no stage takes longer; one that says so was cut off

_LONGEST = timedelta(days=3)  # that a night may take

Kind = Literal["bundle", "exports"]


@dataclass(frozen=True)
class NightSeen:
    """A night's folder; `id` is empty where its document cannot be read.

    A night has `ended` where it says so, and where it began so long ago that it was cut off.
    """

    folder: Path
    id: str = ""
    ended: bool = False


@dataclass(frozen=True)
class Part:
    """What can be removed of a run; `size` in bytes."""

    kind: Kind
    paths: tuple[Path, ...]
    size: int


@dataclass(frozen=True)
class RunSeen:
    """A run's folder.

    Attributes:
        folder: Where it lies.
        root: The folder that it was found in.
        begun: When it was recorded.
        parts: What can be removed of it.
        night: The night that it belongs to; None for a run that somebody made.
        busy: Why nothing of it can be removed now; empty where it can.
        only: Why its bundle is all there is of it; empty where it is not.
    """

    folder: Path
    root: Path
    begun: datetime
    parts: tuple[Part, ...] = ()
    night: NightSeen | None = None
    busy: str = ""
    only: str = ""


def trash(bundle: Path) -> Path:
    """Return what a bundle is called while it is being removed."""
    return bundle.with_name(f".{bundle.name}{_TRASH}")


def bundles(recording: Recording) -> tuple[Path, ...]:
    """Return where the bundles of a run are, if it has them."""
    return (recording.bundle, recording.gputrace, recording.host_bundle)


def roots(folders: Iterable[Path]) -> list[Path]:
    """Return the folders by their real paths, without those that lie in another of them."""
    real = sorted({one.resolve() for one in folders})
    return [one for one in real if not any(other in one.parents for other in real)]


def runs_below(root: Path, now: datetime) -> Iterator[RunSeen]:
    """Yield the runs in a folder, and in folders in it, in the order of their names."""
    above = [one for one in root.parents if (one / DOCUMENT).is_file()]
    nights = {one: _night(one, now) for one in above}
    for name, folders, files in os.walk(root):
        place = Path(name)
        folders.sort()
        if DOCUMENT in files:
            nights[place] = _night(place, now)
        if "recording.json" in files:
            folders.clear()
            night = next((nights[one] for one in (place, *place.parents) if one in nights), None)
            yield _run(place, root, night, now)


def _run(place: Path, root: Path, night: NightSeen | None, now: datetime) -> RunSeen:
    recording = Recording(place)
    changed = datetime.fromtimestamp(recording.provenance_file.lstat().st_mtime, UTC)
    try:
        if recording.provenance_file.is_symlink():
            return RunSeen(place, root, changed, night=night, busy="its recording.json is a link")
        provenance = recording.provenance()
    except TracekitError:
        return RunSeen(place, root, changed, night=night, busy="its recording.json cannot be read")
    worked_up = recording.result_file.is_file()
    return RunSeen(
        folder=place,
        root=root,
        begun=_moment(provenance.started) or _moment(provenance.created) or changed,
        parts=tuple(_parts(recording, worked_up=worked_up)),
        night=night,
        busy=_busy(provenance, now),
        only="" if worked_up else "it was not analyzed, and its bundle is all there is of it",
    )


def _parts(recording: Recording, *, worked_up: bool) -> Iterator[Part]:
    there = [one for one in bundles(recording) if one.is_dir() and not one.is_symlink()]
    if not worked_up:
        there = [one for one in there if one == recording.gputrace]
    if there:
        yield Part("bundle", tuple(there), size(there))
    if worked_up and recording.exports.is_dir() and not recording.exports.is_symlink():
        texts = sorted(
            one
            for one in recording.exports.glob("*.xml")
            if one != recording.toc_file and one.is_file() and not one.is_symlink()
        )
        if texts:
            yield Part("exports", tuple(texts), size(texts))


def _busy(provenance: Provenance, now: datetime) -> str:
    for name, stage in provenance.stages.items():
        at = _moment(stage.at)
        if stage.state == "running" and (at is None or now - at < _WORKING):
            return f"its stage {name} is running"
    return ""


def _night(folder: Path, now: datetime) -> NightSeen:
    found = course_in(folder)
    if found is None:
        return NightSeen(folder)
    long_ago = found.began is not None and now - found.began > _LONGEST
    return NightSeen(folder, found.id, ended=bool(found.ended) or long_ago)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC)
