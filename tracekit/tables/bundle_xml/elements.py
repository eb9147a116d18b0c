"""Cells as XML elements: each value is written out where it is first met, and referred to later.

Ids count from 1 in the order in which elements begin, over all types and nested values, as in
what `xctrace export` writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

SENTINEL = "<sentinel/>"
MOST_REMEMBERED = 1 << 18

Value = tuple[str, int]
"""A type, and the number that a record or an array holds for a value of it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an element says: its tag, its words and other attributes, its text, what it holds."""

    tag: str
    fmt: str | None = None
    text: str = ""
    children: tuple[Value, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()


MeaningOf = Callable[[str, int], Meaning | Value | None]
"""What a value of a type means: an element, the value of another type, or nothing."""


class Elements:
    """The elements of one file, in the order in which they are asked for."""

    def __init__(self, meaning_of: MeaningOf, most: int = MOST_REMEMBERED) -> None:
        """Take what tells the meaning of a value.

        Args:
            meaning_of: Tells it.
            most: How many distinct values of a type are remembered. One that comes back after so
                many others is written out again, which readers allow for, so that memory is
                bounded however many rows there are.
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
