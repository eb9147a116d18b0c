"""The elements of an export: numbered in document order, repeated by reference.

The first time that a value occurs, its element stands in full, with the next free id; every
later time it is `<tag ref="n"/>`, in whatever column or compound. A compound takes its id
before its parts take theirs.
"""

import itertools
from collections.abc import Callable, Hashable
from typing import TypeVar
from xml.sax.saxutils import escape

Value = TypeVar("Value", bound=Hashable)
Inside = tuple[str, str | None]


class Elements:
    """The ids of one export."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def kind(self, tag: str, inside: Callable[[Value], Inside]) -> Callable[[Value], str]:
        """Return what writes elements of that tag.

        Args:
            tag: The engineering type.
            inside: What stands in the element of a value: attributes, each with a blank before
                it, and content; without content the element closes itself.
        """
        known: dict[Value, int] = {}
        ids, defined, repeated = self._ids, f'<{tag} id="', f'<{tag} ref="'

        def write(value: Value) -> str:
            number = known.get(value)
            if number is not None:
                return f'{repeated}{number}"/>'
            number = known[value] = next(ids)
            attributes, content = inside(value)
            if content is None:
                return f'{defined}{number}"{attributes}/>'
            return f'{defined}{number}"{attributes}>{content}</{tag}>'

        return write

    def integers(self, tag: str, wording: Callable[[int], str] = str) -> Callable[[int], str]:
        """Return what writes integers, with `wording` for people."""
        return self.kind(tag, lambda value: (f' fmt="{wording(value)}"', str(value)))

    def texts(self, tag: str) -> Callable[[str], str]:
        """Return what writes texts."""
        return self.kind(tag, lambda text: (f' fmt="{quoted(text)}"', escape(text)))


def quoted(text: str) -> str:
    """Return `text` as it stands in an attribute."""
    return escape(text, {'"': "&quot;"})


def moment(nanoseconds: int) -> str:
    """Word a time as Instruments does: 00:01.420.244."""
    seconds, rest = divmod(nanoseconds, 10**9)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes:02d}:{seconds:02d}.{rest // 10**6:03d}.{rest // 1000 % 1000:03d}"


def span(nanoseconds: int) -> str:
    """Word a duration as Instruments does: 21.46 µs."""
    if nanoseconds < 10**3:
        return f"{nanoseconds} ns"
    if nanoseconds < 10**6:
        return f"{nanoseconds / 10**3:.2f} µs"
    if nanoseconds < 10**9:
        return f"{nanoseconds / 10**6:.2f} ms"
    return f"{nanoseconds / 10**9:.2f} s"


def grouped(number: int) -> str:
    """Word a number with separators: 4,050,234,859."""
    return f"{number:,}"
