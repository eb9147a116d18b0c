"""What a file of XML is, without reading all of it; which tables a folder holds or held.

`pruned.json` beside the exports says what each file held; the Parquet files that were made of it
are then all that there is of its tables. A file that is there again is read as ever.
"""

import logging
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from tracekit.base import InputError, UsageError, declares_document_type, hostile, save
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.bundle.errors import name_bundle
from tracekit.tables.bundle.run_info import toc_of
from tracekit.tables.direct import (
    Listed,
    Stored,
    TableRef,
    direct,
    is_bundle,
    is_covered,
    open_bundle,
    read_note,
    tables_in,
)
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.place import (
    HOW_TO_CHOOSE,
    Choice,
    TablePlace,
    attributes_of,
    place_in,
    place_of,
    tables_at,
)
from tracekit.tables.toc import Toc, TocRun, describe_runs, explain_run_choice, find_run, read_toc
from tracekit.tables.xml.details import detail_name
from tracekit.tables.xml.source import (
    ROOT,
    TOC_ROOT,
    blocks_of,
    head,
    not_an_export,
    root,
    whole_tags,
)

PARQUET = ".parquet"
"""How tables end that were written as flat ones beside the exports: those of a workload's own
events, and of the host recorder. A file is called after its schema."""
_BLOCK = 1 << 22
_MOST_TABLES = 10_000
_ATTRIBUTES = rb"""(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*/?>"""
_NODE = re.compile(rb"<node\b" + _ATTRIBUTES)
_HEAD = re.compile(rb"<row\b|<schema\b" + _ATTRIBUTES)
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableHeader:
    """A table of a file: its schema, the xpath above it, whether a row follows.

    `number` counts the tables of the file from 1. A table without a schema of its own has
    `inherited` that of the table before it; "" where there is none.
    """

    schema: str
    xpath: str
    number: int
    rows: bool = False
    inherited: bool = False


def headers(path: Path) -> list[TableHeader]:
    """Find the tables of an export; what their rows hold is not read."""
    found: list[TableHeader] = []
    schema = ""
    for text in whole_tags(blocks_of(path, _BLOCK)):
        position = 0
        # Found literally first, which is many times faster than an expression with alternatives.
        for start in (*(found.start() for found in re.finditer(b"<node", text)), len(text)):
            for tag in _HEAD.finditer(text, position, start):
                if not found or found[-1].rows:
                    break
                if tag[0] == b"<row":
                    found[-1] = replace(found[-1], rows=True)
                elif found[-1].inherited and (attributes := _attributes(tag[0])) is not None:
                    schema = attributes.get("name", "")
                    found[-1] = replace(found[-1], schema=schema, inherited=False)
            node = _NODE.match(text, start)
            attributes = None if node is None else _attributes(node[0])
            if node is None or attributes is None:
                continue
            if len(found) == _MOST_TABLES:
                return found  # the reader takes no more either
            position = node.end()
            xpath = attributes.get("xpath", "")
            detail = detail_name(xpath)
            found.append(TableHeader(detail or schema, xpath, len(found) + 1, inherited=not detail))
    return found


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
    """An export that was removed at a time (ISO 8601): its size in bytes, the tables that it held.

    The names of its kept tables hold the `digest` of its content and the version of their `reader`.
    """

    name: str
    digest: str
    reader: int
    size: int
    headers: tuple[TableHeader, ...]
    at: str


@dataclass(frozen=True)
class _PutAwayNote:
    exports: tuple[PutAway, ...] = ()
    format: int = FORMAT


def put_away(folder: Path) -> dict[Path, PutAway]:
    """Return the exports of a folder that were removed and are not there again, by their paths."""
    pruned_exports = {
        folder / name: export for name, export in _read_pruned_exports(folder).items()
    }
    return {
        path: export
        for path, export in pruned_exports.items()
        if not (path.exists() or path.with_suffix(PARQUET).exists())
    }


def note_put_away(folder: Path, *exports: PutAway) -> None:
    """Note exports that are to be removed next; the last note of a name counts."""
    pruned_exports = _read_pruned_exports(folder) | {export.name: export for export in exports}
    save(
        folder / PRUNED_NOTE,
        _PutAwayNote(tuple(pruned_exports[name] for name in sorted(pruned_exports))),
    )


def _read_pruned_exports(folder: Path) -> dict[str, PutAway]:
    note = read_note(folder / PRUNED_NOTE, _PutAwayNote, FORMAT) or _PutAwayNote()
    return {export.name: export for export in note.exports if Path(export.name).name == export.name}


