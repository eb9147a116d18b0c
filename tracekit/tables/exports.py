"""What a file of XML is, without reading all of it; which tables a folder holds or held.

`pruned.json` beside the exports says what each file held; the Parquet files that were made of it
are then all that there is of its tables. A file that is there again is read as ever.
"""

import logging
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from tracekit.base import (
    InputError,
    RecordingError,
    declares_document_type,
    hostile,
    open_input,
    read_input,
    save,
    unreadable,
)
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.bundle.errors import called
from tracekit.tables.bundle.run_info import toc_of
from tracekit.tables.direct import (
    Listed,
    Stored,
    covered,
    direct,
    is_bundle,
    opened,
    stored,
    tables_in,
)
from tracekit.tables.place import (
    Stamp,
    attributes_of,
    lasting,
    place_in,
    place_of,
    schema_at,
    stamp,
)
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.details import detail_name
from tracekit.tables.xml.source import ROOT, TOC_ROOT, head, not_an_export, root

PARQUET = ".parquet"
"""How tables end that were written as flat ones beside the exports: those of a workload's own
events, and of the host recorder. A file is called after its schema."""
_BLOCK = 1 << 22
_MOST_TABLES = 10_000
_TAG = re.compile(rb"""<(node|schema)\b(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*/?>""")
_ROW = re.compile(rb"<row\b")
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


@dataclass(frozen=True)
class Header:
    """A table of a file: its schema, the xpath above it, whether a row follows.

    `number` counts the tables of the file from 1. A table without a schema of its own has
    `inherited` that of the table before it; "" where there is none.
    """

    schema: str
    xpath: str
    number: int
    rows: bool = False
    inherited: bool = False


def headers(path: Path) -> list[Header]:
    """Find the tables of an export; what their rows hold is not read.

    Raises:
        InputError: The file cannot be opened.
    """
    scan = _Scan()
    try:
        with open_input(path) as file:
            while block := file.read(_BLOCK):
                scan.feed(block)
    except OSError as error:
        raise unreadable(path, error) from error
    return scan.found


class _Scan:
    """A scan, block by block; a tag that a block cuts is looked at with the next one."""

    def __init__(self) -> None:
        self.found: list[Header] = []
        self._rest = b""
        self._seen = 0  # bytes of the rest that belong to a tag already taken
        self._schema = ""
        self._bare = False

    def feed(self, block: bytes) -> None:
        text = self._rest + block
        position = self._seen
        for start in sorted({*_places(text, b"<node"), *_places(text, b"<schema")}):
            if len(self.found) == _MOST_TABLES:
                break  # the reader takes no more either
            tag = _TAG.match(text, start) if start >= position else None
            attributes = None if tag is None else _attributes(tag[0])
            if tag is not None and attributes is not None:
                self._look_for_row(text, position, start)
                self._take(tag[1], attributes)
                position = tag.end()
        self._look_for_row(text, position, len(text))
        cut = max(0, text.rfind(b"<"), len(text) - _BLOCK)
        self._rest, self._seen = text[cut:], max(0, position - cut)

    def _take(self, name: bytes, attributes: dict[str, str]) -> None:
        if name == b"node":
            xpath, number = attributes.get("xpath", ""), len(self.found) + 1
            detail = detail_name(xpath)
            self._bare = not detail
            schema = detail or self._schema
            self.found.append(Header(schema, xpath, number, inherited=self._bare))
        elif self._bare:
            self._schema = attributes.get("name", "")
            last = self.found[-1]
            self.found[-1] = Header(self._schema, last.xpath, last.number)
            self._bare = False

    def _look_for_row(self, text: bytes, start: int, end: int) -> None:
        if not self.found or self.found[-1].rows:
            return
        if _ROW.search(text, start, end):
            last = self.found[-1]
            self.found[-1] = replace(last, rows=True)


def _places(text: bytes, tag: bytes) -> Iterator[int]:
    """Find literally, which is many times faster than an expression with alternatives."""
    place = text.find(tag)
    while place >= 0:
        yield place
        place = text.find(tag, place + 1)


def _attributes(tag: bytes) -> dict[str, str] | None:
    """Return the attributes of a tag by the rules of XML; None where it breaks them."""
    alone = tag if tag.endswith(b"/>") else tag[:-1] + b"/>"
    try:
        element = etree.fromstring(alone.decode("utf-8", "replace"), _PARSER)
    except etree.XMLSyntaxError:
        return None
    return {str(name): str(value) for name, value in element.attrib.items()}


PRUNED_NOTE = "pruned.json"
FORMAT = 1


@dataclass(frozen=True)
class PutAway:
    """An export that was removed.

    Attributes:
        name: The file's name.
        digest: The digest of its content, which the names of its kept tables hold.
        reader: The version of the reader that made them.
        size: How many bytes it had.
        headers: The tables that it held.
        at: When it was removed, ISO 8601.
    """

    name: str
    digest: str
    reader: int
    size: int
    headers: tuple[Header, ...]
    at: str


