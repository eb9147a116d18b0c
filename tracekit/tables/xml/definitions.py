"""The definitions of a document: its values by their ids, and stacks in all shapes.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A value is defined when its own element ends, so that a repeat may point into a compound that is
still open.

A stack that only wraps another is that stack. A stack of addresses starts with the program counter,
as in Instruments, and ends before the zeros that close it; its frames have an address and no name,
and are numbered after all frames with a name.
"""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import STACK_TYPES, SymbolTable
from tracekit.tables.xml.source import MalformedError

SENTINEL = "sentinel"
IDENTITIES = frozenset({"process", "thread"})
Value: TypeAlias = tuple[str, str | None, Any]
"""The tag of a value, its text, and its further content.

That is the pid and the tid of a process or a thread, the number of a stack or of a frame, the
attributes of a binary, the line and the path of a source; None for all others.
"""
NULL: Value = (SENTINEL, None, None)
_UNDEFINED: Value = ("", None, None)
_LINKED = STACK_TYPES | IDENTITIES | {"frame", "binary", "source"}
_SPECIAL = _LINKED | {SENTINEL}
_DEEPEST = 64
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,20}")
_LINE = re.compile(r"[0-9]{1,18}")
_MOST = 1 << 64
_NO_BINARY = (None,) * 5
_NO_SOURCE = (None, None)
# The result of list(element), without a call for its length and for each child.
children: Callable[[Element], list[Element]] = itemgetter(slice(None))


def _hexadecimal(text: str | None) -> int | None:
    if text is not None and _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    return None


def _decimal(text: str) -> int | None:
    if _DECIMAL.fullmatch(text) is None:
        return None
    number = int(text)
    if number < _MOST:
        return number
    return None


class Definitions:
    """The values of a document, by their ids."""

    def __init__(self) -> None:
        self.stacks = SymbolTable()
        self._known: dict[str, Value] = {}

    def values(self, row: Element, cells: list[Element], tags: list[str]) -> list[Value]:
        """Return the values of some cells of a row, with these tags."""
        look_up = self._known.get
        define = self._define
        sizes = self.stacks.sizes()
        try:
            values = [
                define(cell, tag, 0)
                if (ref := cell.get("ref")) is None
                else look_up(ref, _UNDEFINED)
                for cell, tag in zip(cells, tags, strict=True)
            ]
            if [value[0] for value in values] != tags:
                raise _find_wrong_repeat(cells, tags, values)
        except MalformedError as error:
            self.stacks.truncate(sizes)
            raise MalformedError(f"{error}, line {row.sourceline}") from error
        return values

    def _define(self, element: Element, tag: str, depth: int) -> Value:
        text = element.text
        if not text or tag in _SPECIAL or len(element):
            return self._define_special(element, tag, depth)
        value = (tag, text, None)
        key = element.get("id")
        if key is not None:
            self._known[key] = value
        return value

    def _define_special(self, element: Element, tag: str, depth: int) -> Value:
        """Define a value that is not just a text."""
        key = element.get("id")
        text: str | None = None
        link: object = None
        if tag == "frame":
            text, link = self._define_frame(element, depth)
        elif len(element):
            parts = self._parts(element, depth)
            text = element.get("fmt")
            if text is None and tag not in IDENTITIES:
                text = _describe_stack(parts) or _name(element)
            link = self._link(element, tag, parts)
        elif tag == SENTINEL:
            if key is None:
                return NULL
        else:
            text = element.text or _textless(element, tag, nested=depth > 0)
            if tag not in IDENTITIES:
                link = self._link(element, tag, [])
        value = (tag, text, link)
        if key is not None:
            self._known[key] = value
        return value

    def _define_frame(self, element: Element, depth: int) -> tuple[str, int]:
        """Return the text of a frame, and its number."""
        parts = self._parts(element, depth)
        name = element.get("name")
        address = element.get("addr")
        binary = _find_part("binary", parts)
        source = _find_part("source", parts)
        binary_cells = binary[2] if binary else _NO_BINARY
        line, path = source[2] if source else _NO_SOURCE
        number = self.stacks.add_frame(name, _hexadecimal(address), *binary_cells, path, line)
        return name or address or "", number

    def _parts(self, compound: Element, depth: int) -> list[Value]:
        child_elements = children(compound)
        if child_elements and depth == _DEEPEST:
            raise MalformedError(f"a value is nested more than {_DEEPEST} deep")
        parts: list[Value] = []
        for child in child_elements:
            tag = child.tag
            ref = child.get("ref")
            if ref is None:
                parts.append(self._define(child, tag, depth + 1))
                continue
            value = self._known.get(ref, _UNDEFINED)
            if value[0] != tag:
                raise _no_repeat(ref, tag, value)
            parts.append(value)
        return parts

    def _link(self, element: Element, tag: str, parts: list[Value]) -> object:
        if tag in STACK_TYPES:
            return self._stack(parts)
        match tag:
            case "process":
                return _text(_find_part("pid", parts)), None
            case "thread":
                pid: str | None = None
                owner = _find_part("process", parts)
                if owner and owner[2]:
                    pid, _ = owner[2]
                return pid, _text(_find_part("tid", parts))
            case "binary":
                return (
                    element.get("name"),
                    element.get("UUID"),
                    element.get("arch"),
                    _hexadecimal(element.get("load-addr")),
                    element.get("path"),
                )
            case "source":
                number: int | None = None
                line = element.get("line")
                if line is not None and _LINE.fullmatch(line):
                    number = int(line)
                return number, _text(_find_part("path", parts))
            case _:
                return None

    def _stack(self, parts: list[Value]) -> int | None:
        frames = [link for tag, _, link in parts if tag == "frame"]
        if frames:
            return self.stacks.add(frames)
        for tag, _, link in parts:
            if tag in STACK_TYPES:
                return link
        # The program counter, which is a single address, comes first.
        counters = [text or "" for tag, text, _ in parts if tag == "text-address"]
        others = [text or "" for tag, text, _ in parts if tag == "text-addresses"]
        if not counters and not others:
            return None
        words = " ".join([*counters, *others]).split()
        return self.stacks.add(self.stacks.number_addresses(map(_decimal, words)))