@dataclass(frozen=True)
class Content:
    """What a file is: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    headers: tuple[TableHeader, ...] = ()

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of the tables, each once."""
        return tuple(dict.fromkeys(header.schema for header in self.headers if header.schema))


def identify(path: Path) -> Content:
    """Tell what a file is by its beginning, and for tables by a scan for their headers."""
    if path.suffix == PARQUET:
        return Content("tables", (TableHeader(path.stem, "", 1, rows=_has_rows(path)),))
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Content("toc")
        case name if name == ROOT:
            return Content("tables", tuple(headers(path)))
        case _:
            return Content("unknown")


def _has_rows(file: Path) -> bool:
    """Tell whether a Parquet file has rows; a damaged one counts, so that reading it says so."""
    try:
        return pq.read_metadata(file).num_rows > 0
    except (OSError, pa.ArrowException):
        return True


def export_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may be exports, in the order of their names."""
    return sorted(
        path
        for path in folder.glob("*")
        if (path.suffix == PARQUET or path.suffix.lower() == ".xml") and path.is_file()
    )


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: the tables of each schema, and the table of contents.

    `toc` is the table of contents if there is exactly one. `strange` files are neither. `headers`
    are those of each export, as they stand in it. `missing_losses` says what a bundle must hold
    that is missing or cannot be read; `unread`, why nothing of a bundle is read; and
    `unchecked_losses`, why tables may be missing that nobody knows of.
    """

    tables: dict[str, tuple[Listed, ...]] = field(default_factory=dict[str, tuple[Listed, ...]])
    strange: tuple[Path, ...] = ()
    toc: Toc | None = None
    headers: dict[Path, tuple[TableHeader, ...]] = field(
        default_factory=dict[Path, tuple[TableHeader, ...]]
    )
    missing_losses: tuple[Loss, ...] = ()
    unread: tuple[Loss, ...] = ()
    unchecked_losses: tuple[Loss, ...] = ()

    @property
    def all_tables(self) -> tuple[Listed, ...]:
        """All tables."""
        return tuple(table for tables in self.tables.values() for table in tables)


def refusal(path: Path) -> InputError:
    """Say why a file whose kind is unknown is not read."""
    return hostile(path) if declares_document_type(head(path)) else not_an_export(path)


def index(folder: Path) -> ExportIndex:
    """List what the exports of a folder hold, and held that were put away; or a bundle.

    Tables that are read directly from a bundle count too, where no file has them. Of an absent
    folder, nothing; a note or a bundle that cannot be read is an InputError.
    """
    if is_bundle(folder):
        bundle = open_bundle(folder)
        toc = toc_of(bundle)
        return _with_lost(ExportIndex(_by_schema(tables_in(bundle, toc)), toc=toc), bundle)
    export_index = _exports(folder)
    note = direct(folder)
    if note is None:
        return export_index
    try:
        bundle = open_bundle(note.path(folder))
        new = [
            table
            for table in tables_in(bundle, export_index.toc, note.schemas)
            if not is_covered(table, export_index.all_tables, export_index.toc)
        ]
        tables = _by_schema([*export_index.all_tables, *new])
        return _with_lost(
            replace(export_index, tables=tables), bundle, {table.ref for table in new}
        )
    except InputError as error:
        failure = f"Tables of {name_bundle(note.path(folder))} are not read: {error.message}"
        return replace(export_index, unread=(Loss(Flaw.DAMAGED, failure),))


def _with_lost(
    export_index: ExportIndex, bundle: Bundle, wanted_refs: Container[TableRef] | None = None
) -> ExportIndex:
    """Add what is missing of a bundle, of those tables whose names are known if `wanted_refs`."""
    table_losses = [
        table.loss
        for run in bundle.runs
        for table in run.tables
        if isinstance(table, Unreadable)
        and (
            wanted_refs is None
            or not table.schema
            or Stored(bundle.path, table.run, table.number) in wanted_refs
        )
    ]
    unchecked_losses = (loss for run in bundle.runs for loss in run.unchecked_losses)
    return replace(
        export_index,
        missing_losses=(*bundle.missing, *table_losses),
        unchecked_losses=tuple(unchecked_losses),
    )


def _exports(folder: Path) -> ExportIndex:
    file_contents = {path: identify(path) for path in export_files(folder)}
    tocs = tuple(path for path, content in file_contents.items() if content.kind == "toc")
    strange = tuple(path for path, content in file_contents.items() if content.kind == "unknown")
    headers_by_path = {
        path: content.headers for path, content in file_contents.items() if content.headers
    }
    headers_by_path |= {path: export.headers for path, export in put_away(folder).items()}
    toc = contents(tocs)
    all_tables = (
        _list_table(path, header, toc)
        for path, path_headers in headers_by_path.items()
        for header in path_headers
    )
    tables = _by_schema(table for table in all_tables if table.schema)
    return ExportIndex(tables, strange, toc, headers_by_path)


