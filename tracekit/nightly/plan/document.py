"""The file of a plan: found, read as TOML, refused in words; where each key and mistake stands.

Only documents that tomllib has accepted are walked, so that nothing is judged here.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
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
_BRACKETS = re.compile(r"\[{0,2}")
_PLAIN = re.compile(r"[^,\]}#\n]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Places:
    """The line and column of each key of a document, and of each element of its arrays.

    `paths` has where each begins in the text. It is empty where arrays nest too deep.
    """

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self.paths: dict[Route, int] = {}
        self._lengths: dict[Route, int] = {}  # of arrays of tables
        try:
            self._document()
        except RecursionError:
            self.paths.clear()

    def of(self, path: Route) -> tuple[int, int]:
        """Return line and column, from 1; of what is not written those of what would hold it."""
        while path and path not in self.paths:
            path = path[:-1]
        offset = self.paths.get(path, 0)
        before = self._text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def _document(self) -> None:
        table: Route = ()
        self._take(_BLANK)
        while self._at < len(self._text):
            begun = self._at
            if brackets := len(self._take(_BRACKETS)):
                table = self._key((), begun if brackets > 1 else None)
                self._at += brackets
            else:
                self._pair(table)
            self._take(_BLANK)

    def _pair(self, path: Route) -> None:
        path = self._key(path)
        self._at += 1  # the equals sign
        self._value(path)

    def _key(self, path: Route, begun: int | None = None) -> Route:
        """Read a key up to what follows it, and return the route to what it names.

        Of an array of tables that is the last; `[[key]]`, which has `begun` there, adds one.
        """
        more = True
        while more:
            self._take(_BLANK)
            written = self._take(_KEY)
            path = (*path, next(iter(tomllib.loads(f"{written} = 0"))))
            self.paths.setdefault(path, self._at - len(written))
            self._take(_BLANK)
            more = self._text.startswith(".", self._at)
            self._at += more
            length = self._lengths.get(path, 0)
            if begun is not None and not more:
                self._lengths[path] = length = length + 1
                self.paths[*path, length - 1] = begun
            path = (*path, length - 1) if length else path
        return path

    def _value(self, path: Route) -> None:
        self._take(_BLANK)
        first = self._text[self._at]
        if first == "[":
            for number in self._elements("]"):
                self.paths[*path, number] = self._at
                self._value((*path, number))
        elif first == "{":
            for _ in self._elements("}"):
                self._pair(path)
        else:
            self._take(_TEXT if first in "\"'" else _PLAIN)
        self._take(_BLANK)

    def _elements(self, end: str) -> Iterator[int]:
        """Count the elements of an array or a table up to its end; each is read in between."""
        for number in count():
            if number == 0 or self._text[self._at] == ",":
                self._at += 1
                self._take(_BLANK)
            if self._text[self._at] == end:
                self._at += 1
                return
            yield number

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0]


class Mistakes:
    """The mistakes found so far in a file: line, column, what is wrong; and what to do."""

    def __init__(self, file: str, places: Places) -> None:
        self._file, self._places = file, places
        self.found: dict[tuple[int, int, str], str] = {}

    def add(self, route: Route, words: str, hint: str = "") -> None:
        """Add a mistake of what stands at `route`; `words` follow the key's name."""
        said = f"{dotted(route)} {words}" if route else words
        self.found.setdefault((*self._places.of(route), said), hint)

    def end(self) -> None:
        """Raise UsageError that names all mistakes, one a line, or do nothing without one."""
        mistakes = [
            (f"{self._file}:{line}:{column}: {words}", hint)
            for (line, column, words), hint in sorted(self.found.items())
        ]
        if len(mistakes) == 1:
            raise UsageError(mistakes[0][0], hint=mistakes[0][1])
        if mistakes:
            lines = [f"  {words} {hint}".rstrip() for words, hint in mistakes]
            raise UsageError(
                "\n".join([f"{self._file} has {len(mistakes)} mistakes:", *lines]),
                hint="`tracekit nightly --init` shows a plan with all that is usual.",
            )


def dotted(route: Route) -> str:
    """Write a route as TOML would; places in arrays are left out, for the line says which."""
    names = [one for one in route if isinstance(one, str)]
    return ".".join(name if _BARE.fullmatch(name) else repr(name) for name in names)


OWN = "tracekit.toml"
SHARED = "pyproject.toml"
_LARGEST = 1 << 20
_WHERE = re.compile(r" \(at line (\d+), column (\d+)\)")
MINIMAL = """[nightly]
[[nightly.capture]]
workload = "paged"
[nightly.capture.reference]
revision = "main\""""
_HINT = f"`tracekit nightly --init` writes one. The least is:\n{MINIMAL}"


@dataclass(frozen=True)
class Document:
    """A file with a plan: messages call it `shown`.

    `root` is the route to the table of the night, `table` is all of the file; `places` are where
    its keys stand.
    """

    file: Path
    shown: str
    root: tuple[str, ...]
    table: dict[str, Any]
    places: Places


def open_document(path: Path | None) -> Document:
    """Read the file of a plan; of None the nearest, from the current folder upwards.

    Raises:
        UsageError: There is none, or it is no TOML; the message says where.
    """
    if path is not None:
        return _read(path)
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The folder you stand in is gone.", hint="Go to one that exists, and try again."
        ) from None
    for folder in (here, *here.parents):
        if (own := folder / OWN).exists():
            return _read(own)
        if has_plan(folder / SHARED):
            return _read(folder / SHARED)
    raise UsageError(
        f"There is no {OWN} in {here} or above, and no {SHARED} with [tool.tracekit.nightly].",
        hint=_HINT,
    )


def has_plan(file: Path) -> bool:
    """Tell whether a shared file speaks of a night; one that cannot be read does not."""
    try:
        return re.search(r"tracekit\s*\.\s*nightly", file.read_text(errors="replace")) is not None
    except OSError:
        return False


def _read(file: Path) -> Document:
    shown = str(file)
    with suppress(ValueError, OSError):
        shown = str(file.absolute().relative_to(Path.cwd()))
    text = _text(file, shown)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{shown} nests arrays or tables deeper than can be read.") from None
    except ValueError as error:
        raise UsageError(_refusal(shown, text, str(error)), hint="TOML: toml.io.") from None
    root = ("tool", "tracekit", "nightly") if file.name == SHARED else ("nightly",)
    return Document(file.resolve(), shown, root, table, Places(text))


def _text(file: Path, shown: str) -> str:
    if file.is_dir():
        hint = "Name a plan, a TOML file."
        if inside := [name for name in (OWN, SHARED) if (file / name).is_file()]:
            hint = f"Name the file in it: {Path(shown) / inside[0]}"
        raise UsageError(f"{shown} is a folder, not a file.", hint=hint)
    if not file.exists():
        raise UsageError(f"There is no file {shown}.", hint=_HINT)
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


def _refusal(shown: str, text: str, error: str) -> str:
    """Say where TOML is wrong, in the words of tomllib."""
    where = _WHERE.search(error)
    words = _WHERE.sub("", error).replace(" (at end of document)", " at the end of the file")
    line, column = where.groups() if where else (str(text.count("\n") + 1), "1")
    return f"{shown}:{line}:{column}: this is no TOML: {words}."