@dataclass(frozen=True)
class _Note:
    exports: tuple[PutAway, ...] = ()
    format: int = FORMAT


def put_away(folder: Path) -> dict[Path, PutAway]:
    """Return the exports of a folder that were removed and are not there again, by their paths.

    Raises:
        InputError: The note about them cannot be read, or a newer tracekit wrote it.
    """
    noted = {folder / export.name: export for export in _read(folder).exports}
    return {
        path: one
        for path, one in noted.items()
        if not (path.exists() or path.with_suffix(PARQUET).exists())
    }


def note_put_away(folder: Path, *exports: PutAway) -> None:
    """Note exports that are to be removed next; a later note of a name takes the place of others.

    Raises:
        InputError: As `put_away`.
        RecordingError: The note cannot be written.
    """
    noted = {export.name: export for export in (*_read(folder).exports, *exports)}
    save(folder / PRUNED_NOTE, _Note(tuple(noted[name] for name in sorted(noted))))


def gone(path: Path, away: PutAway, why: str) -> InputError:
    """Say that nothing can be read of an export that was removed."""
    return InputError(
        f"{path} was pruned on {away.at[:10]}, and {why}.",
        hint="Nothing of this table is left but what result.json and the page say.",
    )


def _read(folder: Path) -> _Note:
    note = folder / PRUNED_NOTE
    try:
        found = msgspec.json.decode(read_input(note), type=_Note)
    except FileNotFoundError:
        return _Note()
    except msgspec.MsgspecError as error:
        raise InputError(f"{note} cannot be read: {error}") from error
    if found.format > FORMAT:
        raise InputError(
            f"{note} has format {found.format}; this tracekit reads up to {FORMAT}.",
            hint="Use the tracekit that wrote it, or a newer one.",
        )
    plain = (export for export in found.exports if Path(export.name).name == export.name)
    return replace(found, exports=tuple(plain))


_LARGE = 1 << 26
_VERSION = 1
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Memory:
    version: int
    stamp: Stamp
    found: msgspec.Raw


def remembered(path: Path, folder: Path | None, look: Callable[[Path], _T], of: type[_T]) -> _T:
    """Return what `look` finds in a file, from memory if the file is large and has not changed.

    Args:
        path: The file.
        folder: Where to remember; None remembers nothing.
        look: What looks at the file.
        of: The type of what it finds.
    """
    try:
        before = stamp(path)
    except OSError:
        return look(path)
    if folder is None or before.size < _LARGE:
        return look(path)
    name = blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    note = folder / f"{name}.scan"
    known = _recall(note, before, of)
    if known is not None:
        return known
    found = look(path)
    lasts = lasting(before)
    if lasts is not None:
        _keep(note, _Memory(_VERSION, lasts, msgspec.Raw(msgspec.json.encode(found))))
    return found


def _recall(note: Path, before: Stamp, of: type[_T]) -> _T | None:
    try:
        memory = msgspec.json.decode(note.read_bytes(), type=_Memory)
        if (memory.version, memory.stamp) == (_VERSION, before):
            return msgspec.json.decode(memory.found, type=of)
    except (OSError, msgspec.MsgspecError) as error:
        _log.debug("%s: %s", note, error)
    return None


def _keep(note: Path, memory: _Memory) -> None:
    try:
        save(note, memory)
    except RecordingError as error:
        _log.debug("%s is not kept: %s", note, error)


@dataclass(frozen=True)
class Content:
    """What a file is: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    schemas: tuple[str, ...] = ()
    headers: tuple[Header, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: the tables of each schema, and the tables of contents.

    `toc` is the table of contents if there is exactly one. `strange` files are neither. `headers`
    are those of each export, as they stand in it. `lost` says, in sentences, what a bundle must
    hold that is missing or cannot be read; `unread`, why nothing of a bundle is read; and
    `said`, why tables may be missing that nobody knows of. `of_runs` has those of `lost` and `said`
    that are about one run, by its number.
    """

    tables: dict[str, tuple[Listed, ...]] = field(default_factory=dict[str, tuple[Listed, ...]])
    tocs: tuple[Path, ...] = ()
    strange: tuple[Path, ...] = ()
    toc: Toc | None = None
    headers: dict[Path, tuple[Header, ...]] = field(default_factory=dict[Path, tuple[Header, ...]])
    lost: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    of_runs: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])

    @property
    def schemas(self) -> dict[str, tuple[Path, ...]]:
        """The files that hold a schema."""
        return {
            schema: tuple(dict.fromkeys(one.file for one in listed))
            for schema, listed in self.tables.items()
        }


def identify(path: Path) -> Content:
    """Tell what a file is by its beginning, and for tables by a scan for their headers.

    Raises:
        InputError: The file cannot be opened.
    """
    if path.suffix == PARQUET:
        return Content("tables", (path.stem,), (Header(path.stem, "", 1, rows=_filled(path)),))
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Content("toc")
        case name if name == ROOT:
            found = tuple(headers(path))
            schemas = dict.fromkeys(header.schema for header in found if header.schema)
            return Content("tables", tuple(schemas), found)
        case _:
            return Content("unknown")


