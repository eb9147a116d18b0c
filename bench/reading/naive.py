"""The loops that most scripts have: every element kept, every repeat looked up and read again."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

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

_CONVERSIONS: dict[Form, Callable[[str], Any]] = {
    Form.TEXT: str,
    Form.NUMBER: float,
    Form.INTEGER: int,
    Form.UNSIGNED: int,
    Form.FLAG: int,
}


def decode_with_lxml(path: Path) -> Decoded:
    """Read an export with `lxml.etree.iterparse`."""
    return _decode(path, etree.iterparse(path, huge_tree=True))


def decode_with_element_tree(path: Path) -> Decoded:
    """Read an export with `xml.etree.ElementTree.iterparse`."""
    return _decode(path, ET.iterparse(path))  # noqa: S314  # the naive way is the subject


def _decode(path: Path, events: Iterable[tuple[str, Element]]) -> Decoded:
    document = _Document()
    batches = Batches(header(path))
    for _, element in events:
        key = element.get("id")
        if key is not None:
            document.known[key] = element
        if element.tag == "row":
            batches.add([[document.value(cell) for cell in element]])
    stacks = stack_array(list(document.stacks.values()))
    return Decoded(batches.table(), stacks, frame_table(list(document.frames.values())))


class _Document:
    def __init__(self) -> None:
        self.known: dict[str, Element] = {}
        self.stacks: dict[str, list[int]] = {}
        self.frames: dict[str, tuple[Any, ...]] = {}
        self._numbers: dict[str, int] = {}

    def value(self, cell: Element) -> Any:
        found = self._resolved(cell)
        match found.tag:
            case "sentinel":
                return None
            case "process":
                return Identity(found.get("fmt"), self.value(found[0]))
            case "thread":
                process = self.value(found[1])
                return Identity(found.get("fmt"), process and process.pid, self.value(found[0]))
            case tag if tag in STACK_TYPES:
                return self._stack(found)
            case _ if len(found):
                return found.get("fmt")
            case tag:
                return _CONVERSIONS[FORMS.get(tag, Form.TEXT)](found.text or "")

    def _resolved(self, element: Element) -> Element:
        ref = element.get("ref")
        return element if ref is None else self.known[ref]

    def _stack(self, stack: Element) -> int:
        children = [self._resolved(child) for child in stack]
        if children[0].tag in STACK_TYPES:
            return self._stack(children[0])
        key = stack.get("id")
        if key not in self.stacks:
            self._numbers[key] = len(self.stacks)
            self.stacks[key] = [self._frame(frame) for frame in children]
        return self._numbers[key]

    def _frame(self, frame: Element) -> int:
        key = frame.get("id")
        if key not in self.frames:
            self._numbers[key] = len(self.frames)
            self.frames[key] = self._words(frame)
        return self._numbers[key]

    def _words(self, frame: Element) -> tuple[Any, ...]:
        image, source, line = (None,) * 5, None, None
        for child in map(self._resolved, frame):
            if child.tag == "source":
                line, source = int(child.get("line")), self._resolved(child[0]).text
            else:
                name, uuid, arch, loaded, path = (
                    child.get(one) for one in ("name", "UUID", "arch", "load-addr", "path")
                )
                image = (name, uuid, arch, int(loaded, 16), path)
        return (frame.get("name"), int(frame.get("addr"), 16), *image, source, line)
