"""One table of a bundle as a file of XML, in the grammar of `xctrace export`.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64, EngineeringType, Evidence
from tracekit.tables.bundle.container.records import TIME, Column, read_records
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle_xml.elements import SENTINEL, Elements, escaped, quoted
from tracekit.tables.bundle_xml.meanings import Meanings

_ROWS = 1 << 12  # turned into text at a time
_ALL_ONES = {4: ALL_32, 8: ALL_64}
_DECLARATION = '<?xml version="1.0"?>\n<trace-query-result>\n'
_END = "</node></trace-query-result>\n"

# Files that Instruments writes lie below one run and its data: only the table's number differs.
_PLACE = "//trace-toc[1]/run[{run}]/data[1]/table[{index}]"


def inferred(store: Store, meanings: Meanings) -> tuple[str, ...]:
    """Name the columns whose encoding was never compared with an export."""
    if not store.rows:
        return ()
    return tuple(
        column.mnemonic
        for column in store.columns
        if meanings.type(column.type_id).evidence is Evidence.INFERRED
    )


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
    kinds = [meanings.type(one.type_id) for one in store.columns]
    file.writelines(part.encode() for part in _head(store, index, kinds))
    try:
        file.writelines(text.encode() for text in _rows(store, kinds, columns, meanings))
    except DamagedCellError as error:
        raise run.files.damaged(store.bulkstore, str(error)) from error
    file.write(_END.encode())


def _head(store: Store, index: int, kinds: Sequence[EngineeringType]) -> Iterator[str]:
    place = _PLACE.format(run=store.run, index=index)
    yield f"{_DECLARATION}<node xpath='{place}'><schema name=\"{quoted(store.schema)}\">"
    for column, kind in zip(store.columns, kinds, strict=True):
        yield (
            f"<col><mnemonic>{escaped(column.mnemonic)}</mnemonic>"
            f"<name>{escaped(column.title)}</name>"
            f"<engineering-type>{escaped(kind.tag)}</engineering-type></col>"
        )
    yield "</schema>"


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
