"""The index of a run's exports, kept on disk, so that a process need not open a bundle for it.

`tables/index.json` holds the index, and a digest of the stamps of all files that it was made of. If
a file was too young for its stamp to be trusted, it holds the digest of their content too, which
then decides. An index that is damaged, old or of another version is made again: it is never
believed over the files. Indexes of GPU frame captures, which are quick to make, are not kept.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import msgspec

from tracekit.base import InputError, RecordingError, documents
from tracekit.base.stamps import lasting, stamp
from tracekit.tables.bundle_paths import is_bundle
from tracekit.tables.direct import RECORDS, Listed, Stored
from tracekit.tables.exports import ExportIndex, group_by_schema, index
from tracekit.tables.headers import TableHeader
from tracekit.tables.losses import Loss
from tracekit.tables.notes import DirectNote
from tracekit.tables.place import TablePlace
from tracekit.tables.table_files import digest_code
from tracekit.tables.toc import Toc

_log = logging.getLogger(__name__)
_FILE = "index.json"
_CODE = (
    *("bundle/**/*.py", "bundle_paths.py", "captures/place.py", "direct.py", "export_files.py"),
    *("exports.py", "headers.py", "kept_index.py", "losses.py", "notes.py", "place.py"),
    *("pruned.py", "toc.py", "xml/*.py"),
)
_BUNDLE_FILES = ("open.creq", "form.template")


@dataclass(frozen=True)
class _KeptTable:
    """A listed table: of a file next to the others, or of a run and store of the bundle."""

    schema: str
    place: TablePlace
    attributes: Mapping[str, str]
    rows: bool
    unreadable: str = ""
    file: str = ""
    store: tuple[int, int] | None = None


@dataclass(frozen=True)
class _KeptIndex:
    """An index with the digests of the code that made it and of its files.

    The digest of files that cannot be relied on is "".
    """

    code: str
    stamps: str
    content: str
    tables: tuple[_KeptTable, ...] = ()
    strange: tuple[str, ...] = ()
    toc: Toc | None = None
    headers: dict[str, tuple[TableHeader, ...]] = field(
        default_factory=dict[str, tuple[TableHeader, ...]]
    )
    missing_losses: tuple[Loss, ...] = ()
    unread: tuple[Loss, ...] = ()
    unchecked_losses: tuple[Loss, ...] = ()


def find_index(exports: Path, cache: Path | None) -> ExportIndex:
    """Return the index of a folder of exports, as `exports.index` makes it; keep it in `cache`."""
    if cache is None or not exports.is_dir() or is_bundle(exports):
        return index(exports)
    try:
        bundle = _find_bundle(exports)
        files = list(_list_files(exports, bundle))
        stamps = _digest_stamps(files)
        kept = _read(cache / _FILE)
        if kept is not None and stamps and kept.stamps == stamps:
            return _unpack(kept, exports, bundle)
        if kept is not None and kept.content and kept.content == _digest_content(files):
            _save(cache, replace(kept, stamps=stamps))
            return _unpack(kept, exports, bundle)
        content = "" if stamps else _digest_content(files)
    except (OSError, InputError) as error:
        _log.info("The index of %s is not kept: %s", exports, error)
        return index(exports)
    export_index = index(exports)
    tables = _pack_tables(export_index)
    if tables is not None and not export_index.unread:
        packed = _KeptIndex(
            code=digest_code(*_CODE),
            stamps=stamps,
            content=content,
            tables=tables,
            strange=tuple([path.name for path in export_index.strange]),
            toc=export_index.toc,
            headers={path.name: headers for path, headers in export_index.headers.items()},
            missing_losses=export_index.missing_losses,
            unread=export_index.unread,
            unchecked_losses=export_index.unchecked_losses,
        )
        _save(cache, packed)
    return export_index


def _find_bundle(exports: Path) -> Path | None:
    note = DirectNote.read(exports)
    if note is None:
        return None
    return note.path(exports)


def _list_files(exports: Path, bundle: Path | None) -> Iterator[str]:
    """Yield the paths of the files that an index is made of, in order."""
    for folder in (exports, bundle):
        if folder is None:
            continue
        names = os.listdir(folder)  # noqa: PTH208  hundreds of paths of strings take a third
        for name in sorted(names):
            if folder == exports or name in _BUNDLE_FILES:
                yield os.path.join(folder, name)  # noqa: PTH118
    if bundle is None:
        return
    for folder, folders, names in os.walk(bundle / "corespace"):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(folder, name)  # noqa: PTH118


def _digest_stamps(files: list[str]) -> str:
    """Return the digest of the stamps of files; "" if one is too young to be trusted."""
    lines: list[str] = []
    for name in files:
        path = Path(name)
        mark = lasting(stamp(path))
        if mark is None:
            return ""
        lines.append(f"{name} {path.is_symlink()} {mark}\n")
    return blake2b("".join(lines).encode(errors="surrogateescape")).hexdigest()[:32]


def _digest_content(files: list[str]) -> str:
    """Return the digest of the content of files; the records of a bundle count by their sizes."""
    content = blake2b()
    for name in files:
        path = Path(name)
        line = f"{name} {path.is_symlink()} {path.stat().st_size}\n"
        content.update(line.encode(errors="surrogateescape"))
        if path.is_file() and path.name != RECORDS:
            content.update(path.read_bytes())
    return content.hexdigest()[:32]


def _read(file: Path) -> _KeptIndex | None:
    try:
        kept = documents.decode_json(file.read_bytes(), _KeptIndex)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        _log.info("%s: %s", file, error)
        return None
    return kept if kept.code == digest_code(*_CODE) else None


def _save(cache: Path, kept: _KeptIndex) -> None:
    try:
        cache.mkdir(exist_ok=True)
        documents.save(cache / _FILE, kept)
    except (OSError, RecordingError, UnicodeError) as error:  # a name that is not UTF-8
        _log.info("The index is not kept: %s", error)


def _pack_tables(export_index: ExportIndex) -> tuple[_KeptTable, ...] | None:
    """Return the tables as they are kept; None if one is of a GPU frame capture."""
    tables: list[_KeptTable] = []
    for listed in export_index.all_tables:
        file = ""
        store = None
        if isinstance(listed.ref, Path):
            file = listed.ref.name
        elif isinstance(listed.ref, Stored):
            store = (listed.ref.run, listed.ref.number)
        else:
            return None
        attributes = dict(listed.attributes)
        table = _KeptTable(
            listed.schema, listed.place, attributes, listed.rows, listed.unreadable, file, store
        )
        tables.append(table)
    return tuple(tables)


def _unpack(kept: _KeptIndex, exports: Path, bundle: Path | None) -> ExportIndex:
    """Return a kept index; raise InputError if it names a bundle that the exports do not."""
    tables: list[Listed] = []
    for table in kept.tables:
        ref: Path | Stored = exports / table.file
        if table.store is not None:
            if bundle is None:
                raise InputError(f"{exports} names no bundle.")
            run, number = table.store
            ref = Stored(bundle, run, number, table.place)
        listed = Listed(
            ref, table.schema, table.place, table.attributes, table.rows, table.unreadable
        )
        tables.append(listed)
    return ExportIndex(
        tables=group_by_schema(tables),
        strange=tuple([exports / name for name in kept.strange]),
        toc=kept.toc,
        headers={exports / name: headers for name, headers in kept.headers.items()},
        missing_losses=kept.missing_losses,
        unread=kept.unread,
        unchecked_losses=kept.unchecked_losses,
    )
