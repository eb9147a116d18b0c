"""A night's folder: its name, the document in it, every pair on the disk before the next begins."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracekit.base import RecordingError, documents
from tracekit.nightly.history.night import DOCUMENT, Entry, Night, Pair
from tracekit.nightly.plan.plan import Capture, digest_of, relative

_LENGTH = 12  # hexadecimal digits


def work_of(capture: Capture, folder: Path) -> str:
    """Return a digest of the work and method of a capture: nights that share it are one series.

    The number of measurements, the deciding metrics and the checks are left out: a plan may change
    them, and its nights can still be compared. Paths in `folder`, the plan's, count relative to it.
    """
    reference = capture.reference
    against: dict[str, Any] = {}
    if reference is not None:
        python = relative(reference.python, folder)
        revision = "" if reference.previous_night else reference.revision
        against = {
            "workload": reference.workload,
            "parameters": reference.parameters,
            "python": python,
            "revision": revision,
        }
        if reference.merge_base:
            against["merge_base"] = reference.merge_base
        if reference.previous_night:
            against["previous_night"] = True
        if reference.program:
            against["program"] = reference.program
    work: dict[str, Any] = {
        "workload": capture.workload,
        "parameters": capture.parameters,
        "reference": against or None,
        "together": capture.together,
        "recorder": capture.recorder,
        "templates": capture.templates,
        "counters": capture.counters,
    }
    if capture.program:
        work["program"] = capture.program
    if capture.read:
        work["read"] = capture.read
    return digest_of(work, _LENGTH)


_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without those that look like another, or like a digit


@dataclass(frozen=True)
class NightFolder:
    """The folder of one night and the names in it."""

    folder: Path

    @property
    def document(self) -> Path:
        """The document of the night so far."""
        return self.folder / DOCUMENT

    @property
    def page(self) -> Path:
        """The page of all series up to the last night, next to the nights."""
        return self.folder.parent / "trend.html"

    def save(self, night: Night) -> None:
        """Write the document, whole or not at all; raise RecordingError if that fails."""
        documents.save(self.document, night)


def night_id(start: datetime) -> str:
    """Name a night by its start in UTC; a few random letters tell machines apart."""
    letters = [secrets.choice(_LETTERS) for _ in range(4)]
    tail = "".join(letters)
    return f"{start.astimezone(UTC):%Y-%m-%dT%H-%M-%S}-{tail}"


def make_output(folder: Path, *, exist_ok: bool = False) -> Path:
    """Make a folder of a plan's output; raise RecordingError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        raise RecordingError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            hint="Let `output` of the plan name a folder that you may write to.",
        ) from error
    return folder


def nights_in(output: Path) -> list[NightFolder]:
    """Return the folders of nights in `output`, oldest first by name."""
    night_documents = sorted(output.glob(f"*/{DOCUMENT}"))
    return [NightFolder(path.parent) for path in night_documents]


class NightWriter:
    """A night that grows: each measurement is written down at once."""

    def __init__(self, folder: NightFolder, night: Night) -> None:
        self.folder = folder
        self.night = night
        folder.save(night)

    def entry(self, capture: str) -> Entry:
        """Return the entry of a capture that was started."""
        return next(entry for entry in self.night.entries if entry.capture == capture)

    def put_entry(self, entry: Entry) -> None:
        """Put the entry of a capture in place of its earlier one, or at the end."""
        entries = {earlier_entry.capture: earlier_entry for earlier_entry in self.night.entries}
        entries[entry.capture] = entry
        self.save(replace(self.night, entries=tuple(entries.values())))

    def add(self, capture: str, pair: Pair) -> None:
        """Add a pair to a capture that was started."""
        entry = self.entry(capture)
        self.put_entry(replace(entry, pairs=(*entry.pairs, pair)))

    def warn(self, warnings: Iterable[str]) -> None:
        """Add warnings for a reader, each sentence once."""
        merged = tuple(dict.fromkeys((*self.night.warnings, *warnings)))
        self.save(replace(self.night, warnings=merged))

    def save(self, night: Night) -> None:
        """Put the whole night in the place of the one so far."""
        if night != self.night:
            self.folder.save(night)
            self.night = night
