"""Tables that are read directly from a bundle: their list, and which exports replace them.

A bundle that is open stays open while its files last: its texts and names serve all of its tables.
`tables/notes.py` notes that the tables of a run are read directly.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from pathlib import Path
from weakref import WeakKeyDictionary

from tracekit.base import InputError
from tracekit.base.stamps import Stamp, stamp
from tracekit.tables import captures
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.store import TableStore, run_folder, store_folder
from tracekit.tables.bundle.errors import name_bundle
from tracekit.tables.bundle.run_info import worded_attributes
from tracekit.tables.lazy import pd
from tracekit.tables.losses import Loss
from tracekit.tables.place import Choice, TablePlace, describe_table, tables_at
from tracekit.tables.toc import Toc, TocTable

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
_MOST_OPENED = 2  # bundles that stay open
_HASHED = 1 << 16  # bytes of the largest buffer whose content counts
_Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Stored:
    """A table of a bundle: its run, and the number of its folder.

    With its `place` in the table of contents, it is read without looking at other tables.
    """

    bundle: Path
    run: int
    number: int
    place: TablePlace | None = field(default=None, compare=False, repr=False)

    @property
    def file(self) -> Path:
        """The file that represents it."""
        folder = store_folder(self.run, self.number)
        return self.bundle / folder / RECORDS

    def open_table(self) -> tuple[BundleRun, TableStore]:
        """Open its run, and read its description; raise InputError if that is damaged."""
        bundle = _reopen_bundle(self.bundle, self._names())
        for run in bundle.runs:
            if run.number == self.run:
                return run, run.store(self.number)
        raise bundle.files.make_damage_error(run_folder(self.run), "is missing")

    def stamp(self) -> Stamp:
        """Return one stamp for all files that its rows are read from."""
        stamps = dict(_stamps(self.bundle, self._names()))
        listing = repr(sorted(stamps.items()))
        listing_digest = blake2b(listing.encode(), digest_size=7).digest()
        sizes = [mark.size for mark in stamps.values()]
        modified_times = [mark.modified for mark in stamps.values()]
        changed_times = [mark.changed for mark in stamps.values()]
        size = sum(sizes)
        modified = max(modified_times, default=0)
        changed = max(changed_times, default=0)
        inode = int.from_bytes(listing_digest, "big")
        return Stamp(
            size=size,
            modified=modified,
            changed=changed,
            inode=inode,
        )

    def digest(self) -> str:
        """Return the digest of its content, in which symbols count by their names and sizes."""
        files = Files(self.bundle)
        content = blake2b()
        for name in self._names():
            if files.exists(name):
                content.update(f"{name} {files.size(name)}\n".encode())
                with files.open_file(name) as file, files.reading(name):
                    while block := file.read(_BLOCK):
                        content.update(block)
        symbols = sorted((self.bundle / _SYMBOLS).glob("*"))
        for path in symbols:
            line = f"{path.name} {path.lstat().st_size}\n"
            content.update(line.encode())
        return content.hexdigest()[:32]

    def _names(self) -> Iterator[str]:
        """Yield the names of the files that its rows are read from."""
        for name in _OWN:
            yield f"{store_folder(self.run, self.number)}/{name}"
        yield from _DOCUMENT
        for name in _UNIQUING:
            yield f"{run_folder(self.run)}/uniquing/{name}"


@dataclass(frozen=True)
class CaptureTable:
    """A table of a GPU frame capture, by the name of its schema.

    `include` names the private parts that were asked for: see `tracekit.tables.captures.rows`.
    """

    bundle: Path
    schema: str
    include: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The file that represents it."""
        return self.bundle / "index"

    def stamp(self) -> Stamp:
        """Return one stamp for all files that its rows are read from."""
        try:
            return captures.stamp_capture(self.bundle)
        except OSError as error:
            raise InputError(f"{self.bundle} cannot be read: {error.strerror}.") from error

    def digest(self) -> str:
        """Return the digest of its content; large buffers count by their names and sizes."""
        content = blake2b()
        for path in sorted(self.bundle.iterdir()):
            if not path.is_file():
                continue
            content.update(f"{path.name} {path.stat().st_size}\n".encode())
            if path.stat().st_size < _HASHED or not path.name.startswith("MTL"):
                content.update(path.read_bytes())
        return content.hexdigest()[:32]

    def read(self) -> tuple[pd.DataFrame, tuple[Loss, ...]]:
        """Return its rows as a flat table, and the losses of reading the capture."""
        return captures.make_frame(captures.open_capture(self.bundle), self.schema)


TableRef = Path | Stored | CaptureTable
"""The place of tables: a file of XML, or one table of a bundle."""


def describe_ref(ref: TableRef) -> str:
    """Return the name of tables in a sentence: for a table in a bundle, its bundle and number."""
    if isinstance(ref, Stored):
        return f"{name_bundle(ref.bundle)} (store {ref.number})"
    if isinstance(ref, CaptureTable):
        return name_bundle(ref.bundle)
    return ref.name


def open_bundle(bundle: Path) -> Bundle:
    """Open a bundle, or return the open one as long as its files are the same."""
    beginning = len(str(bundle / "corespace")) - len("corespace")
    names = list(_DOCUMENT)
    for folder, _, files in os.walk(bundle / "corespace"):
        # Joining and sorting paths as objects took most of the time.
        names += [f"{folder[beginning:]}/{file}" for file in files if file != RECORDS]
    stamps = dict(_stamps(bundle, names))
    opened = _opened_bundles.get(bundle)
    if opened is None or opened.stamps != stamps:
        opened = _OpenedBundle(Bundle(bundle), stamps)
        if len(_opened_bundles) >= _MOST_OPENED:
            _opened_bundles.clear()
        _opened_bundles[bundle] = opened
    return opened.bundle