def _by_schema(tables: Iterable[Listed]) -> dict[str, tuple[Listed, ...]]:
    schema_tables: dict[str, tuple[Listed, ...]] = {}
    for table in tables:
        schema_tables[table.schema] = (*schema_tables.get(table.schema, ()), table)
    return schema_tables


def _list_table(path: Path, header: TableHeader, toc: Toc | None) -> Listed:
    place = place_of(header.xpath, header.number)
    if path.suffix == PARQUET:
        place = place_in(toc, header.schema) or place
    toc_table = next(tables_at(toc, place), None) if header.inherited else None
    schema = header.schema if toc_table is None else toc_table.schema
    return Listed(path, schema, place, attributes_of(toc, place, schema), header.rows)


def contents_beside(ref: TableRef) -> Toc | None:
    """Read the table of contents that stands beside an export, if there is exactly one."""
    if isinstance(ref, Stored):
        return None
    files = (path for path in ref.parent.glob("*.xml") if path.is_file())
    return contents([path for path in files if root(head(path)) == TOC_ROOT])


def contents(tocs: Sequence[Path]) -> Toc | None:
    """Read the only table of contents there is; None where there are others, or it is damaged."""
    if len(tocs) != 1:
        return None
    try:
        return read_toc(tocs[0])
    except InputError as error:
        _log.warning("%s is not used: %s", tocs[0], error)
        return None


def of_one_run(
    export_index: ExportIndex, folder: Path, choice: Choice
) -> tuple[ExportIndex, int | None, tuple[str, ...]]:
    """Leave out what belongs to other runs, or to other places where a place is named.

    Returns the exports of one run, the last one with tables if `choice` names none, and those that
    do not say of which run they are; its number, None where no export says one; and that it was
    chosen for being the last, where it was.
    """
    run, remarks = select_run(export_index, folder, choice.run)
    run_choice = Choice(None if run is None else run.number, choice.table)
    tables = {
        schema: run_tables
        for schema, schema_tables in export_index.tables.items()
        if (
            run_tables := tuple(
                table for table in schema_tables if _may_be(table.place, run_choice)
            )
        )
    }
    if choice.table is not None and not tables:
        raise InputError(
            f"{_name_folder(folder)} has no table that is {run_choice}.", hint=HOW_TO_CHOOSE
        )
    missing_losses, of_bundle = (
        tuple(
            loss for loss in losses if run_choice.run is None or loss.run in {None, run_choice.run}
        )
        for losses in (export_index.missing_losses, export_index.unchecked_losses)
    )
    return (
        replace(
            export_index, tables=tables, missing_losses=missing_losses, unchecked_losses=of_bundle
        ),
        run_choice.run,
        remarks,
    )


def select_run(
    export_index: ExportIndex, folder: Path, number: int | None = None, name: str = ""
) -> tuple[TocRun | None, tuple[str, ...]]:
    """Return the run that is meant, and that it was chosen for being the last, where it was.

    Without a number it is the last one with tables; None where neither the table of contents nor an
    export says one. The trace has the `name` in sentences, if not that of the folder. A run that is
    not there, or of which nothing was exported, is a UsageError.
    """
    filled = {table.place.run for table in export_index.all_tables if table.place.run is not None}
    toc = {
        run.number: run for run in (export_index.toc.runs if export_index.toc is not None else ())
    }
    runs = [toc.get(key) or TocRun(key) for key in sorted({*toc, *filled})]
    name = name or _name_folder(folder)
    if number is None:
        with_tables = [run for run in runs if run.number in filled]
        last_run = next(iter((with_tables or runs)[-1:]), None)
        return last_run, () if last_run is None else explain_run_choice(runs, last_run, name)
    if not runs and export_index.tables:
        raise UsageError(
            f"{name} has no run {number}: nothing says of which run its tables are.",
            hint="Leave --run out.",
        )
    if not runs:
        return None, ()
    run = find_run(runs, number, name)
    if filled and run.tables and number not in filled:
        there = describe_runs([other_run for other_run in runs if other_run.number in filled])
        raise UsageError(f"{name} has no export of run {number}.", hint=f"It has {there}.")
    return run, ()


def _name_folder(folder: Path) -> str:
    return name_bundle(folder) if is_bundle(folder) else str(folder)


def _may_be(place: TablePlace, choice: Choice) -> bool:
    return choice.allows(place if place.run is not None else replace(place, run=choice.run), {})
