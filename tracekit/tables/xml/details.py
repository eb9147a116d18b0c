"""The reader of a track's details, such as the list of allocations.

Instruments names the attributes of a track's details after columns that people see, such as
`resident-%`, which no name of XML may be. The percent sign of a `-%="` is written, on its way to
the parser, as a code point that is no character, and written back in names and values.

Such an export has no header: the values of a row are its attributes, and no row needs to have
them all. A row may hold a stack as well. So a detail is one piece, whose columns are known at its
end. The table is called by its place: "track[1]/detail[2]".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.drift import DamagedExportError
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.values import texts_of
from tracekit.tables.xml.definitions import NULL, Definitions, Value
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols
from tracekit.tables.xml.source import MalformedError, batches, head, node_of, whole_tags

_PERCENT = "\U000dffff"  # XML allows it in names; Unicode will never assign it


def repair_tags(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with names in the tags of its rows that XML allows."""
    return (text.replace(b'-%="', f'-{_PERCENT}="'.encode()) for text in whole_tags(blocks))


def original(text: str) -> str:
    """Return a name or a value as the file has it."""
    return text.replace(_PERCENT, "%")


_MOST_DETAILS = 10_000
_MOST_COLUMNS = 1000
_WORD = "attribute"
_NAMELESS = "details"
_T = TypeVar("_T")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_FIRST = re.compile(rb"<(?:schema\b|row\b(\s+[^\s=\"'<>/])?)")
_OF_DETAIL = re.compile(rb"<node\b[^<>]*/detail\[")
_PLACE = re.compile(r"/(track\[\d+\])/details(?:\[1\])?/(detail\[\d+\])")


def detail_name(xpath: str) -> str:
    """Return what the table of a detail is called, by the xpath above it; "" for other tables."""
    place = _PLACE.search(xpath)
    if place:
        return "/".join(place.groups())
    return ""


def holds_details(path: Path) -> bool:
    """Tell by its beginning whether an export holds a track's details."""
    beginning = _COMMENT.sub(b"", head(path))
    first_match = _FIRST.search(beginning)
    preamble = beginning[: first_match.start()] if first_match else beginning
    return _OF_DETAIL.search(preamble) is not None or bool(first_match and first_match[1])


class DetailReader:
    """A reader of track details; of damaged ones the rows before the damage."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._definitions = Definitions()

    def pieces(self) -> Iterator[Node]:
        """Yield the details of the file; raise InputError if it is damaged before its first row."""
        detail: _OpenDetail | None = None
        node: Element | None = None
        damage = ""
        try:
            for element in chain.from_iterable(batches(self._path, repair_tags)):
                owner = node_of(element)
                if owner is not None and owner is not node:
                    number = 1 if detail is None else detail.number + 1
                    coming = _OpenDetail(number, owner.get("xpath", ""), self._definitions)
                    if detail is not None:
                        yield detail.table()
                    node = owner
                    detail = coming
                if detail is not None and owner is not None and element is not owner:
                    detail.add(element)
        except MalformedError as error:
            damage = str(error).rstrip(".")
            if detail is None:
                raise DamagedExportError(
                    f"{self._path} is damaged before its first row: {damage}.",
                    hint="Export it again.",
                ) from error
        if detail is not None:
            yield detail.table(damage)

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return self._definitions.stacks.symbols()


class _OpenDetail:
    """One detail while it is read: a list for each column, with None where a row lacks it."""

    def __init__(self, number: int, xpath: str, definitions: Definitions) -> None:
        if number > _MOST_DETAILS:
            raise MalformedError(f"there are more than {_MOST_DETAILS} details")
        self.number = number
        self._xpath = xpath
        self._definitions = definitions
        self._rows = 0
        self._texts: dict[str, list[str | None]] = {}
        self._stacks: dict[str, list[Value]] = {}
        self._others: dict[str, None] = {}

    def add(self, row: Element) -> None:
        """Take a row; raise MalformedError if it breaks the grammar, and take no value of it."""
        if row.tag != "row":
            raise MalformedError(f"a <{row.tag}> stands where none belongs among details")
        cells = {original(str(name)): original(str(text)) for name, text in row.items()}
        if len({**self._texts, **cells}) > _MOST_COLUMNS:
            raise MalformedError(f"there are more than {_MOST_COLUMNS} columns")
        stack_elements: dict[str, Element] = {}
        for child in row:
            if child.tag in STACK_TYPES:
                stack_elements.setdefault(str(child.tag), child)
            else:
                self._others[str(child.tag)] = None
        tags = [tag for tag in {**self._stacks, **stack_elements} if tag in stack_elements]
        values = self._definitions.values(row, [stack_elements[tag] for tag in tags], tags)
        _extend(self._texts, cells, self._rows, None)
        _extend(self._stacks, dict(zip(tags, values, strict=True)), self._rows, NULL)
        self._rows += 1

    def table(self, damage: str = "") -> Node:
        """Return the detail as far as it was read."""
        attributes = [
            ColumnCells(ExportColumn(name, name, _WORD), texts_of(texts))
            for name, texts in self._texts.items()
        ]
        stacks = [
            ColumnCells(
                ExportColumn(tag, tag, tag),
                texts_of([text for _, text, _ in values]),
                stacks=pa.chunked_array([[link for _, _, link in values]], pa.int64()),
            )
            for tag, values in self._stacks.items()
        ]
        strange = [name for name in self._texts if "%" in name]
        kinds = {
            "attributes whose names XML does not allow are read all the same": strange,
            "elements that tracekit does not know are left out": self._others,
        }
        schema = detail_name(self._xpath) or _NAMELESS
        return Node(
            schema=schema,
            xpath=self._xpath,
            columns=(*attributes, *stacks),
            rows=self._rows,
            damage=damage,
            number=self.number,
            losses=tuple(
                Loss(Flaw.UNKNOWN, f"{words}: {', '.join(all_)}", schema=schema)
                for words, all_ in kinds.items()
                if all_
            ),
        )


def _extend(columns: dict[str, list[_T]], cells: Mapping[str, _T], rows: int, missing: _T) -> None:
    """Add the cells of a row to columns, which have so many rows."""
    for name in cells:
        columns.setdefault(name, [missing] * rows)
    for name, column in columns.items():
        column.append(cells.get(name, missing))
