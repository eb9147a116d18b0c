"""What a file of XML is, without reading all of its values; which tables a folder holds."""

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Literal

from tracekit.base.errors import InputError
from tracekit.base.files import declares_document_type, hostile
from tracekit.tables.bundle.about.toc import toc_of
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.called import called
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.direct import covered, direct, tables_in
from tracekit.tables.headers import Header, headers
from tracekit.tables.listed import Listed
from tracekit.tables.place import attributes_of, place_of, schema_at
from tracekit.tables.put_away import put_away
from tracekit.tables.remembered import remembered
from tracekit.tables.stored import Stored, is_bundle, opened, stored
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.head import ROOT, TOC_ROOT, head, not_an_export, root

_log = logging.getLogger(__name__)


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
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Content("toc")
        case name if name == ROOT:
            found = tuple(headers(path))
            schemas = dict.fromkeys(one.schema for one in found if one.schema)
            return Content("tables", tuple(schemas), found)
        case _:
            return Content("unknown")


def refusal(path: Path) -> InputError:
    """Say why a file whose kind is unknown is not read."""
    return hostile(path) if declares_document_type(head(path)) else not_an_export(path)


def index(folder: Path, memory: Path | None = None) -> ExportIndex:
    """List what the `.xml` files of a folder hold, and held that were put away; or a bundle.

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
        there = [one for tables in found.tables.values() for one in tables]
        new = [
            one
            for one in tables_in(bundle, found.toc, note.schemas)
            if not covered(one, there, found.toc)
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
            one.left_out
            for one in run.tables
            if isinstance(one, Unreadable)
            and (
                wanted is None
                or not one.schema
                or Stored(bundle.path, one.run, one.number).file in wanted
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
    files = sorted(path for path in folder.glob("*.xml") if path.is_file())
    found = {path: remembered(path, memory, identify, Content) for path in files}
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
    for one in tables:
        found[one.schema] = (*found.get(one.schema, ()), one)
    return found


def _listed(path: Path, header: Header, toc: Toc | None) -> Listed:
    place = place_of(header.xpath, header.number)
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
