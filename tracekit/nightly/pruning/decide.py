"""What lies in folders of runs and nights, what must stay, what is to go and in which order.

Only what is known to be a run's counts: a folder with a recording.json that can be read, and in
it the files that tracekit itself names. No link is followed.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from tracekit.base import Provenance, Recording, TracekitError
from tracekit.nightly.history.listing import NightSummary, course_in, moment_in
from tracekit.nightly.history.night import DOCUMENT, Accepted
from tracekit.nightly.history.steps import Series, Step
from tracekit.record import size

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
