"""Where in a TOML file each key stands: tomllib says what a file holds, but not where.

Only documents that tomllib has accepted are walked, so that nothing is judged here.
"""

import re
import tomllib
from collections.abc import Mapping

Route = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?!")'
    r"|'''.*?'''(?!')"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


class Places:
    """The line and column of each key of a document, and of each element of its arrays."""

    def __init__(self, text: str, offsets: Mapping[Route, int]) -> None:
        self._text = text
        self._offsets = offsets

    @property
    def paths(self) -> frozenset[Route]:
        """All keys and elements that have a place."""
        return frozenset(self._offsets)

    def of(self, path: Route) -> tuple[int, int]:
        """Return line and column, from 1; of what is not written those of what would hold it."""
        while path and path not in self._offsets:
            path = path[:-1]
        offset = self._offsets.get(path, 0)
        before = self._text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def places(text: str) -> Places:
    """Find where the keys of a document stand that tomllib has accepted."""
    text = text.replace("\r\n", "\n")
    try:
        return Places(text, _Walk(text).document())
    except RecursionError:
        return Places(text, {})


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Route, int] = {}
        self.lengths: dict[Route, int] = {}  # of arrays of tables

    def document(self) -> dict[Route, int]:
        table: Route = ()
        self.skip()
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.skip()
        return self.found

    def header(self) -> Route:
        begun, several = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        *parents, (last, offset) = self.key()
        self.at += 2 if several else 1
        path: Route = ()
        for name, where in parents:
            path = self.within(path, name, where)
        if not several:
            return self.within(path, last, offset)
        path = (*path, last)
        self.found.setdefault(path, offset)
        number = self.lengths.get(path, 0)
        self.lengths[path] = number + 1
        self.found[*path, number] = begun
        return (*path, number)

    def within(self, table: Route, name: str, offset: int) -> Route:
        """Return the table `name` of a table; of an array of tables its last."""
        path = (*table, name)
        self.found.setdefault(path, offset)
        length = self.lengths.get(path)
        return path if length is None else (*path, length - 1)

    def pair(self, table: Route) -> None:
        path = table
        for name, offset in self.key():
            path = (*path, name)
            self.found.setdefault(path, offset)
        self.at += 1  # the equals sign
        self.value(path)

    def key(self) -> list[tuple[str, int]]:
        """Read a key up to what follows it; each part with where it stands."""
        parts: list[tuple[str, int]] = []
        while True:
            self.skip()
            written = self.take(_KEY)
            parts.append((_name(written), self.at - len(written)))
            self.skip()
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def value(self, path: Route) -> None:
        self.skip()
        first = self.text[self.at]
        if first == "[":
            self.array(path)
        elif first == "{":
            self.table(path)
        else:
            self.take(_TEXT if first in "\"'" else _PLAIN)
        self.skip()

    def array(self, path: Route) -> None:
        number = 0
        self.open()
        while self.text[self.at] != "]":
            self.found[*path, number] = self.at
            self.value((*path, number))
            self.comma()
            number += 1
        self.at += 1

    def table(self, path: Route) -> None:
        self.open()
        while self.text[self.at] != "}":
            self.pair(path)
            self.comma()
        self.at += 1

    def open(self) -> None:
        self.at += 1
        self.skip()

    def comma(self) -> None:
        if self.text[self.at] == ",":
            self.open()

    def skip(self) -> None:
        self.take(_BLANK)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]


def _name(written: str) -> str:
    if written[0] in "\"'":
        return next(iter(tomllib.loads(f"{written} = 0")))
    return written
