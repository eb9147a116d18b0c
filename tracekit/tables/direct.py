"""Tables that are read directly from a bundle: the note about them, and which there are.

A bundle that is open stays open while its files last: its texts and names serve all of its tables.

`direct.json` beside the exports names the bundle. What stands beside it as XML wins.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TypeVar

import msgspec

from tracekit.base import InputError, Recording, read_input, save
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.store import TableStore, run_folder, store_folder
from tracekit.tables.bundle.errors import name_bundle
from tracekit.tables.bundle.run_info import worded_attributes
from tracekit.tables.place import Choice, Stamp, TablePlace, describe_table, stamp, tables_at
from tracekit.tables.toc import Toc

SUFFIX = ".trace"
PACKED = ".zip"
RECORDS = "bulkstore"
_OWN = (RECORDS, "bulkstore_descriptor", "schema.xml", "spec.plist")
_DOCUMENT = ("open.creq", "form.template")
_UNIQUING = (
    "strings",
    "EngineeringTypes.etypes",
    "arrayUniquer/integeruniquer.data",
    "arrayUniquer/integeruniquer.index",
    "typedArrayUniquer/integeruniquer.data",
    "typedArrayUniquer/integeruniquer.index",
)
_SYMBOLS = "symbols/stores"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Stored:
    """A table of a bundle: its run, and the number of its folder."""

    bundle: Path
    run: int
    number: int

    @property
    def file(self) -> Path:
        """The file that stands for it."""
        return self.bundle / store_folder(self.run, self.number) / RECORDS

    def open_table(self) -> tuple[BundleRun, TableStore]:
        """Open its run, and read what the table is; raise InputError where that is damaged."""
        bundle = open_bundle(self.bundle)
        run = next((entry for entry in bundle.runs if entry.number == self.run), None)
        if run is None:
            raise bundle.files.make_damage_error(run_folder(self.run), "is missing")
        return run, run.store(self.number)

    def stamp(self) -> Stamp:
        """Return one stamp for all files that its rows are read from."""
        stamps = dict(_stamps(self.bundle, self._names()))
        listing = repr(sorted((name, mark) for name, mark in stamps.items()))
        return Stamp(
            size=sum(mark.size for mark in stamps.values()),
            modified=max((mark.modified for mark in stamps.values()), default=0),
            changed=max((mark.changed for mark in stamps.values()), default=0),
            inode=int.from_bytes(blake2b(listing.encode(), digest_size=7).digest(), "big"),
        )

    def digest(self) -> str:
        """Return what tells its content from any other; of symbols, names and sizes count."""
        files = Files(self.bundle)
        content = blake2b()
        for name in self._names():
            if files.exists(name):
                content.update(f"{name} {files.size(name)}\n".encode())
                with files.open_file(name) as file, files.reading(name):
                    while block := file.read(_BLOCK):
                        content.update(block)
        symbols = (self.bundle / _SYMBOLS).glob("*")
        for name, size in sorted((path.name, path.lstat().st_size) for path in symbols):
            content.update(f"{name} {size}\n".encode())
        return content.hexdigest()[:32]

    def _names(self) -> Iterator[str]:
        """Name the files that its rows are read from."""
        yield from (f"{store_folder(self.run, self.number)}/{name}" for name in _OWN)
        yield from _DOCUMENT
        yield from (f"{run_folder(self.run)}/uniquing/{name}" for name in _UNIQUING)


TableRef = Path | Stored
"""Where tables are: a file of XML, or one table of a bundle."""


def describe_ref(ref: TableRef) -> str:
    """Name tables for a sentence: a table in a bundle by bundle and number."""
    if isinstance(ref, Stored):
        return f"{name_bundle(ref.bundle)} (store {ref.number})"
    return ref.name


def is_bundle(path: Path) -> bool:
    """Tell whether a path is a folder that calls itself a bundle, in letters of either case.

    A folder with a `recording.json` is that of a run, whatever it is called.
    """
    is_trace_folder = path.suffix.lower() == SUFFIX and path.is_dir()
    return is_trace_folder and not Recording(path).provenance_file.exists()


def require_unpacked(path: Path) -> None:
    """Raise InputError for a zip file: a bundle in it is read once it is unpacked."""
    if path.suffix.lower() == PACKED and path.is_file():
        raise InputError(
            f"{path} is a zip file, and a bundle is read where it is unpacked.",
            hint=f"`tracekit import {path}` unpacks the bundle in it into a run.",
        )


def open_bundle(bundle: Path) -> Bundle:
    """Open a bundle, or return the one that is open, as long as its files are the same."""
    bundle_paths = sorted(
        path for path in (bundle / "corespace").rglob("*") if path.name != RECORDS
    )
    files = (str(path.relative_to(bundle)) for path in bundle_paths if path.is_file())
    return _open_cached(bundle, tuple(_stamps(bundle, (*_DOCUMENT, *files))))


@lru_cache(maxsize=2)
def _open_cached(bundle: Path, stamps: tuple[tuple[str, Stamp], ...]) -> Bundle:  # noqa: ARG001  a key
    return Bundle(bundle)


def _stamps(bundle: Path, names: Iterable[str]) -> Iterator[tuple[str, Stamp]]:
    for name in names:
        try:
            yield name, stamp(bundle / name)
        except OSError:
            continue


@dataclass(frozen=True)
class Listed:
    """A table that there is, and what tells it from others of its schema.

    `unreadable` says why nothing can be known of its rows; empty where it can be read.
    """

    ref: TableRef
    schema: str
    place: TablePlace
    attributes: Mapping[str, str]
    rows: bool
    unreadable: str = ""

    @property
    def choice(self) -> Choice:
        """What chooses it by its place."""
        return Choice(self.place.run, self.place.index)

    def __str__(self) -> str:
        """Name it for a sentence: a table of a bundle by its place alone."""
        place_text = describe_table(self.place, self.attributes)
        if isinstance(self.ref, Stored):
            return place_text
        return f"{place_text} in {self.ref.name}"


DIRECT_NOTE = "direct.json"
FORMAT = 1
_Key = tuple[str, frozenset[tuple[str, str]]]
_Note = TypeVar("_Note")


@dataclass(frozen=True)
class Direct:
    """What is read directly: tables of some schemas, or of all, if these are None.

    The bundle is absolute, or as it is reached from the folder of the note.
    """

    bundle: str
    schemas: tuple[str, ...] | None = None
    format: int = FORMAT

    def path(self, folder: Path) -> Path:
        """Return where the bundle is, for a note in that folder."""
        return Path(os.path.normpath(folder / self.bundle))


def direct(folder: Path) -> Direct | None:
    """Return the note about tables that are read directly; None where there is none."""
    return read_note(folder / DIRECT_NOTE, Direct, FORMAT)


def read_note(note: Path, note_type: type[_Note], format_: int) -> _Note | None:
    """Return what a note beside exports says; None where there is none."""
    try:
        content = read_input(note)
        format_number = msgspec.json.decode(content, type=_TableFormat).format
        if format_number > format_:
            raise InputError(
                f"{note} has format {format_number}; this tracekit reads up to {format_}.",
                hint="Use the tracekit that wrote it, or a newer one.",
            )
        return msgspec.json.decode(content, type=note_type)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise InputError(f"{note} cannot be read: {error}") from error


@dataclass(frozen=True)
class _TableFormat:
    format: int = 1


def note_direct(folder: Path, note: Direct) -> None:
    """Write the note; raise RecordingError if it cannot be written."""
    save(folder / DIRECT_NOTE, note)


def tables_in(
    bundle: Bundle, toc: Toc | None = None, schemas: Sequence[str] | None = None
) -> Iterator[Listed]:
    """Yield the tables of a bundle, of these schemas or all, with their places in the TOC.

    Without a table of contents, they are counted as their folders are.
    """
    for run in bundle.runs:
        places = places_of(run, toc)
        for table in run.tables:
            if table.schema and (schemas is None or table.schema in schemas):
                is_readable = isinstance(table, TableStore)
                yield Listed(
                    ref=Stored(bundle.path, run.number, table.number),
                    schema=table.schema,
                    place=places[table.number],
                    attributes=worded_attributes(table.attributes),
                    rows=is_readable and table.rows > 0,
                    unreadable="" if is_readable else table.reason,
                )


def places_of(run: BundleRun, toc: Toc | None = None) -> dict[int, TablePlace]:
    """Return the places of a run's tables in its table of contents, by their numbers.

    A bundle does not store that order. Tables are distinguished by schema and attributes; where
    these are the same, the order of their numbers decides. What the table of contents lacks
    stands behind its last table.
    """
    runs = toc.runs if toc is not None else ()
    listed = [table for toc_run in runs if toc_run.number == run.number for table in toc_run.tables]
    free_indices: dict[_Key, list[int]] = defaultdict(list)
    for table in listed:
        free_indices[_key(table.schema, table.attributes)].append(table.index)
    behind = count(len(listed) + 1)
    places: dict[int, TablePlace] = {}
    for store in run.tables:
        if store.schema:
            indices = free_indices[_key(store.schema, worded_attributes(store.attributes))]
            places[store.number] = TablePlace(
                run.number, indices.pop(0) if indices else next(behind)
            )
    return places


def is_covered(listed: Listed, exports: Sequence[Listed], toc: Toc | None) -> bool:
    """Tell whether an export stands for a table of a bundle, so that it is not read directly.

    It does if it is of the same place; or of the same schema, if its place is not known.
    """
    places = [export.place for export in exports if export.schema == listed.schema]
    return any(
        (place.run, place.index) == (listed.place.run, listed.place.index)
        or all(table.schema != listed.schema for table in tables_at(toc, place))
        for place in places
    )


def _key(schema: str, attributes: Mapping[str, str]) -> _Key:
    return schema, frozenset(attributes.items())
