"""The runs, batches and bundles that paths lead to, each with a unique name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit import pipeline
from tracekit import tables as tables_room
from tracekit.base import (
    InputError,
    InterruptedRunError,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
)
from tracekit.base import files as base_files
from tracekit.fleet.batch import parts
from tracekit.record import Progress
from tracekit.tables import Severity, is_bundle
from tracekit.tables import losses as tables_losses
from tracekit.tables.lazy import pa, pq

if TYPE_CHECKING:
    from tracekit.fleet.batch.results import BatchRow

DEFAULT = Path("bench/traces")
_ZIPPED = (".trace.zip", ".gputrace.zip")


@dataclass(frozen=True)
class AskedRun:
    """A run's folder, or a bundle that is still to be imported; `name` is unique.

    `origin` is the path that a user knows it by.
    """

    name: str
    path: Path
    origin: Path

    @property
    def place(self) -> str:
        """Its origin as text."""
        return base_files.legible(str(self.origin))

    @property
    def is_bundle(self) -> bool:
        """Whether it is a bundle."""
        return _is_bundle(self.path)


@dataclass(frozen=True)
class AskedBatch:
    """The folder of a batch; `prefix` goes before the names of its recordings."""

    prefix: str
    path: Path

    def find_results(self) -> list[Path]:
        """Return the readable files with a row for each recording."""
        return _find_readable(self.path / "results", pq.read_table)

    def table(self, name: str) -> dict[Path, list[str]]:
        """Return the files of a normalized table, and the keys of the recordings in each."""
        return parts.read_files(self.path / "tables" / name, _list_keys)

    @cached_property
    def recordings(self) -> list[BatchRow]:
        """Every recording: its name in the batch, its key, its state and its error."""
        from tracekit.fleet.batch.results import Results  # noqa: PLC0415  few ask a batch

        return Results(self.path / "results").rows("error")

    def name_recording(self, recording: BatchRow) -> str:
        """Return the name that a recording has here."""
        return f"{self.prefix}{recording.recording}"


def _list_keys(listed_files: Sequence[Path]) -> dict[Path, list[str]]:
    readable_files = _select_readable(listed_files, pq.read_metadata)
    return {file: parts.names_in(file) for file in readable_files}


def _find_readable(folder: Path, read: Callable[[Path], object]) -> list[Path]:
    """Return the files of a folder that `read` can read; report the others as damaged."""
    return parts.read_files(folder, lambda files: list(_select_readable(files, read)))


def _select_readable(
    listed_files: Sequence[Path], read: Callable[[Path], object]
) -> Iterator[Path]:
    for file in listed_files:
        try:
            read(file)
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            parts.report_damage(file, error)
        else:
            yield file


@dataclass(frozen=True)
class Sources:
    """Everything that a question is about, and the paths that led there."""

    paths: tuple[Path, ...]
    runs: tuple[AskedRun, ...]
    batches: tuple[AskedBatch, ...]

    def each_run(self, progress: Progress, prefix: str = "") -> Iterator[AskedRun]:
        """Yield every run, and report the progress."""
        for number, run in enumerate(self.runs, start=1):
            progress(f"{prefix}run {number:,} of {len(self.runs):,}")
            yield run


def sources(paths: Sequence[Path] | Mapping[Path, Path]) -> Sources:
    """Find the runs, bundles and batches that paths are or hold, each once.

    A folder is searched to its depths, but neither below runs, bundles and batches nor through
    links to folders. A mapping gives the path that is shown instead of a run's own.
    """
    origins = paths if isinstance(paths, Mapping) else {}
    searched_paths = list(paths) or [DEFAULT]
    places = _find_places(searched_paths)
    if not places:
        raise RecordingError(
            f"There is no run in {', '.join(map(str, searched_paths))}.",
            hint="Name folders of runs, the folder of a batch, or bundles.",
        )
    runs: list[Path] = []
    batches: list[Path] = []
    for path in places:
        if _is_batch(path):
            batches.append(path)
        else:
            runs.append(path)
    names = iter(_names([*runs, *batches]))
    asked_runs = [AskedRun(next(names), path, origins.get(path, path)) for path in runs]
    asked_batches: list[AskedBatch] = []
    for path in batches:
        name = next(names)
        prefix = ""
        if len(places) > 1:
            prefix = f"{name}:"
        asked_batches.append(AskedBatch(prefix, path))
    return Sources(tuple(searched_paths), tuple(asked_runs), tuple(asked_batches))


def _find_places(paths: Sequence[Path]) -> list[Path]:
    """Return the runs, bundles and batches that paths are or hold, each once.

    A place that is found twice keeps its first path, but the order is that of the last ones.
    """
    places: dict[Path, Path] = {}
    folders: dict[Path, Path] = {}
    for path in paths:
        for place in _find_leaves(path):
            target = _resolve(place, folders)
            first_path = places.pop(target, place)
            places[target] = first_path
    return list(places.values())


def _find_leaves(path: Path) -> Iterator[Path]:
    if not path.exists():
        hint = "Runs land there unless --output says else." if path == DEFAULT else ""
        raise UsageError(f"{path} does not exist.", hint=hint)
    if _is_leaf(path):
        yield path
    elif path.is_dir():
        yield from _walk_leaves(path)
    else:
        raise InputError(
            f"{path} is neither a folder nor a bundle.",
            hint="`tracekit import` makes a run of exports.",
        )


def _walk_leaves(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        here = Path(place)
        visible_names = [name for name in folders if not name.startswith(".")]
        names = sorted(visible_names)
        folders.clear()
        for name in names:
            if _is_leaf(here / name):
                yield here / name
            else:
                folders.append(name)
        for name in sorted(files):
            if name.lower().endswith(_ZIPPED):
                yield here / name


def _is_leaf(path: Path) -> bool:
    return Recording(path).provenance_file.exists() or _is_bundle(path) or _is_batch(path)


def _is_bundle(path: Path) -> bool:
    if path.name.lower().endswith(_ZIPPED):
        return path.is_file()
    return is_bundle(path)


def _is_batch(path: Path) -> bool:
    if Recording(path).provenance_file.exists():
        return False
    result_files = parts.find_files(path / "results")
    return bool(result_files) and base_files.is_text(result_files[0].resolve())


def _resolve(path: Path, folders: dict[Path, Path]) -> Path:
    """Return a path without links; `folders` grows with the folders above, resolved once."""
    if path.name in {"", ".."} or path.is_symlink():
        return path.resolve()
    if path.parent not in folders:
        folders[path.parent] = path.parent.resolve()
    return folders[path.parent] / path.name


def _names(paths: Sequence[Path]) -> list[str]:
    """Name each path by its last part, and by more parts if another path has that name too."""
    folders: dict[Path, Path] = {}
    parts = [_resolve(path, folders).parts for path in paths]
    lengths = [1] * len(parts)
    while True:
        names: list[str] = []
        for path_parts, length in zip(parts, lengths, strict=True):
            last_parts = path_parts[-length:]
            names.append(base_files.legible("/".join(last_parts)))
        name_counts = Counter(names)
        is_changed = False
        for number, name in enumerate(names):
            if name_counts[name] > 1 and lengths[number] < len(parts[number]):
                lengths[number] += 1
                is_changed = True
        if not is_changed:
            return names


@dataclass(frozen=True)
class Opener:
    """Opens runs; bundles are imported into a private folder, each once.

    `number` is the run of a bundle that has several; None for the last.
    """

    workshop: Path
    number: int | None = None
    _notes: dict[Path, tuple[str, ...]] = field(default_factory=dict[Path, tuple[str, ...]])
    _imported: dict[Path, Recording | TracekitError] = field(
        default_factory=dict[Path, Recording | TracekitError]
    )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the bundles of which the last run was taken."""
        return tuple([note for notes in self._notes.values() for note in notes])

    def notes_on(self, run: AskedRun) -> tuple[str, ...]:
        """Return the sentences on one bundle."""
        return self._notes.get(run.path, ())

    def note(self, run: AskedRun, notes: tuple[str, ...]) -> None:
        """Take the sentences on a bundle from an earlier question."""
        if notes:
            self._notes[run.path] = notes

    def open_run(self, run: AskedRun) -> Recording:
        """Return the run."""
        if not base_files.is_text(run.path.resolve()):
            raise InputError(f"{run.place} is not UTF-8 text.", hint="Rename it.")
        if not run.is_bundle:
            return Recording(run.path)
        if run.path not in self._imported:
            self._imported[run.path] = self._import(run.path)
        outcome = self._imported[run.path]
        if isinstance(outcome, TracekitError):
            raise outcome
        return outcome

    def _import(self, bundle: Path) -> Recording | TracekitError:
        number = str(len(self._imported))
        folder = self.workshop / "imported" / number
        try:
            with tables_losses.collecting() as ledger:
                imported = pipeline.import_([bundle], folder, run=self.number)
                recording = imported[0]
            # Losses of its tables are reported when a question names these.
            losses = [loss for loss in ledger.losses if loss.severity is not Severity.NOTE]
            tables_losses.report(losses, read=False)
            tables = tables_room.exports.index(recording.exports)
            _, choice_notes = tables_room.exports.select_run(
                tables, recording.exports, self.number, bundle.name
            )
        except InterruptedRunError as stop:
            raise KeyboardInterrupt from stop  # no fault of the bundle, which would be left out
        except TracekitError as error:
            return error
        self._notes[bundle] = tuple(choice_notes)
        return recording
