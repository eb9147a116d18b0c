"""What is asked: the runs, batches and bundles that paths lead to, each with a name of its own."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import (
    InputError,
    InterruptedRunError,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    is_text,
    legible,
)
from tracekit.fleet.batch.results import BatchRow, Results
from tracekit.pipeline import import_
from tracekit.record import Progress
from tracekit.tables import Severity, collecting, index, is_bundle, report, select_run

DEFAULT = Path("bench/traces")
_ZIPPED = ".trace.zip"


@dataclass(frozen=True)
class AskedRun:
    """A run's folder, or a bundle that is still to be imported; `name` is no other run's."""

    name: str
    path: Path

    @property
    def place(self) -> str:
        """Its path as text."""
        return legible(str(self.path))

    @property
    def is_bundle(self) -> bool:
        """Whether it is a bundle."""
        return _is_bundle(self.path)


@dataclass(frozen=True)
class AskedBatch:
    """The folder of a batch; `prefix` goes before the names of its recordings."""

    prefix: str
    path: Path

    @cached_property
    def results(self) -> list[Path]:
        """The files with a row for each recording, as far as they can be read."""
        return _find_readable(self.path / "results", pq.read_table)

    def table(self, name: str) -> list[Path]:
        """Return the files of a normalized table, one for each recording that has it."""
        return _find_readable(self.path / "tables" / name)

    @cached_property
    def recordings(self) -> list[BatchRow]:
        """Every recording by the name that it has here: its key, its state and its error."""
        rows = Results(self.path / "results").rows("error")
        return [replace(row, recording=f"{self.prefix}{row.recording}") for row in rows]


def _find_readable(folder: Path, read: Callable[[Path], object] = pq.read_metadata) -> list[Path]:
    """Return the files of a folder that are Parquet to their end, or that `read` can read."""
    readable_files: list[Path] = []
    for file in sorted(folder.glob("*.parquet")):
        with suppress(OSError, pa.ArrowException):
            read(file)
            readable_files.append(file)
    return readable_files


@dataclass(frozen=True)
class Sources:
    """Everything that is asked."""

    runs: tuple[AskedRun, ...]
    batches: tuple[AskedBatch, ...]

    def each_run(self, progress: Progress, prefix: str = "") -> Iterator[AskedRun]:
        """Yield every run, and say how far it is."""
        for number, run in enumerate(self.runs, start=1):
            progress(f"{prefix}run {number:,} of {len(self.runs):,}")
            yield run


def sources(paths: Sequence[Path]) -> Sources:
    """Find the runs, bundles and batches that paths are or hold, each once.

    A folder is searched to its depths, but neither below runs, bundles and batches nor through
    links to folders.
    """
    places = [place for path in paths or [DEFAULT] for place in _find_leaves(path)]
    unique_places = list({place.resolve(): place for place in reversed(places)}.values())[::-1]
    batches = [path for path in unique_places if _is_batch(path)]
    runs = [path for path in unique_places if path not in set(batches)]
    if not unique_places:
        searched_paths = ", ".join(map(str, paths or [DEFAULT]))
        raise RecordingError(
            f"There is no run in {searched_paths}.",
            hint="Name folders of runs, the folder of a batch, or bundles.",
        )
    names = iter(_names([*runs, *batches]))
    asked_runs = tuple(AskedRun(next(names), path) for path in runs)
    alone = len(unique_places) == 1
    return Sources(
        asked_runs, tuple(AskedBatch("" if alone else f"{next(names)}:", path) for path in batches)
    )


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
        names = sorted(name for name in folders if not name.startswith("."))
        leaves = {name for name in names if _is_leaf(here / name)}
        zipped = sorted(name for name in files if name.lower().endswith(_ZIPPED))
        yield from (here / name for name in (*sorted(leaves), *zipped))
        folders[:] = [name for name in names if name not in leaves]


def _is_leaf(path: Path) -> bool:
    return Recording(path).provenance_file.exists() or _is_bundle(path) or _is_batch(path)


def _is_bundle(path: Path) -> bool:
    if path.name.lower().endswith(_ZIPPED):
        return path.is_file()
    return is_bundle(path)


def _is_batch(path: Path) -> bool:
    if Recording(path).provenance_file.exists():
        return False
    some = next((path / "results").glob("*.parquet"), None)
    return some is not None and is_text(some.resolve())


def _names(paths: Sequence[Path]) -> list[str]:
    """Name each path by its last part, and by more parts where that is another's name too."""
    parts = [path.resolve().parts for path in paths]
    lengths = [1] * len(parts)
    while True:
        names = [legible("/".join(part[-n:])) for part, n in zip(parts, lengths, strict=True)]
        name_counts = Counter(names)
        longer = [
            min(n + (name_counts[name] > 1), len(part))
            for name, part, n in zip(names, parts, lengths, strict=True)
        ]
        if longer == lengths:
            return names
        lengths = longer


@dataclass(frozen=True)
class Opener:
    """Opens runs; bundles are imported into a private folder, each once.

    `number` says which run of a bundle that has several; None for the last. `notes` grows with
    sentences on bundles of which the last was taken.
    """

    workshop: Path
    number: int | None = None
    notes: list[str] = field(default_factory=list[str])
    _imported: dict[Path, Recording | TracekitError] = field(
        default_factory=dict[Path, Recording | TracekitError]
    )

    def open_run(self, run: AskedRun) -> Recording:
        """Return the run."""
        if not is_text(run.path.resolve()):
            raise InputError(f"{run.place} is no text in UTF-8.", hint="Rename it.")
        if not run.is_bundle:
            return Recording(run.path)
        if run.path not in self._imported:
            self._imported[run.path] = self._import(run.path)
        outcome = self._imported[run.path]
        if isinstance(outcome, TracekitError):
            raise outcome
        return outcome

    def _import(self, bundle: Path) -> Recording | TracekitError:
        folder = self.workshop / "imported" / str(len(self._imported))
        try:
            with collecting() as ledger:
                recording = import_([bundle], folder, run=self.number)[0]
            # Its tables are lost where a question names them; of the rest it is told.
            report(
                (loss for loss in ledger.losses if loss.severity is not Severity.NOTE), read=False
            )
            _, choice_notes = select_run(
                index(recording.exports), recording.exports, self.number, bundle.name
            )
        except InterruptedRunError as stop:
            raise KeyboardInterrupt from stop  # no fault of the bundle, which would be left out
        except TracekitError as error:
            return error
        self.notes.extend(choice_notes)
        return recording
