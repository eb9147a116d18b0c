"""The folders that an agent may read, and the recordings in them.

An agent names a recording by its name in the list, never by a path: a name that is not listed is
refused, whatever it looks like. Links are not followed to find recordings, and a recording that
leads outside, by a link or by a note on a bundle, is not opened.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import InputError, Recording, UsageError, find_similar
from tracekit.mcp.answers import clean_text
from tracekit.tables import DirectNote, exports, is_bundle

_DEEPEST = 5  # folders below a root
_MOST = 500  # recordings
_PACKED = ".zip"


@dataclass(frozen=True)
class ListedRecording:
    """A recording: its unique name, its kind, and its path."""

    name: str
    kind: str
    path: Path


@dataclass(frozen=True)
class Folders:
    """The folders that may be read, each resolved and with a name of its own."""

    roots: tuple[tuple[str, Path], ...]

    @classmethod
    def of_paths(cls, paths: Sequence[Path]) -> "Folders":
        """Return the folders of paths; raise UsageError if one of them is not a folder."""
        roots: list[tuple[str, Path]] = []
        for path in paths:
            if not path.is_dir():
                raise UsageError(
                    f"{path} is not a folder.", hint="Name a folder of recordings with --folder."
                )
            root = path.resolve()
            names = {name for name, _ in roots}
            if root not in (place for _, place in roots):
                roots.append((_make_unique(root.name or "root", names), root))
        return cls(tuple(roots))

    def list_recordings(self) -> list[ListedRecording]:
        """Return the recordings in all folders by their names; at most 500."""
        entries: dict[str, ListedRecording] = {}
        for root_name, root in self.roots:
            for path, kind in _find_recordings(root, 0):
                relative = path.relative_to(root).as_posix()
                full_name = root_name if relative == "." else f"{root_name}/{relative}"
                name = _make_unique(clean_text(full_name), set(entries))
                entries[name] = ListedRecording(name, kind, path)
                if len(entries) == _MOST:
                    return list(entries.values())
        return list(entries.values())

    def find(self, name: str) -> ListedRecording:
        """Return a recording by its name, once nothing in it leads outside.

        Raises:
            UsageError: It is not in the list.
            InputError: A link or a note in it leads outside of the folders.
        """
        entries = {entry.name: entry for entry in self.list_recordings()}
        entry = entries.get(name)
        if entry is None:
            near = find_similar(name, entries)
            hint = "The tool list names all recordings."
            if near:
                hint = f"Near are {', '.join(near)}. {hint}"
            raise UsageError(f"There is no recording {clean_text(name)!r}.", hint=hint)
        self.require_inside(entry.path)
        return entry

    def holds(self, path: Path) -> bool:
        """Return whether a path, with all links followed, is in one of the folders."""
        resolved = path.resolve()
        return any(resolved.is_relative_to(root) for _, root in self.roots)

    def require_inside(self, path: Path) -> None:
        """Raise InputError if a file of a recording, or the bundle it names, is outside."""
        for file in _walk(path):
            if file.is_symlink() and not self.holds(file):
                raise _leads_outside(path, file)
            if file.name == DirectNote.FILE:
                note = DirectNote.read(file.parent)
                if note is not None and not self.holds(note.path(file.parent)):
                    raise _leads_outside(path, file)
        if not self.holds(path):
            raise _leads_outside(path, path)


def _leads_outside(recording: Path, file: Path) -> InputError:
    return InputError(
        f"{clean_text(recording.name)} is not opened: its file {clean_text(file.name)} leads out "
        "of the folders that may be read.",
        hint="The person who started the server can add a folder with --folder.",
    )


def _walk(path: Path) -> Iterator[Path]:
    """Yield a path and everything below it; links are yielded, and not followed."""
    yield path
    if path.is_symlink() or not path.is_dir():
        return
    for folder, folder_names, file_names in os.walk(path, followlinks=False):
        for name in (*folder_names, *file_names):
            yield Path(folder, name)


def _find_recordings(folder: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """Yield the recordings of a folder with their kinds, in the order of their names."""
    kind = _kind_of(folder)
    if kind:
        yield folder, kind
    if kind in {"run", "bundle"} or depth == _DEEPEST or _is_batch(folder):
        return
    try:
        children = sorted(folder.iterdir())
    except OSError:
        return
    for child in children:
        if child.is_symlink() or child.name.startswith("."):
            continue
        if child.is_dir():
            yield from _find_recordings(child, depth + 1)
        elif child.name.lower().endswith(_PACKED):
            yield child, "zip"


def _kind_of(folder: Path) -> str:
    """Return the kind of recording that a folder is; empty if it is none."""
    if Recording(folder).provenance_file.is_file():
        return "run"
    if is_bundle(folder):
        return "bundle"
    if exports.export_files(folder):
        return "exports"
    return ""


def _is_batch(folder: Path) -> bool:
    """Tell whether a folder is that of a batch, whose rows are not exports."""
    return any((folder / "results").glob("*.parquet"))


def _make_unique(name: str, taken_names: set[str]) -> str:
    """Return a name, with a number if another one has it."""
    unique_name = name
    number = 1
    while unique_name in taken_names:
        number += 1
        unique_name = f"{name} ({number})"
    return unique_name
