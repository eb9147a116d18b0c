"""The note of exports that were pruned: `pruned.json` next to the exports.

It lists the content of each pruned file. The Parquet files that were made of it are then all that
is left of its tables. A file that is there again is read as before.
"""

from dataclasses import dataclass
from pathlib import Path

from tracekit.base import documents
from tracekit.tables.export_files import PARQUET
from tracekit.tables.headers import TableHeader
from tracekit.tables.notes import PRUNED_NOTE, read_note

FORMAT = 1


@dataclass(frozen=True)
class PrunedExport:
    """An export that was pruned at a time (ISO 8601): its size in bytes and the tables it held.

    The names of its kept tables hold the `digest` of its content and the version of their `reader`.
    """

    name: str
    digest: str
    reader: int
    size: int
    headers: tuple[TableHeader, ...]
    at: str


@dataclass(frozen=True)
class _PruningNote:
    exports: tuple[PrunedExport, ...] = ()
    format: int = FORMAT


def find_pruned_exports(folder: Path) -> dict[Path, PrunedExport]:
    """Return the exports of a folder that were pruned and are not there again, by their paths."""
    missing_exports: dict[Path, PrunedExport] = {}
    for name, export in _read_pruned_exports(folder).items():
        path = folder / name
        if path.exists() or path.with_suffix(PARQUET).exists():
            continue
        missing_exports[path] = export
    return missing_exports


def note_pruned_exports(folder: Path, *exports: PrunedExport) -> None:
    """Note exports that are removed next; the last note of a name counts."""
    pruned_exports = _read_pruned_exports(folder)
    pruned_exports.update({export.name: export for export in exports})
    sorted_exports = [pruned_exports[name] for name in sorted(pruned_exports)]
    documents.save(folder / PRUNED_NOTE, _PruningNote(tuple(sorted_exports)))


def _read_pruned_exports(folder: Path) -> dict[str, PrunedExport]:
    note = read_note(folder / PRUNED_NOTE, _PruningNote, FORMAT) or _PruningNote()
    return {export.name: export for export in note.exports if Path(export.name).name == export.name}
