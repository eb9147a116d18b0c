"""Rows of one table on their way into pieces: some ten thousand rows at most.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A value is known when its own element ends, so that a repeat may point into a compound that is
still open.
"""

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, compress
from operator import is_, itemgetter, ne

import numpy as np
import pyarrow as pa
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.definitions import Definitions
from tracekit.tables.xml.lookup import (
    ADDRESSES,
    IDENTITIES,
    KINDS,
    NOTHING,
    SENTINEL,
    Gathered,
    Numbers,
)
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Header, Node, alike
from tracekit.tables.xml.source import BadRowError, MalformedError

# The classes of lxml's elements have no public name.


_DEEPEST = 64
# What list(element) does, without asking for its length and each child in turn.
_is_nothing = partial(is_, None)
_children: Callable[[Element], list[Element]] = itemgetter(slice(None))


def gather(rows: Sequence[Element], into: Gathered) -> None:
    """Take rows down.

    Raises:
        BadRowError: One has too few cells, too many, or one that is no value. It is taken
            down in part.
    """
    width, first = len(into.columns), len(into.lines) * len(into.columns)
    children = [_children(row) for row in rows]
    counts = [len(some) for some in children]
    whole = len(rows)
    if counts.count(width) != whole:
        whole = next(place for place, count in enumerate(counts) if count != width)
    cells = list(chain.from_iterable(children[:whole]))
    into.lines += [row.sourceline for row in rows]
    tags = [cell.tag for cell in cells]
    other = map(ne, tags, into.columns * whole)
    into.strange += [(first + place, tags[place]) for place in compress(range(len(tags)), other)]
    into.repeated.append(pa.array([cell.get("ref") for cell in cells], pa.string()))
    _define_cells(into, cells, tags, first)
    if whole < len(rows):
        reason = f"a row has {counts[whole]} cells for {width} columns"
        raise BadRowError(first // width + whole, reason)


def _define_cells(into: Gathered, cells: list[Element], tags: list[str], first: int) -> None:
    ids, texts, own, kinds = into.ids, into.texts, into.own, into.tags
    for place in np.flatnonzero(into.repeated[-1].is_null()).tolist():
        cell, tag = cells[place], tags[place]
        text = cell.text
        if text and tag not in KINDS and tag != SENTINEL and not len(cell):
            own.append(len(texts))
            ids.append(cell.get("id"))
            kinds.append(tag)
            texts.append(text)
            continue
        try:
            own.append(_define(into, cell, tag, 0))
        except MalformedError as error:
            row = (first + place) // len(into.columns)
            raise BadRowError(row, str(error)) from error


def _define(into: Gathered, element: Element, tag: str, depth: int) -> int:
    if tag == "frame":
        return _define_frame(into, element, depth)
    key, link = element.get("id"), NOTHING
    if len(element):
        names, parts = _parts(into, element, depth)
        text = element.get("fmt")
        if text is None and tag not in IDENTITIES:
            text = _name(element)
            _word(into, names, parts)
        if tag in KINDS:
            link = _link(into, element, tag, names, parts)
    elif tag == SENTINEL:
        if key is None:
            return NOTHING
        text = None
    else:
        text = element.text or _textless(element, tag, nested=depth > 0)
        if tag in KINDS and tag not in IDENTITIES:
            link = _link(into, element, tag, [], [])
    return _value(into, key, tag, text, link)


def _define_frame(into: Gathered, frame: Element, depth: int) -> int:
    names, parts = _parts(into, frame, depth)
    name, address = frame.get("name"), frame.get("addr")
    binary, source = _first("binary", names, parts), _first("source", names, parts)
    into.frames.append((name, address, binary, source))
    return _value(into, frame.get("id"), "frame", name or address or "", len(into.frames) - 1)


def _value(into: Gathered, key: str | None, tag: str, text: str | None, link: int) -> int:
    number = len(into.texts)
    if link != NOTHING:
        into.links.append((number, link))
    into.ids.append(key)
    into.tags.append(tag)
    into.texts.append(text)
    return number


def _parts(into: Gathered, compound: Element, depth: int) -> tuple[list[str], list[int]]:
    children = _children(compound)
    if children and depth == _DEEPEST:
        raise MalformedError(f"a value is nested more than {_DEEPEST} deep")
    tags = [child.tag for child in children]
    refs = [child.get("ref") for child in children]
    parts: list[int] = []
    defined = compress(range(len(refs)), map(_is_nothing, refs)) if None in refs else ()
    for place in defined:
        if place > len(parts):
            _repeat(into, refs[len(parts) : place], tags, parts)
        child, tag = children[place], tags[place]
        text = child.text
        if text and tag not in KINDS and tag != SENTINEL and not len(child):
            parts.append(len(into.texts))
            into.ids.append(child.get("id"))
            into.tags.append(tag)
            into.texts.append(text)
        else:
            parts.append(_define(into, child, tag, depth + 1))
    if len(refs) > len(parts):
        _repeat(into, refs[len(parts) :], tags, parts)
    return tags, parts


def _repeat(into: Gathered, refs: list[str | None], tags: list[str], parts: list[int]) -> None:
    first, count = NOTHING - 1 - len(into.repeats), len(refs)
    after, tag = len(into.texts), tags[len(parts)]
    if count == 1 or tags.count(tag) == len(tags):
        into.runs.append((after, count, tag))
    else:
        into.runs += [(after, 1, one) for one in tags[len(parts) : len(parts) + count]]
    into.repeats += refs
    parts += range(first, first - count, -1)


def _link(into: Gathered, element: Element, tag: str, names: list[str], parts: list[int]) -> int:
    if tag in STACK_TYPES:
        return _stack(into, names, parts)
    match tag:
        case "process":
            into.identities.append((_first("pid", names, parts), NOTHING, NOTHING))
            return len(into.identities) - 1
        case "thread":
            process = _first("process", names, parts)
            into.identities.append((NOTHING, _first("tid", names, parts), process))
            return len(into.identities) - 1
        case "binary":
            said = map(element.get, ("name", "UUID", "arch", "load-addr", "path"))
            into.binaries.append(tuple(said))
            return len(into.binaries) - 1
        case "source":
            into.sources.append((element.get("line"), _first("path", names, parts)))
            return len(into.sources) - 1
        case _:
            return NOTHING


def _stack(into: Gathered, names: list[str], parts: list[int]) -> int:
    if depth := names.count("frame"):
        into.frames_of_stacks += parts if depth == len(parts) else _all("frame", names, parts)
        into.depths.append(depth)
        return len(into.depths) - 1
    pairs = zip(names, parts, strict=True)
    if wrapped := [part for name, part in pairs if name in STACK_TYPES]:
        into.wrapped.append((len(into.texts), wrapped[0]))
        return NOTHING
    addresses = _all("text-address", names, parts) + _all("text-addresses", names, parts)
    if not addresses:
        return NOTHING
    into.addresses.append(addresses)
    into.depths.append(ADDRESSES)
    return len(into.depths) - 1


def _word(into: Gathered, names: list[str], parts: list[int]) -> None:
    """Word a stack as Instruments does; newer exports wrap one backtrace into another."""
    if depth := names.count("frame"):
        leaf = [_first("frame", names, parts)]
        into.worded.append((len(into.texts), leaf, f" ← ({depth - 1} other frames)"))
    else:
        pairs = zip(names, parts, strict=True)
        inner = [part for name, part in pairs if name.endswith("backtrace")]
        if inner:
            into.worded.append((len(into.texts), inner, ""))


def _first(tag: str, names: list[str], parts: list[int]) -> int:
    return parts[names.index(tag)] if tag in names else NOTHING


def _all(tag: str, names: list[str], parts: list[int]) -> list[int]:
    return [part for name, part in zip(names, parts, strict=True) if name == tag]


def _textless(element: Element, tag: str, *, nested: bool) -> str | None:
    readable = element.get("fmt")
    if not (nested or readable is not None or element.get("id") is not None):
        raise MalformedError(f"a <{tag}> holds no value")
    if tag in IDENTITIES:
        return readable
    if tag == "text-addresses":
        return ""  # its words, such as "frag 4", are no addresses
    return (readable if FORMS.get(tag) is Form.TEXT else None) or _name(element) or ""


def _name(element: Element) -> str | None:
    return element.get("name") or element.get("addr")


# The classes of lxml's elements have no public name.


_BATCH = 1 << 13
_ROWS, _CELLS = 1 << 12, 1 << 15  # that are looked up at once


@contextmanager
def _no_search_for_garbage() -> Generator[None]:
    """Elements by the thousand would start it again and again, and there are no cycles."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


class NodeBuilder:
    """One table while it is read."""

    def __init__(self, header: Header, xpath: str, number: int, definitions: Definitions) -> None:
        """Begin a table without rows; `number` counts the tables of the file from 1."""
        self.header = header
        self._xpath = xpath
        self._number = number
        self._definitions = definitions
        self._types = [column.engineering_type for column in header.columns]
        self._columns = [_ColumnBuilder(column, definitions) for column in header.columns]
        self._gathered = Gathered(self._types)
        self._rows = 0
        self._begun = False

    def add(self, rows: Sequence[Element]) -> Iterator[Node]:
        """Take rows, and yield a piece when there are enough of them.

        Raises:
            MalformedError: A row breaks the grammar; those before it were taken.
        """
        gathered = self._gathered
        try:
            with _no_search_for_garbage():
                gather(rows, gathered)
        except BadRowError as error:
            line = gathered.lines[error.row]
            gathered.cut(error.row)
            yield from self._settle()
            raise MalformedError(f"{error}, line {line}") from error
        count = len(gathered.lines)
        if count >= _ROWS or count * len(self._types) >= _CELLS:
            yield from self._settle()

    def rest(self) -> Iterator[Node]:
        """Yield the rows that are in no piece yet; a table without rows is one piece too.

        Raises:
            MalformedError: A row breaks the grammar; call it again for those before it.
        """
        yield from self._settle()
        if self._rows or not self._begun:
            yield self._piece()

    def _settle(self) -> Iterator[Node]:
        gathered, self._gathered = self._gathered, Gathered(self._types)
        try:
            self._take(gathered)
        except BadRowError as error:
            line = gathered.lines[error.row]
            gathered.cut(error.row)
            self._take(gathered)
            raise MalformedError(f"{error}, line {line}") from error
        if self._rows >= _BATCH:
            yield self._piece()

    def _take(self, gathered: Gathered) -> None:
        if not (rows := len(gathered.lines)):
            return
        by_column = self._definitions.read(gathered).reshape(rows, -1).T
        texts = self._definitions.cells(by_column.ravel())
        together = not pa.types.is_dictionary(texts.type)
        for place, (column, numbers) in enumerate(zip(self._columns, by_column, strict=True)):
            own = texts.slice(place * rows, rows) if together else self._definitions.cells(numbers)
            column.add(own, numbers)
        width = len(self._columns)
        for cell, tag in gathered.strange:
            self._columns[cell % width].foreign.add(tag)
        self._rows += rows

    def _piece(self) -> Node:
        columns = tuple(column.build() for column in self._columns)
        rows, self._rows, self._begun = self._rows, 0, True
        return Node(self.header.schema, self._xpath, columns, rows, number=self._number)


class _ColumnBuilder:
    def __init__(self, column: ExportColumn, definitions: Definitions) -> None:
        self.foreign: set[str] = set()
        self._column = column
        self._texts: list[pa.Array] = []
        self._beside = _beside(column.engineering_type, definitions)
        self._numbers: dict[str, list[pa.Array]] = {name: [] for name in self._beside}

    def add(self, texts: pa.Array, values: Numbers) -> None:
        self._texts.append(texts)
        for name, (read, _) in self._beside.items():
            self._numbers[name].append(read(values))

    def build(self) -> ColumnCells:
        cells = ColumnCells(
            column=self._column,
            cells=alike(self._texts),
            foreign=frozenset(self.foreign - {SENTINEL}),
            **{
                name: pa.chunked_array(self._numbers[name], kind)
                for name, (_, kind) in self._beside.items()
            },
        )
        self._texts.clear()
        self.foreign.clear()
        for chunks in self._numbers.values():
            chunks.clear()
        return cells


def _beside(
    engineering_type: str, definitions: Definitions
) -> dict[str, tuple[Callable[[Numbers], pa.Array], pa.DataType]]:
    """Return what stands beside a column of that type, and how it is read."""
    if engineering_type in STACK_TYPES:
        return {"stacks": (definitions.stacks, pa.int64())}
    if engineering_type not in IDENTITIES:
        return {}
    beside = {"pids": (definitions.pids, pa.string())}
    if engineering_type == "thread":
        beside["tids"] = (definitions.tids, pa.string())
    return beside
