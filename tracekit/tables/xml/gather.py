"""What rows say, taken down as lists; what they repeat is looked up afterwards, all at once.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A value is known when its own element ends, so that a repeat may point into a compound that is
still open. Values get numbers in that order.

A part of a compound is the number of its value, or where it is a repeat -2 - k for the k-th
repeat within compounds, or -1 for null.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.malformed import BadRowError, MalformedError
from tracekit.tables.xml.symbols import STACK_TYPES

SENTINEL = "sentinel"
IDENTITIES = ("process", "thread")
NOTHING = -1
ADDRESSES = -1
_DEEPEST = 64
_SPECIAL = frozenset({SENTINEL, *IDENTITIES, *STACK_TYPES, "frame", "binary", "source"})


class Gathered:
    """The values, cells and repeats of some rows, in the order of the document."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Take the tags that the columns declare."""
        self.columns = list(columns)
        self.cells = pa.nulls(0, pa.string())  # by row and column, null where they repeat nothing
        self.own: list[int] = []  # the values of those that are none
        self.strange: list[tuple[int, str]] = []  # cells under another tag than declared
        self.ids: list[str | None] = []
        self.tags: list[str] = []
        self.texts: list[str | None] = []
        self.links: list[tuple[int, int]] = []  # a value, its number among those of its kind
        self.repeats: list[str | None] = []  # those within compounds
        self.repeat_tags: list[str] = []
        self.repeats_after: list[tuple[int, int]] = []  # values that had ended before so many
        self.identities: list[tuple[int, int, int]] = []  # pid, tid, process
        self.binaries: list[tuple[str | None, ...]] = []
        self.sources: list[tuple[str | None, int]] = []  # line, path
        self.frames: list[tuple[str | None, str | None, int, int]] = []  # … binary, source
        self.frames_of_stacks: list[int] = []
        self.depths: list[int] = []  # of stacks; ADDRESSES where it is such
        self.addresses: list[list[int]] = []  # the program counter first
        self.wrapped: list[tuple[int, int]] = []  # a stack, the one that it is
        self.worded: list[tuple[int, list[int], str]] = []  # a text that follows from parts

    def add(self, rows: Sequence[Element]) -> None:
        """Take rows down.

        Raises:
            BadRowError: One has too few cells, too many, or one that is no value.
        """
        width = len(self.columns)
        cells: list[Element] = []
        for number, row in enumerate(rows):
            if len(row) != width:
                raise BadRowError(number, f"a row has {len(row)} cells for {width} columns")
            cells += row
        tags = [cell.tag for cell in cells]
        declared = self.columns * len(rows)
        if tags != declared:
            pairs = enumerate(zip(tags, declared, strict=True))
            self.strange = [(place, tag) for place, (tag, right) in pairs if tag != right]
        self.cells = pa.array([cell.get("ref") for cell in cells], pa.string())
        self._define_cells(cells, tags)

    def _define_cells(self, cells: list[Element], tags: list[str]) -> None:
        ids, texts, own, kinds = self.ids, self.texts, self.own, self.tags
        for place in np.flatnonzero(self.cells.is_null()).tolist():
            cell, tag = cells[place], tags[place]
            text = cell.text
            if text and tag not in _SPECIAL and not len(cell):
                own.append(len(texts))
                ids.append(cell.get("id"))
                kinds.append(tag)
                texts.append(text)
                continue
            try:
                own.append(self._define(cell, tag, 0))
            except MalformedError as error:
                raise BadRowError(place // len(self.columns), str(error)) from error

    def _define(self, element: Element, tag: str, depth: int) -> int:
        if tag == "frame":
            return self._define_frame(element, depth)
        key, link = element.get("id"), NOTHING
        if len(element):
            names, parts = self._parts(element, depth)
            text = element.get("fmt")
            if text is None and tag not in IDENTITIES:
                text = _name(element)
                self._word(names, parts)
            link = self._link(element, tag, names, parts)
        elif tag == SENTINEL:
            if key is None:
                return NOTHING
            text = None
        else:
            text = element.text or _textless(element, tag, nested=depth > 0)
            if tag in _SPECIAL and tag not in IDENTITIES:
                link = self._link(element, tag, [], [])
        return self._value(key, tag, text, link)

    def _define_frame(self, frame: Element, depth: int) -> int:
        names, parts = self._parts(frame, depth)
        name, address = frame.get("name"), frame.get("addr")
        binary, source = _first("binary", names, parts), _first("source", names, parts)
        self.frames.append((name, address, binary, source))
        return self._value(frame.get("id"), "frame", name or address or "", len(self.frames) - 1)

    def _value(self, key: str | None, tag: str, text: str | None, link: int) -> int:
        number = len(self.texts)
        if link != NOTHING:
            self.links.append((number, link))
        self.ids.append(key)
        self.tags.append(tag)
        self.texts.append(text)
        return number

    def _parts(self, compound: Element, depth: int) -> tuple[list[str], list[int]]:
        children = list(compound)
        if children and depth == _DEEPEST:
            raise MalformedError(f"a value is nested more than {_DEEPEST} deep")
        tags = [child.tag for child in children]
        refs = [child.get("ref") for child in children]
        parts: list[int] = []
        for place in [place for place, ref in enumerate(refs) if ref is None]:
            self._repeat(refs[len(parts) : place], tags, parts)
            parts.append(self._define(children[place], tags[place], depth + 1))
        self._repeat(refs[len(parts) :], tags, parts)
        return tags, parts

    def _repeat(self, refs: list[str | None], tags: list[str], parts: list[int]) -> None:
        if count := len(refs):
            first = NOTHING - 1 - len(self.repeats)
            self.repeats += refs
            self.repeat_tags += tags[len(parts) : len(parts) + count]
            self.repeats_after.append((len(self.texts), count))
            parts += range(first, first - count, -1)

    def _link(self, element: Element, tag: str, names: list[str], parts: list[int]) -> int:
        if tag in STACK_TYPES:
            return self._stack(names, parts)
        match tag:
            case "process":
                self.identities.append((_first("pid", names, parts), NOTHING, NOTHING))
                return len(self.identities) - 1
            case "thread":
                process = _first("process", names, parts)
                self.identities.append((NOTHING, _first("tid", names, parts), process))
                return len(self.identities) - 1
            case "binary":
                said = map(element.get, ("name", "UUID", "arch", "load-addr", "path"))
                self.binaries.append(tuple(said))
                return len(self.binaries) - 1
            case "source":
                self.sources.append((element.get("line"), _first("path", names, parts)))
                return len(self.sources) - 1
            case _:
                return NOTHING

    def _stack(self, names: list[str], parts: list[int]) -> int:
        if depth := names.count("frame"):
            self.frames_of_stacks += parts if depth == len(parts) else _all("frame", names, parts)
            self.depths.append(depth)
            return len(self.depths) - 1
        pairs = zip(names, parts, strict=True)
        if wrapped := [part for name, part in pairs if name in STACK_TYPES]:
            self.wrapped.append((len(self.texts), wrapped[0]))
            return NOTHING
        addresses = _all("text-address", names, parts) + _all("text-addresses", names, parts)
        if not addresses:
            return NOTHING
        self.addresses.append(addresses)
        self.depths.append(ADDRESSES)
        return len(self.depths) - 1

    def _word(self, names: list[str], parts: list[int]) -> None:
        """Word a stack as Instruments does; newer exports wrap one backtrace into another."""
        if depth := names.count("frame"):
            leaf = [_first("frame", names, parts)]
            self.worded.append((len(self.texts), leaf, f" ← ({depth - 1} other frames)"))
        else:
            pairs = zip(names, parts, strict=True)
            inner = [part for name, part in pairs if name.endswith("backtrace")]
            if inner:
                self.worded.append((len(self.texts), inner, ""))


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
    return (readable if FORMS.get(tag) is Form.TEXT else None) or _name(element) or ""


def _name(element: Element) -> str | None:
    return element.get("name") or element.get("addr")
