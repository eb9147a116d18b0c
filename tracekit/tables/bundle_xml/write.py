"""A bundle, or one table of it, as XML in the grammar of `xctrace export`."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tracekit.base import InputError, replacing
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64, EngineeringType, Evidence
from tracekit.tables.bundle.container.records import TIME, Column, read_records
from tracekit.tables.bundle.container.store import Store, Unreadable
from tracekit.tables.bundle.errors import BundleError, DamagedCellError, called
from tracekit.tables.bundle.run_info import listed, toc_of, write_toc
from tracekit.tables.bundle_xml.meanings import Meaning, MeaningOf, Meanings, UnwritableError
from tracekit.tables.toc import Wanted, assumed, required, wanted

SENTINEL = "<sentinel/>"
MOST_REMEMBERED = 1 << 18


class Elements:
    """The elements of one file, in the order in which they are asked for."""

    def __init__(self, meaning_of: MeaningOf, most: int = MOST_REMEMBERED) -> None:
        """Take what tells the meaning of a value, and how many of a type are remembered.

        One that comes back after `most` others is written out again, which readers allow for.
        """
        self._meaning_of = meaning_of
        self._most = most
        self._last = 0
        self._known: dict[str, dict[int, str]] = {}

    def known(self, kind: str) -> dict[int, str]:
        """Return the elements that stand for values of a type that were met already.

        It is the same dictionary as long as this object lives: a caller may keep it.
        """
        return self._known.setdefault(kind, {})

    def write(self, kind: str, value: int) -> str:
        """Return the element of a value: a definition, a reference, or a sentinel."""
        found = self.known(kind).get(value)
        return self._first(kind, value) if found is None else found

    def _first(self, kind: str, value: int) -> str:
        meaning = self._meaning_of(kind, value)
        if meaning is None:
            self._remember(kind, value, SENTINEL)
            return SENTINEL
        if isinstance(meaning, tuple):
            return self.write(*meaning)
        self._last += 1
        number = self._last
        element = "".join(self._parts(meaning, number))
        self._remember(kind, value, f'<{meaning.tag} ref="{number}"/>')
        return element

    def _parts(self, meaning: Meaning, number: int) -> Iterator[str]:
        yield f'<{meaning.tag} id="{number}"'
        if meaning.fmt is not None:
            yield f' fmt="{quoted(meaning.fmt)}"'
        for name, value in meaning.attributes:
            yield f' {name}="{quoted(value)}"'
        if not meaning.children and not meaning.text and meaning.fmt is None:
            yield "/>"
            return
        yield f">{escaped(meaning.text)}"
        for child in meaning.children:
            yield self.write(*child)
        yield f"</{meaning.tag}>"

    def _remember(self, kind: str, value: int, element: str) -> None:
        known = self.known(kind)
        if len(known) >= self._most:
            for old in list(islice(known, self._most // 2)):
                del known[old]
        known[value] = element


def escaped(text: str) -> str:
    """Return a text as it stands in XML, without what XML cannot hold."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain if plain.isprintable() else plain.translate(_UNPRINTABLE)


def quoted(text: str) -> str:
    """Return a text as it stands in an attribute within double quotes."""
    return escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


# XML 1.0 has no way to write these; a carriage return would be read as a line's end.
_UNPRINTABLE = {
    **dict.fromkeys([*range(0x20), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], "\ufffd"),
    0x09: "\t",
    0x0A: "\n",
    0x0D: "&#13;",
}  # fmt: skip


_ROWS = 1 << 12  # turned into text at a time
_ALL_ONES = {4: ALL_32, 8: ALL_64}
_DECLARATION = '<?xml version="1.0"?>\n<trace-query-result>\n'
_END = "</node></trace-query-result>\n"

# Files that Instruments writes lie below one run and its data: only the table's number differs.
_PLACE = "//trace-toc[1]/run[{run}]/data[1]/table[{index}]"


def write_table(
    file: BinaryIO, run: BundleRun, store: Store, index: int, meanings: Meanings
) -> None:
    """Write a table as `xctrace export` does.

    Args:
        file: Where to.
        run: Its run.
        store: The table.
        index: Its number among the tables of the table of contents.
        meanings: What its values mean.

    Raises:
        BundleError: The bundle is damaged.
        UnwritableError: It holds a value of an unknown encoding. An element stands for a value, a
            sentinel for none; nothing says "not known".
    """
    columns = read_records(run.files, store, [TIME, *(one.field for one in store.columns)])
    kinds = [meanings.type(column.type_id) for column in store.columns]
    place = _PLACE.format(run=store.run, index=index)
    head = f"{_DECLARATION}<node xpath='{place}'><schema name=\"{quoted(store.schema)}\">"
    for column, kind in zip(store.columns, kinds, strict=True):
        head += (
            f"<col><mnemonic>{escaped(column.mnemonic)}</mnemonic>"
            f"<name>{escaped(column.title)}</name>"
            f"<engineering-type>{escaped(kind.tag)}</engineering-type></col>"
        )
    file.write(f"{head}</schema>".encode())
    try:
        file.writelines(text.encode() for text in _rows(store, kinds, columns, meanings))
    except DamagedCellError as error:
        raise run.files.damaged(store.bulkstore, str(error)) from error
    file.write(_END.encode())