@dataclass(frozen=True)
class _OpenedBundle:
    bundle: Bundle
    stamps: Mapping[str, Stamp]


_opened_bundles: dict[Path, _OpenedBundle] = {}


def _reopen_bundle(bundle: Path, names: Iterable[str]) -> Bundle:
    """Return the open bundle as long as the named files are the same; or else open it."""
    opened = _opened_bundles.get(bundle)
    if opened is not None:
        checked_names = [name for name in names if not name.endswith(RECORDS)]
        stamps = dict(_stamps(bundle, checked_names))
        known_stamps = {name: opened.stamps.get(name) for name in checked_names}
        if all(stamps.get(name) == mark for name, mark in known_stamps.items()):
            return opened.bundle
    return open_bundle(bundle)


def _stamps(bundle: Path, names: Iterable[str]) -> Iterator[tuple[str, Stamp]]:
    folder = str(bundle)
    for name in names:
        try:
            yield name, stamp(f"{folder}/{name}")
        except OSError:
            continue


@dataclass(frozen=True)
class Listed:
    """A table that is there, with the place and the attributes that identify it in its schema.

    `unreadable` is the reason why its rows cannot be read; "" if they can.
    """

    ref: TableRef
    schema: str
    place: TablePlace
    attributes: Mapping[str, str]
    rows: bool
    unreadable: str = ""

    @property
    def choice(self) -> Choice:
        """The choice of this table by its place."""
        return Choice(self.place.run, self.place.index)

    def __str__(self) -> str:
        """Return its name in a sentence: for a table of a bundle, only its place."""
        place_text = describe_table(self.place, self.attributes)
        if not isinstance(self.ref, Path):
            return place_text
        return f"{place_text} in {self.ref.resolve().name}"  # a link's name is ours


def tables_in(
    bundle: Bundle, toc: Toc | None = None, schemas: Sequence[str] | None = None
) -> Iterator[Listed]:
    """Yield the tables of a bundle, of these schemas or all, with their places in the TOC.

    Without a table of contents, their places follow the numbers of their folders.
    """
    for run in bundle.runs:
        places = places_of(run, toc)
        for table in run.tables:
            if table.schema and (schemas is None or table.schema in schemas):
                is_readable = isinstance(table, TableStore)
                place = places[table.number]
                ref = Stored(bundle.path, run.number, table.number, place)
                attributes = worded_attributes(table.attributes)
                yield Listed(
                    ref=ref,
                    schema=table.schema,
                    place=place,
                    attributes=attributes,
                    rows=is_readable and table.rows > 0,
                    unreadable="" if is_readable else table.reason,
                )


def tables_in_capture(bundle: Path, include: Sequence[str] = ()) -> Iterator[Listed]:
    """Yield the tables of a GPU frame capture; raise BundleError if its index is damaged."""
    captures.open_capture(bundle)
    for number, schema in enumerate(captures.list_schemas(include), start=1):
        ref = CaptureTable(bundle, schema, tuple(include))
        yield Listed(ref, schema, TablePlace(None, None, number), {}, rows=True)


_PLACES: WeakKeyDictionary[BundleRun, tuple[Toc | None, dict[int, TablePlace]]] = (
    WeakKeyDictionary()
)
"""The places of the tables of a run, with the table of contents that they were last asked for."""


def places_of(run: BundleRun, toc: Toc | None = None) -> Mapping[int, TablePlace]:
    """Return the places of the tables of a run in its table of contents, by their numbers.

    A bundle does not store that order. Tables are distinguished by schema and attributes; if these
    are the same, the order of their numbers decides. Tables that are missing in the table of
    contents follow its last table.
    """
    if run in _PLACES:
        known_toc, known_places = _PLACES[run]
        if known_toc is toc:
            return known_places
    places = _find_places(run, toc)
    _PLACES[run] = (toc, places)
    return places


def _find_places(run: BundleRun, toc: Toc | None) -> dict[int, TablePlace]:
    listed: list[TocTable] = []
    if toc is not None:
        for toc_run in toc.runs:
            if toc_run.number == run.number:
                listed += toc_run.tables
    free_indices: dict[_Key, list[int]] = defaultdict(list)
    for table in listed:
        free_indices[_key(table.schema, table.attributes)].append(table.index)
    further_indices = count(len(listed) + 1)
    places: dict[int, TablePlace] = {}
    for store in run.tables:
        if not store.schema:
            continue
        key = _key(store.schema, worded_attributes(store.attributes))
        indices = free_indices[key]
        index = indices.pop(0) if indices else next(further_indices)
        places[store.number] = TablePlace(run.number, index)
    return places


def is_covered(listed: Listed, exports: Sequence[Listed], toc: Toc | None) -> bool:
    """Return whether an export replaces a table of a bundle, which is then not read directly.

    It does if it is of the same place, or of the same schema and an unknown place.
    """
    for export in exports:
        if export.schema != listed.schema:
            continue
        place = export.place
        listed_place = (listed.place.run, listed.place.index)
        if (place.run, place.index) == listed_place:
            return True
        schemas_there = [table.schema for table in tables_at(toc, place)]
        if listed.schema not in schemas_there:
            return True
    return False


def _key(schema: str, attributes: Mapping[str, str]) -> _Key:
    return schema, frozenset(attributes.items())
