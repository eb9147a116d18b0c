"""What a document defines: its values by their ids, and stacks in all shapes.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A value is known when its own element ends, so that a repeat may point into a compound that is
still open.

A stack that only wraps another is that stack. A stack of addresses has the program counter in
front, as Instruments has it, and ends before the zeros that close it; its frames have an
address and no name, and are numbered after all frames that do.
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
"""A value's tag, its text, and what else it holds.

That is the pid and the tid of a process or a thread, the number of a stack or of a frame, the
attributes of a binary, the line and the path of a source; None of all others.
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
# What list(element) does, without asking for its length and each child in turn.
children: Callable[[Element], list[Element]] = itemgetter(slice(None))


def _hexadecimal(text: str | None) -> int | None:
    if text is not None and _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    return None


def _decimal(text: str) -> int | None:
    number = int(text) if _DECIMAL.fullmatch(text) else _MOST
    if number < _MOST:
        return number
    return None


class Definitions:
    """The values of a document, by their ids."""

    def __init__(self) -> None:
        self.stacks = SymbolTable()
        self._known: dict[str, Value] = {}

    def values(self, row: Element, cells: list[Element], tags: list[str]) -> list[Value]:
        """Return the values of some cells of a row, whose tags these are."""
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
                wrong = next(k for k, value in enumerate(values) if value[0] != tags[k])
                raise _no_repeat(cells[wrong].get("ref"), tags[wrong], values[wrong])
        except MalformedError as error:
            self.stacks.truncate(sizes)
            raise MalformedError(f"{error}, line {row.sourceline}") from error
        return values

    def _define(self, element: Element, tag: str, depth: int) -> Value:
        text = element.text
        if not text or tag in _SPECIAL or len(element):
            return self._define_special(element, tag, depth)
        value = (tag, text, None)
        if (key := element.get("id")) is not None:
            self._known[key] = value
        return value

    def _define_special(self, element: Element, tag: str, depth: int) -> Value:
        """Define what is more than a text, or less."""
        key = element.get("id")
        link = None
        if tag == "frame":
            parts = self._parts(element, depth)
            name = element.get("name")
            address = element.get("addr")
            binary = _find_part("binary", parts)
            source = _find_part("source", parts)
            of_binary = binary[2] if binary else _NO_BINARY
            line, path = source[2] if source else _NO_SOURCE
            cells = (name, _hexadecimal(address), *of_binary, path, line)
            text = name or address or ""
            link = self.stacks.add_frame(*cells)
        elif len(element):
            parts = self._parts(element, depth)
            text = element.get("fmt")
            if text is None and tag not in IDENTITIES:
                text = _describe_stack(parts) or _name(element)
            link = self._link(element, tag, parts)
        elif tag == SENTINEL:
            if key is None:
                return NULL
            text = None
        else:
            text = element.text or _textless(element, tag, nested=depth > 0)
            if tag not in IDENTITIES:
                link = self._link(element, tag, [])
        value = (tag, text, link)
        if key is not None:
            self._known[key] = value
        return value

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
                owner = _find_part("process", parts)
                pid = owner[2][0] if owner and owner[2] else None
                return pid, _text(_find_part("tid", parts))
            case "binary":
                name, uuid, arch = map(element.get, ("name", "UUID", "arch"))
                return name, uuid, arch, _hexadecimal(element.get("load-addr")), element.get("path")
            case "source":
                line = element.get("line")
                number = int(line) if line is not None and _LINE.fullmatch(line) else None
                return number, _text(_find_part("path", parts))
            case _:
                return None

    def _stack(self, parts: list[Value]) -> int | None:
        if frames := [part[2] for part in parts if part[0] == "frame"]:
            return self.stacks.add(frames)
        if wrapped := [part[2] for part in parts if part[0] in STACK_TYPES]:
            return wrapped[0]
        # The program counter, which is a single address, comes first.
        texts = [
            part[1] or ""
            for tag in ("text-address", "text-addresses")
            for part in parts
            if part[0] == tag
        ]
        if not texts:
            return None
        words = (word for text in texts for word in text.split())
        return self.stacks.add(self.stacks.number_addresses(map(_decimal, words)))


def _no_repeat(ref: str | None, tag: str, value: Value) -> MalformedError:
    is_one = f"is a <{value[0]}>" if value is not _UNDEFINED else "was never defined"
    return MalformedError(f'<{tag} ref="{ref}"/> repeats a value that {is_one}')


def _find_part(tag: str, parts: list[Value]) -> Value | None:
    return next((part for part in parts if part[0] == tag), None)


def _text(value: Value | None) -> str | None:
    if value:
        return value[1]
    return None


def _describe_stack(parts: list[Value]) -> str:
    """Word a stack as Instruments does; newer exports wrap one backtrace into another."""
    if frames := [part for part in parts if part[0] == "frame"]:
        return f"{frames[0][1]} ← ({len(frames) - 1} other frames)"
    inner = (part[1] for part in parts if part[0].endswith("backtrace"))
    return next((text for text in inner if text is not None), "")


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