def _rows(
    store: Store, kinds: Sequence[EngineeringType], columns: Sequence[Column], meanings: Meanings
) -> Iterator[str]:
    """Yield the text of some rows at a time, a line each. The first column is that of times."""
    elements = Elements(meanings.of)
    cells = [
        _cells(elements, kind, _ALL_ONES[column.field.width])
        for column, kind in zip(store.columns, kinds, strict=True)
    ]
    for start in range(0, store.rows, _ROWS):
        numbers = [column[start : start + _ROWS].tolist() for column in columns]
        texts: list[str] = []
        for meanings.moment, *row in zip(*numbers, strict=True):
            texts.append("<row>")
            texts += [cell(number) for cell, number in zip(cells, row, strict=True)]
            texts.append("</row>\n")
        yield "".join(texts)


def _cells(elements: Elements, kind: EngineeringType, all_ones: int) -> Callable[[int], str]:
    """Return what writes the cells of a column."""
    known, type_id = elements.known(kind.type_id), kind.type_id

    def cell(number: int) -> str:
        found = known.get(number)
        if found is not None:
            return found
        if number == all_ones and not kind.all_ones:
            return SENTINEL
        return elements.write(type_id, number)

    return cell


TOC_FILE = "toc.xml"
_SAFE_NAME = re.compile(r"[\w-][\w.-]{0,199}", re.ASCII)

# Which schemas to write, of those that are there; see `tracekit.pipeline.wanted_tables`.
Choose = Callable[[frozenset[str]], frozenset[str]]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Exported:
    """What was written of a bundle: the files, and in words what was not, or not surely."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


def write_exports(
    bundle: Bundle,
    folder: Path,
    choose: Choose,
    progress: Progress,
    number: int | None = None,
) -> Exported:
    """Write a run of a bundle as `xctrace export` would: its TOC, then a file for each table.

    Args:
        bundle: The bundle.
        folder: Where to; it may not hold anything yet.
        choose: Which tables. It is asked again without those that have no rows, for what can be
            read in their place.
        progress: Called with what is being written.
        number: Which run, the last one if it is not said.

    Raises:
        UsageError: There is no such run.
        InputError: The folder holds something, or the bundle is damaged.
        RecordingError: Nothing can be written there.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already.", hint="Name another folder to write into.")
    runs = toc_of(bundle).runs
    toc_run = required(runs, number, called(bundle.path))
    run = next(run for run in bundle.runs if run.number == toc_run.number)
    progress("table of contents")
    write_toc(bundle, folder / TOC_FILE)
    schemas = _chosen(run, choose)
    meanings, tables = Meanings(run), wanted(toc_run, schemas)
    files, unwritten = [folder / TOC_FILE], list[str]()
    damage = [
        table.left_out for table in run.tables if isinstance(table, Unreadable) and not table.schema
    ]
    for place, table in enumerate(tables, 1):
        progress(f"{table.file} ({place} of {len(tables)})")
        words = f"The table {table.schema} is not written"
        try:
            _write(run, table, folder / table.file, meanings)
            files.append(folder / table.file)
        except UnwritableError as error:
            unwritten.append(f"{words}: {error}.")
        except BundleError as error:
            damage.append(f"{words}: {error.message.rstrip('.')}.")
    absent = sorted(schemas.difference(table.schema for table in listed(run)))
    warnings = [
        *(assumed(runs, toc_run, called(bundle.path)) if number is None else ()),
        *(f"The recording has no table {name}." for name in absent),
        *run.unchecked,
        *unwritten,
        *_unsure(run, schemas, meanings),
    ]
    return Exported(tuple(files), tuple(dict.fromkeys(warnings)), tuple(damage))


def _chosen(run: BundleRun, choose: Choose) -> frozenset[str]:
    tables = listed(run)
    there = frozenset(table.schema for table in tables)
    filled = frozenset(one.schema for one in tables if not isinstance(one, Store) or one.rows)
    return choose(there) | choose(filled)


def _write(run: BundleRun, table: Wanted, path: Path, meanings: Meanings) -> None:
    store = listed(run)[table.index - 1]
    if not isinstance(store, Store):
        raise BundleError(store.why)
    if not _SAFE_NAME.fullmatch(store.schema):
        raise UnwritableError("its name can be no file's")
    with replacing(path) as file:
        write_table(file, run, store, table.index, meanings)


def _unsure(run: BundleRun, schemas: Iterable[str], meanings: Meanings) -> list[str]:
    """Say which columns were written by an encoding that no export was compared with."""
    unsure: dict[str, None] = {}
    for store in run.stores:
        columns = [
            column.mnemonic
            for column in store.columns
            if meanings.type(column.type_id).evidence is Evidence.INFERRED
        ]
        if store.rows and columns and store.schema in schemas:
            unsure[f"{store.schema} ({', '.join(columns)})"] = None
    if not unsure:
        return []
    return [f"Columns whose form was never compared with an export: {', '.join(unsure)}."]
