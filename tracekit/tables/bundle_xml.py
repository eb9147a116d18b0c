"""A run of a bundle, or one table of it, as XML in the grammar of `xctrace export`.

It has the content of the flat tables: processes, threads and stacks in full, all other values by
their words and numbers. Of a label only the words are written, not its parts.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from tracekit.base import InputError
from tracekit.base import files as base_files
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.cells.encodings import (
    Encoding,
    EngineeringType,
)
from tracekit.tables.bundle.cells.labels import FMT
from tracekit.tables.bundle.container.records import read_records
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import TableStore, Unreadable
from tracekit.tables.bundle.errors import BundleError, name_bundle
from tracekit.tables.bundle.names import Names
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.bundle.run_info import list_named_tables, toc_of, write_toc
from tracekit.tables.losses import EncodingEvidence, Flaw, Loss, report
from tracekit.tables.toc import WantedTable, explain_run_choice, find_run, select_tables
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, Node, Symbols

SENTINEL = "<sentinel/>"
_MOST_REMEMBERED = 1 << 18
_ROWS = 1 << 12  # turned into text at a time
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9-]*", re.ASCII)
# XML 1.0 has no way to write these; a carriage return would be read as a line's end.
_UNPRINTABLE = {
    **dict.fromkeys([*range(0x20), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\ufffd"),
    0x09: "\t",
    0x0A: "\n",
    0x0D: "&#13;",
}  # fmt: skip


def escape_text(text: str) -> str:
    """Return a text escaped for XML, without the characters that XML cannot hold."""
    escaped_text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if escaped_text.isprintable():
        return escaped_text
    return escaped_text.translate(_UNPRINTABLE)


def quote_attribute(text: str) -> str:
    """Return a text escaped for an attribute within double quotes."""
    escaped_text = escape_text(text).replace('"', "&quot;")
    return escaped_text.replace("\n", "&#10;").replace("\t", "&#9;")


class _WrittenElements:
    """The elements of one file: each value is defined once, and referred to afterwards."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._last = 0
        self._known: defaultdict[str, dict[object, str]] = defaultdict(dict)  # by tag and value

    def cells(self, part: ColumnCells, kind: EngineeringType, symbols: Symbols) -> Iterator[str]:
        """Yield the elements of a column's cells."""
        tag = kind.tag
        texts = part.cells.to_pylist()
        if kind.encoding is Encoding.THREAD:
            tids = _list_cells(part.tids, len(texts))
            pids = _list_cells(part.pids, len(texts))
            return map(self._thread, texts, tids, pids)
        if kind.encoding is Encoding.PROCESS:
            pids = _list_cells(part.pids, len(texts))
            return map(self._process, texts, pids)
        if tag in STACK_TYPES:
            write = self._backtrace
            if kind.encoding is Encoding.CALLSTACK:
                write = self._callstack
            stacks = _list_cells(part.stacks, len(texts))
            pairs = zip(texts, stacks, strict=True)
            return (write(tag, text, stack, symbols) for text, stack in pairs)
        if kind.encoding is Encoding.ANY and len(part.foreign) == 1:
            [tag] = part.foreign
        known_elements = self._known[tag]
        known_elements[None] = SENTINEL
        return (known_elements.get(text) or self._value(tag, text, kind.encoding) for text in texts)

    def _element(
        self, tag: str, value: object, content: Iterable[str], **attributes: str | None
    ) -> str:
        """Define a value, or refer to it; its content is read after it has its own id."""
        known_elements = self._known[tag]
        reference = known_elements.get(value)
        if reference is not None:
            return reference
        if len(known_elements) >= _MOST_REMEMBERED:
            known_elements.clear()  # a value that occurs again is defined again
        self._last += 1
        head = f'{tag} id="{self._last}"'
        known_elements[value] = f'<{tag} ref="{self._last}"/>'
        for name, text in attributes.items():
            if text is not None:
                attribute = name.replace("_", "-")
                head += f' {attribute}="{quote_attribute(text)}"'
        inner_xml = "".join(content)
        if inner_xml or "fmt" in attributes:
            return f"<{head}>{inner_xml}</{tag}>"
        return f"<{head}/>"

    def _value(self, tag: str, value: Any, encoding: Encoding) -> str:
        if value is None:
            return SENTINEL
        if encoding is Encoding.INTEGER:
            number = int(value)
            text = str(number)
            words_of = self._names.core if tag == "core" else FMT.get(tag, str)
            words = words_of(number)
        elif encoding is Encoding.DECIMAL:
            text = f"{value:.9f}"
            words = text
        else:
            text = value
            words = text
        content = map(escape_text, (text,))
        return self._element(tag, value, content, fmt=words)

    def _process(self, text: str | None, pid: int | None) -> str:
        def content() -> Iterator[str]:
            yield self._value("pid", pid, Encoding.INTEGER)
            yield self._value("device-session", "TODO", Encoding.STRING)

        if text is None:
            return SENTINEL
        return self._element("process", pid, content(), fmt=text)

    def _thread(self, text: str | None, tid: int | None, pid: int | None) -> str:
        def content() -> Iterator[str]:
            yield self._value("tid", tid, Encoding.INTEGER)
            if pid is None:
                yield SENTINEL
            else:
                yield self._process(self._names.process_with_pid(pid), pid)

        if tid is None:
            return SENTINEL
        if text is None:
            text = f"Unknown {tid:#x}"
        return self._element("thread", (tid, pid), content(), fmt=text)

    def _backtrace(self, tag: str, text: str | None, stack: int | None, symbols: Symbols) -> str:
        def content() -> Iterator[str]:
            for number in _frames(stack, symbols):
                yield self._frame(number, symbols)

        if text is None:
            return SENTINEL
        return self._element(tag, stack, content())

    def _callstack(self, tag: str, text: str | None, stack: int | None, symbols: Symbols) -> str:
        """Write a stack of addresses; the program counter follows the others."""
        if text is None:
            return SENTINEL
        has_counter = text.startswith("PC:")

        def content() -> Iterator[str]:
            column = symbols.frames["address"]
            frame_numbers = _frames(stack, symbols)
            addresses = [column[number].as_py() for number in frame_numbers]
            counters: list[int] = []
            if has_counter:
                counters = addresses[:1]
                addresses = addresses[1:]
            address_text = " ".join(map(str, addresses))
            if address_text:
                yield self._element(
                    "text-addresses", address_text, (address_text,), fmt=f"frag {stack}"
                )
            else:
                yield SENTINEL
            for counter in counters:
                yield self._value("text-address", counter, Encoding.INTEGER)

        return self._element(tag, (text, stack), content(), fmt=text)

    def _frame(self, number: int, symbols: Symbols) -> str:
        reference = self._known["frame"].get(number)
        if reference is not None:
            return reference
        frame_cells: dict[str, Any] = {}
        for name in symbols.frames.column_names:
            frame_cells[name] = symbols.frames[name][number].as_py()

        def binary() -> Iterator[str]:
            if frame_cells["binary"] is None:
                return
            load = frame_cells["load_address"]
            load_text = None
            if load is not None:
                load_text = hex(load)
            yield self._element(
                "binary",
                (frame_cells["uuid"], frame_cells["path"], load),
                (),
                name=frame_cells["binary"],
                UUID=frame_cells["uuid"],
                arch=frame_cells["arch"],
                load_addr=load_text,
                path=frame_cells["path"],
            )

        address = hex(frame_cells["address"])
        return self._element("frame", number, binary(), name=frame_cells["name"], addr=address)


