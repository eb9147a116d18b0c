"""What a cell says: the definitions of an export, and the repeats that point at them.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A definition is known when its own element ends, so that a repeat may point into a compound
that is still open. Within a document a new definition takes the place of an old one.
"""

from typing import NamedTuple

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.values import FORMS, Form

SENTINEL = "sentinel"
_DEEPEST = 64
_IDENTITIES = frozenset({"process", "thread"})


class MalformedError(Exception):
    """The export breaks its own grammar; what was read before stays valid."""


class Identity(NamedTuple):
    """A process or a thread: its readable text and its ids, as text."""

    text: str | None
    pid: str | None = None
    tid: str | None = None


Cell = str | Identity | None
Entry = tuple[str, Cell]


class Definitions:
    """The values that a document has defined so far, by id, with the tags they stand under."""

    def __init__(self) -> None:
        self._known: dict[str, Entry] = {}

    def entries(self, parent: Element, depth: int = 0) -> list[Entry]:
        """Return the tags and values of a row's cells, or of a compound's parts, by position.

        Raises:
            MalformedError: A cell is no value, or repeats one that was not defined.
        """
        known = self._known
        found: list[Entry] = []
        for element in parent:
            ref = element.get("ref")
            if ref is None:
                found.append(self._define(element, depth))
                continue
            entry = known.get(ref)
            if entry is None or entry[0] != element.tag:
                raise _bad_repeat(element.tag, ref, entry)
            found.append(entry)
        return found

    def _define(self, element: Element, depth: int) -> Entry:
        tag, key = element.tag, element.get("id")
        if len(element):
            value = self._compound(element, tag, depth)
        elif tag == SENTINEL:
            value = None
        else:
            value = element.text or _textless(element, tag, nested=depth > 0)
        entry = (tag, value)
        if key is not None:
            self._known[key] = entry
        return entry

    def _compound(self, element: Element, tag: str, depth: int) -> Cell:
        if depth == _DEEPEST:
            raise MalformedError(f"a value is nested more than {_DEEPEST} deep")
        parts = self.entries(element, depth + 1)
        text = element.get("fmt")
        if tag == "process":
            return Identity(text, pid=_text_of(parts, "pid"))
        if tag == "thread":
            owner = next((cell for name, cell in parts if name == "process"), None)
            pid = owner.pid if isinstance(owner, Identity) else None
            return Identity(text, pid=pid, tid=_text_of(parts, "tid"))
        return (_stack(parts) or _name(element)) if text is None else text


def _text_of(parts: list[Entry], tag: str) -> str | None:
    found = next((cell for name, cell in parts if name == tag), None)
    return found if isinstance(found, str) else None


def _stack(parts: list[Entry]) -> str | None:
    """Word a stack as Instruments does; newer exports wrap one backtrace into another."""
    frames = [cell for tag, cell in parts if tag == "frame"]
    if frames:
        return f"{frames[0]} ← ({len(frames) - 1} other frames)"
    inner = (cell for tag, cell in parts if tag.endswith("backtrace"))
    return next((cell for cell in inner if isinstance(cell, str)), None)


def _textless(element: Element, tag: str, *, nested: bool) -> Cell:
    readable = element.get("fmt")
    if not (nested or readable is not None or element.get("id") is not None):
        raise MalformedError(f"a <{tag}> holds no value")
    if tag in _IDENTITIES:
        return Identity(readable)
    return (readable if FORMS.get(tag) is Form.TEXT else None) or _name(element) or ""


def _name(element: Element) -> str | None:
    return element.get("name") or element.get("addr")


def _bad_repeat(tag: str, ref: str, entry: Entry | None) -> MalformedError:
    if entry is None:
        return MalformedError(f'<{tag} ref="{ref}"/> repeats a value that was never defined')
    return MalformedError(f'<{tag} ref="{ref}"/> repeats a value that is a <{entry[0]}>')