def _filled(file: Path) -> bool:
    """Tell whether a Parquet file has rows; a damaged one counts, so that reading it says so."""
    try:
        return pq.read_metadata(file).num_rows > 0
    except (OSError, pa.ArrowException):
        return True


def export_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may be exports, in the order of their names."""
    suffixes = {".xml", PARQUET}
    return sorted(path for path in folder.glob("*") if path.suffix in suffixes and path.is_file())


def refusal(path: Path) -> InputError:
    """Say why a file whose kind is unknown is not read."""
    return hostile(path) if declares_document_type(head(path)) else not_an_export(path)


def index(folder: Path, memory: Path | None = None) -> ExportIndex:
    """List what the exports of a folder hold, and held that were put away; or a bundle.

    Tables that are read directly from a bundle count too, where no file has them. Of an absent
    folder, nothing.

    Args:
        folder: The folder with the exports of one trace, or a bundle.
        memory: A folder to keep in what large files were found to hold.

    Raises:
        InputError: A note beside the exports cannot be read; a bundle is damaged or unknown.
    """
    if is_bundle(folder):
        bundle = opened(folder)
        toc = toc_of(bundle)
        tables = _by_schema(tables_in(bundle, toc))
        return _with_lost(ExportIndex(tables, toc=toc), bundle)
    found = _exports(folder, memory)
    note = direct(folder)
    if note is None:
        return found
    try:
        bundle = opened(note.path(folder))
        there = [table for tables in found.tables.values() for table in tables]
        new = [
            listed
            for listed in tables_in(bundle, found.toc, note.schemas)
            if not covered(listed, there, found.toc)
        ]
        wanted = {one.file for one in new}
        return _with_lost(replace(found, tables=_by_schema([*there, *new])), bundle, wanted)
    except InputError as error:
        why = f"Tables of {called(note.path(folder))} are not read: {error.message}"
        return replace(found, unread=(why,))


def _with_lost(
    found: ExportIndex, bundle: Bundle, wanted: Container[Path] | None = None
) -> ExportIndex:
    """Add what is missing of a bundle, of those tables whose names are known if `wanted`."""
    lost = {
        run.number: tuple(
            table.left_out
            for table in run.tables
            if isinstance(table, Unreadable)
            and (
                wanted is None
                or not table.schema
                or Stored(bundle.path, table.run, table.number).file in wanted
            )
        )
        for run in bundle.runs
    }
    said = {run.number: run.unchecked for run in bundle.runs}
    return replace(
        found,
        lost=(*bundle.missing, *chain.from_iterable(lost.values())),
        said=tuple(chain.from_iterable(said.values())),
        of_runs={number: (*lost[number], *said[number]) for number in lost},
    )


def _exports(folder: Path, memory: Path | None) -> ExportIndex:
    found = {path: remembered(path, memory, identify, Content) for path in export_files(folder)}
    tocs = tuple(path for path, content in found.items() if content.kind == "toc")
    strange = tuple(path for path, content in found.items() if content.kind == "unknown")
    for path, one in put_away(folder).items():
        found[path] = Content("tables", (), one.headers)
    toc = contents(tocs)
    tables = _by_schema(
        listed
        for path, content in found.items()
        for listed in (_listed(path, header, toc) for header in content.headers)
        if listed.schema
    )
    held = {path: content.headers for path, content in found.items() if content.headers}
    return ExportIndex(tables, tocs, strange, toc, held)


def _by_schema(tables: Iterable[Listed]) -> dict[str, tuple[Listed, ...]]:
    found: dict[str, tuple[Listed, ...]] = {}
    for table in tables:
        found[table.schema] = (*found.get(table.schema, ()), table)
    return found


def _listed(path: Path, header: Header, toc: Toc | None) -> Listed:
    place = place_of(header.xpath, header.number)
    if path.suffix == PARQUET:
        place = place_in(toc, header.schema) or place
    named = schema_at(toc, place) if header.inherited else None
    schema = named or header.schema
    return Listed(path, schema, place, attributes_of(toc, place, schema), header.rows)


def contents_beside(path: Path) -> Toc | None:
    """Read the table of contents that stands beside an export, if there is exactly one.

    Beside a table in a bundle none ever stands.
    """
    if stored(path) is not None:
        return None
    beside = [
        one for one in path.parent.glob("*.xml") if one.is_file() and root(head(one)) == TOC_ROOT
    ]
    return contents(beside)


def contents(tocs: Sequence[Path]) -> Toc | None:
    """Read the only table of contents there is; None where there are others, or it is damaged."""
    if len(tocs) != 1:
        return None
    try:
        return read_toc(tocs[0])
    except InputError as error:
        _log.warning("%s is not used: %s", tocs[0], error)
        return None