def _list_cells(cells: pa.ChunkedArray | None, count: int) -> list[Any]:
    """Return cells as a list; nulls if the column has none of this kind."""
    if cells is None:
        return [None] * count
    return cells.to_pylist()


def _frames(stack: int | None, symbols: Symbols) -> list[int]:
    if stack is None:
        return []
    return symbols.stacks["frames"][stack].as_py()


class UnwritableError(ValueError):
    """A table that an export cannot represent: its grammar has no form for an unknown value."""


def write_table(file: BinaryIO, run: BundleRun, store: TableStore, index: int) -> tuple[Loss, ...]:
    """Write a table as `xctrace export` does; `index` is its place in the table of contents.

    Return the losses: columns of an uncertain encoding, and missing names.

    Raises UnwritableError if it holds values of an unknown encoding.
    """
    xpath = f"//trace-toc[1]/run[{store.run}]/data[1]/table[{index}]"
    reader = BundleReader(run, store, xpath)
    _require_known(run, store, reader.kinds)
    head = f"<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='{xpath}'>"
    head += f'<schema name="{quote_attribute(store.schema)}">'
    typed_columns = zip(store.columns, reader.kinds, strict=True)
    for column, kind in typed_columns:
        mnemonic = escape_text(column.mnemonic)
        title = escape_text(column.title)
        type_name = escape_text(kind.tag)
        head += (
            f"<col><mnemonic>{mnemonic}</mnemonic>"
            f"<name>{title}</name>"
            f"<engineering-type>{type_name}</engineering-type></col>"
        )
    file.write(f"{head}</schema>".encode())
    elements = _WrittenElements(run.names)
    losses: tuple[Loss, ...] = ()
    for piece in reader.pieces():
        losses = piece.losses  # those of all pieces so far
        symbols = reader.symbols()
        for rows in _parts(piece):
            columns: list[Iterator[str]] = []
            for part, kind in zip(rows, reader.kinds, strict=True):
                columns.append(elements.cells(part, kind, symbols))
            texts = [f"<row>{''.join(row)}</row>\n" for row in zip(*columns, strict=True)]
            file.write("".join(texts).encode())
    file.write(b"</node></trace-query-result>\n")
    return losses


def _parts(piece: Node) -> Iterator[list[ColumnCells]]:
    """Yield the columns of some rows at a time."""
    for start in range(0, piece.rows, _ROWS):
        yield [_slice_part(part, start) for part in piece.columns]


