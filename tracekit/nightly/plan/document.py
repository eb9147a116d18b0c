"""The file of a plan: found, read as TOML, refused in words, and where each key stands.

Only documents that tomllib has accepted are walked, so that nothing is judged here.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import InputError, UsageError, open_input

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


OWN = "tracekit.toml"
SHARED = "pyproject.toml"
_LARGEST = 1 << 20
_WHERE = re.compile(r" \(at line (\d+), column (\d+)\)")
MINIMAL = """[nightly]
[[nightly.capture]]
workload = "paged"
[nightly.capture.reference]
revision = "main\""""


@dataclass(frozen=True)
class Document:
    """A file with a plan.

    Attributes:
        file: Where it is, whole.
        shown: How messages call it.
        text: What it holds.
        root: The route to the table of the night.
        table: All of the file.
    """

    file: Path
    shown: str
    text: str
    root: tuple[str, ...]
    table: dict[str, Any]

    @property
    def places(self) -> Places:
        """Where its keys stand."""
        return places(self.text)


def open_document(path: Path | None) -> Document:
    """Read the file of a plan; of None the nearest, from the current folder upwards.

    Raises:
        UsageError: There is none, or it is no TOML; the message says where.
    """
    if path is not None:
        return _read(path)
    here = _here()
    for folder in (here, *here.parents):
        if (own := folder / OWN).exists():
            return _read(own)
        if has_plan(folder / SHARED):
            return _read(folder / SHARED)
    raise UsageError(
        f"There is no {OWN} in {here} or above, and no {SHARED} with [tool.tracekit.nightly].",
        hint=f"`tracekit nightly --init` writes one. The least is:\n{MINIMAL}",
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The folder you stand in is gone.", hint="Go to one that exists, and try again."
        ) from None


def has_plan(file: Path) -> bool:
    """Tell whether a shared file speaks of a night; one that cannot be read does not."""
    try:
        return re.search(r"tracekit\s*\.\s*nightly", file.read_text(errors="replace")) is not None
    except OSError:
        return False


def _read(file: Path) -> Document:
    shown = _shown(file)
    text = _text(file, shown)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{shown} nests arrays or tables deeper than can be read.") from None
    except ValueError as error:
        raise UsageError(_refusal(shown, text, str(error)), hint="TOML: toml.io.") from None
    root: tuple[str, ...] = ("nightly",)
    if file.name == SHARED:
        root = ("tool", "tracekit", "nightly")
    return Document(file.resolve(), shown, text, root, table)


def _text(file: Path, shown: str) -> str:
    if file.is_dir():
        raise UsageError(f"{shown} is a folder, not a file.", hint=_inside(file, shown))
    if not file.exists():
        raise UsageError(
            f"There is no file {shown}.",
            hint=f"`tracekit nightly --init` writes one. The least is:\n{MINIMAL}",
        )
    try:
        with open_input(file) as stream:
            raw = stream.read(_LARGEST + 1)
    except InputError as error:
        raise UsageError(error.message, hint="A plan is a TOML file.") from error
    if len(raw) > _LARGEST:
        raise UsageError(f"{shown} is larger than a plan can be, 1 MiB.", hint="Is it the file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{shown}:{line}: byte {raw[error.start]:#04x} is not UTF-8, as TOML must be.",
            hint="Save the file as UTF-8.",
        ) from error


def _shown(file: Path) -> str:
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(file)


def _inside(folder: Path, shown: str) -> str:
    names: Iterator[str] = (one for one in (OWN, SHARED) if (folder / one).is_file())
    name = next(names, None)
    return f"Name the file in it: {Path(shown) / name}" if name else "Name a plan, a TOML file."


def _refusal(shown: str, text: str, error: str) -> str:
    """Say where TOML is wrong, in the words of tomllib."""
    where = _WHERE.search(error)
    words = _WHERE.sub("", error).replace(" (at end of document)", " at the end of the file")
    line, column = where.groups() if where else (str(text.count("\n") + 1), "1")
    return f"{shown}:{line}:{column}: this is no TOML: {words}."
