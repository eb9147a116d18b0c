"""The rival that counts: the best loop over lxml that an export allows.

It parses by blocks and asks for the event of `<row>` alone, so that cells cost no event. It
keeps no tree: what was read is freed block by block. A cell is read by its column, without a
look at its tag; a value is converted once, where it is defined, and a repeat is one look-up.
It trusts the export to be well-formed and to hold one table, and checks nothing.
"""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from lxml import etree

from reading.decoded import (
    Batches,
    Decoded,
    Element,
    Identity,
    frame_table,
    header,
    stack_array,
)
from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import STACK_TYPES

_BLOCK = 1 << 16
Read: TypeAlias = Callable[[Element], Any]


def decode(path: Path) -> Decoded:
    """Read an export, with the search for garbage off: there are no cycles to find."""
    gc.disable()
    try:
        return _decode(path)
    finally:
        gc.enable()


def _decode(path: Path) -> Decoded:
    columns = header(path)
    values = Values()
    known, reads = values.known, [values.reader(column.engineering_type) for column in columns]
    batches = Batches(columns)
    parser = etree.XMLPullParser(events=("end",), tag="row", huge_tree=True)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            parser.feed(block)
            rows: list[Element] = [row for _, row in parser.read_events()]
            batches.add(
                [
                    read(cell) if (ref := cell.get("ref")) is None else known[ref]
                    for cell, read in zip(row, reads, strict=True)
                ]
                for row in rows
            )
            if rows:
                del rows[-1].getparent()[:-1]
    return Decoded(batches.table(), stack_array(values.stacks), frame_table(values.frames))


class Values:
    """Values by the ids of their definitions; a stack and a frame are known by their numbers."""

    def __init__(self) -> None:
        """Begin without values."""
        self.known: dict[str, Any] = {}
        self.stacks: list[list[int]] = []
        self.frames: list[tuple[Any, ...]] = []
        self._readers: dict[str, Read] = {
            "process": self._process,
            "thread": self._thread,
            "frame": self._frame,
            "binary": self._binary,
            **dict.fromkeys(STACK_TYPES, self._stack),
        }

    def reader(self, tag: str) -> Read:
        """Return what reads definitions of that tag; of a sentinel it makes None."""
        if tag not in self._readers:
            forms = {Form.TEXT: self._text, Form.NUMBER: self._decimal}
            self._readers[tag] = forms.get(FORMS.get(tag, Form.TEXT), self._integer)
        return self._readers[tag]

    def _integer(self, cell: Element) -> int | None:
        text = cell.text
        if text is None:
            return None
        value = self.known[cell.get("id")] = int(text)
        return value

    def _decimal(self, cell: Element) -> float | None:
        text = cell.text
        if text is None:
            return None
        value = self.known[cell.get("id")] = float(text)
        return value

    def _text(self, cell: Element) -> str | None:
        key = cell.get("id")
        if key is None:
            return None
        if len(cell):
            self._parts(cell)
            value = cell.get("fmt")
        else:
            value = cell.text or ""
        self.known[key] = value
        return value

    def _parts(self, cell: Element) -> list[Any]:
        known = self.known
        return [
            self.reader(part.tag)(part) if (ref := part.get("ref")) is None else known[ref]
            for part in cell
        ]

    def _process(self, cell: Element) -> Identity | None:
        key = cell.get("id")
        if key is None:
            return None
        value = self.known[key] = Identity(cell.get("fmt"), self._parts(cell)[0])
        return value

    def _thread(self, cell: Element) -> Identity | None:
        key = cell.get("id")
        if key is None:
            return None
        tid, process = self._parts(cell)
        value = self.known[key] = Identity(cell.get("fmt"), process and process.pid, tid)
        return value

    def _stack(self, cell: Element) -> int | None:
        key = cell.get("id")
        if key is None:
            return None
        parts = self._parts(cell)
        if cell[0].tag == "frame":
            number = len(self.stacks)
            self.stacks.append(parts)
        else:
            number = parts[0]
        self.known[key] = number
        return number

    def _frame(self, cell: Element) -> int:
        binary, source, line = (None,) * 5, None, None
        for part in cell:
            if part.tag == "source":
                line, source = int(part.get("line")), self._parts(part)[0]
            else:
                ref = part.get("ref")
                binary = self._binary(part) if ref is None else self.known[ref]
        number = self.known[cell.get("id")] = len(self.frames)
        self.frames.append((cell.get("name"), int(cell.get("addr"), 16), *binary, source, line))
        return number

    def _binary(self, cell: Element) -> tuple[Any, ...]:
        named = cell.get
        value = self.known[named("id")] = (
            named("name"),
            named("UUID"),
            named("arch"),
            int(named("load-addr"), 16),
            named("path"),
        )
        return value