def _find_wrong_repeat(
    cells: list[Element], tags: list[str], values: list[Value]
) -> MalformedError:
    """Return the error of the first cell that repeats a value of another tag."""
    for cell, tag, value in zip(cells, tags, values, strict=True):
        if value[0] != tag:
            return _no_repeat(cell.get("ref"), tag, value)
    raise AssertionError("no cell is wrong")


def _no_repeat(ref: str | None, tag: str, value: Value) -> MalformedError:
    reason = "was never defined" if value is _UNDEFINED else f"is a <{value[0]}>"
    return MalformedError(f'<{tag} ref="{ref}"/> repeats a value that {reason}')


def _find_part(tag: str, parts: list[Value]) -> Value | None:
    for part in parts:
        if part[0] == tag:
            return part
    return None


def _text(value: Value | None) -> str | None:
    if value:
        return value[1]
    return None


def _describe_stack(parts: list[Value]) -> str:
    """Return the text of a stack as in Instruments; newer exports nest backtraces."""
    frame_texts = [text for tag, text, _ in parts if tag == "frame"]
    if frame_texts:
        return f"{frame_texts[0]} ← ({len(frame_texts) - 1} other frames)"
    for tag, text, _ in parts:
        if tag.endswith("backtrace") and text is not None:
            return text
    return ""


def _textless(element: Element, tag: str, *, nested: bool) -> str | None:
    readable = element.get("fmt")
    if not (nested or readable is not None or element.get("id") is not None):
        raise MalformedError(f"a <{tag}> holds no value")
    if tag in IDENTITIES:
        return readable
    if tag == "text-addresses":
        return ""  # its words, such as "frag 4", are not addresses
    if readable and FORMS.get(tag) is Form.TEXT:
        return readable
    return _name(element) or ""


def _name(element: Element) -> str | None:
    return element.get("name") or element.get("addr")