def _slice_part(part: ColumnCells, start: int) -> ColumnCells:
    slices: dict[str, Any] = {}
    for name in ("cells", "pids", "tids", "stacks"):
        cells = getattr(part, name)
        if cells is not None:
            slices[name] = cells.slice(start, _ROWS)
    return replace(part, **slices)


def _require_known(run: BundleRun, store: TableStore, kinds: list[EngineeringType]) -> None:
    """Refuse a table with a value of a type with an unknown encoding or tag."""
    unknown_kinds: list[EngineeringType] = []
    fields: list[Field] = []
    for kind, column in zip(kinds, store.columns, strict=True):
        is_raw = kind.evidence in {EncodingEvidence.RAW, EncodingEvidence.NONE}
        if is_raw or not _TAG.fullmatch(kind.tag):
            unknown_kinds.append(kind)
            fields.append(column.field)
    if not fields:
        return
    stored = read_records(run.files, store, fields)
    for kind, numbers in zip(unknown_kinds, stored, strict=True):
        largest = np.iinfo(numbers.dtype).max
        if (numbers != largest).any():
            words = f"how values of {kind.tag or kind.type_id} are stored is not known"
            raise UnwritableError(words)


_SAFE_NAME = re.compile(r"[\w-][\w.-]{0,199}", re.ASCII)

# Chooses the schemas to write from those that are there; see `tracekit.pipeline.wanted_tables`.
Choose = Callable[[frozenset[str]], frozenset[str]]


@dataclass(frozen=True)
class Exported:
    """The result of writing a bundle: the files, the losses, and other warnings."""

    files: tuple[Path, ...]
    losses: tuple[Loss, ...] = ()
    warnings: tuple[str, ...] = ()


def write_exports(
    bundle: Bundle,
    folder: Path,
    choose: Choose,
    progress: Callable[[str], None],
    number: int | None = None,
) -> Exported:
    """Write a run of a bundle as `xctrace export` would: its TOC, then a file for each table.

    The folder must be empty or absent. `choose` is called again without the tables that have no
    rows, for the tables that can be read in their place. Without a number, the last run is written.
    Losses are returned, and reported.

    Raises:
        UsageError: There is no such run.
        InputError: The folder is not empty, or the bundle is damaged.
        RecordingError: The folder cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already.", hint="Name another folder to write into.")
    runs = toc_of(bundle).runs
    toc_run = find_run(runs, number, name_bundle(bundle.path))
    matching_runs = (run for run in bundle.runs if run.number == toc_run.number)
    run = next(matching_runs)
    progress("table of contents")
    files = [folder / "toc.xml"]
    write_toc(bundle, files[0])
    there: set[str] = set()
    filled: set[str] = set()
    for store in list_named_tables(run):
        there.add(store.schema)
        if not isinstance(store, TableStore) or store.rows:
            filled.add(store.schema)
    chosen_schemas = choose(frozenset(there))
    schemas = chosen_schemas | choose(frozenset(filled))
    tables = select_tables(toc_run, schemas)
    losses = list(run.unchecked_losses)
    unreadable_tables = [table for table in run.tables if isinstance(table, Unreadable)]
    losses += [table.loss for table in unreadable_tables if not table.schema]
    for place, table in enumerate(tables, 1):
        progress(f"{table.file} ({place} of {len(tables)})")
        path = folder / table.file
        failure, table_losses = _try_to_write(run, table, path)
        if failure is None:
            files.append(path)
            losses += table_losses
        else:
            losses.append(failure)
    report(losses)
    warnings: list[str] = []
    if number is None:
        warnings += explain_run_choice(runs, toc_run, name_bundle(bundle.path))
    missing_schemas = sorted(schemas - there)
    warnings += [f"The recording has no table {name}." for name in missing_schemas]
    distinct_losses = tuple(dict.fromkeys(losses))
    return Exported(tuple(files), distinct_losses, tuple(warnings))


def _try_to_write(
    run: BundleRun, table: WantedTable, path: Path
) -> tuple[Loss | None, tuple[Loss, ...]]:
    """Write a table; return the loss of a table that cannot be written, or else its losses."""
    words = f"The table {table.schema} is not written"
    try:
        return None, _write(run, table, path)
    except UnwritableError as error:
        text = f"{words}: {error}."
        return Loss(Flaw.UNREADABLE, text, schema=table.schema, run=run.number), ()
    except BundleError as error:
        text = f"{words}: {error.message.rstrip('.')}."
        return Loss(Flaw.DAMAGED, text, schema=table.schema, run=run.number), ()


def _write(run: BundleRun, table: WantedTable, path: Path) -> tuple[Loss, ...]:
    """Write a table; return its losses as `write_table` does."""
    store = list_named_tables(run)[table.index - 1]
    if not isinstance(store, TableStore):
        raise BundleError(store.reason)
    if not _SAFE_NAME.fullmatch(store.schema):
        raise UnwritableError("its name can be no file's")
    with base_files.replacing(path) as file:
        return write_table(file, run, store, table.index)
