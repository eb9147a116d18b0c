"""What a file of XML is, without reading all of its values; which tables a folder holds."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracekit.errors import InputError
from tracekit.input_file import declares_document_type, hostile
from tracekit.tables.headers import Header, headers
from tracekit.tables.place import Place, attributes_of, described, place_of, schema_at
from tracekit.tables.put_away import put_away
from tracekit.tables.remembered import remembered
from tracekit.tables.xml.head import ROOT, TOC_ROOT, head, not_an_export, root
from tracekit.toc import Toc, read_toc

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """What a file is: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    schemas: tuple[str, ...] = ()
    headers: tuple[Header, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Listed:
    """A table that a file holds, and what tells it from others of its schema."""

    file: Path
    schema: str
    place: Place
    attributes: Mapping[str, str]
    rows: bool

    def __str__(self) -> str:
        """Name it for a sentence."""
        return f"{described(self.place, self.attributes)} in {self.file.name}"


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: the tables of each schema, and the tables of contents.

    `toc` is the table of contents if there is exactly one. `strange` files are neither. `headers`
    are those of each export, as they stand in it.
    """

    tables: dict[str, tuple[Listed, ...]] = field(default_factory=dict[str, tuple[Listed, ...]])
    tocs: tuple[Path, ...] = ()
    strange: tuple[Path, ...] = ()
    toc: Toc | None = None
    headers: dict[Path, tuple[Header, ...]] = field(default_factory=dict[Path, tuple[Header, ...]])

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
    """List what the `.xml` files of a folder hold, and held that were put away.

    Of an absent folder, nothing.

    Args:
        folder: The folder with the exports of one trace.
        memory: A folder to keep in what large files were found to hold.
    """
    files = sorted(path for path in folder.glob("*.xml") if path.is_file())
    found = {path: remembered(path, memory, identify, Content) for path in files}
    tocs = tuple(path for path, content in found.items() if content.kind == "toc")
    strange = tuple(path for path, content in found.items() if content.kind == "unknown")
    for path, one in put_away(folder).items():
        found[path] = Content("tables", (), one.headers)
    toc = contents(tocs)
    tables: dict[str, tuple[Listed, ...]] = {}
    for path, content in found.items():
        for header in content.headers:
            listed = _listed(path, header, toc)
            if listed.schema:
                tables[listed.schema] = (*tables.get(listed.schema, ()), listed)
    held = {path: content.headers for path, content in found.items() if content.headers}
    return ExportIndex(tables, tocs, strange, toc, held)


def _listed(path: Path, header: Header, toc: Toc | None) -> Listed:
    place = place_of(header.xpath, header.number)
    named = schema_at(toc, place) if header.inherited else None
    schema = named or header.schema
    return Listed(path, schema, place, attributes_of(toc, place, schema), header.rows)


def contents_beside(path: Path) -> Toc | None:
    """Read the table of contents that stands beside an export, if there is exactly one."""
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
