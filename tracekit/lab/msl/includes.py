"""One text from a file and those that it includes, as a compiler would read them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import InputError
from tracekit.lab.msl.edits import without_comments
from tracekit.lab.msl.kernel import LONGEST_TEXT, Origin

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(?:(?P<opens>if|ifdef|ifndef)\b|(?P<closes>endif)\b|(?P<once>pragma\s+once)\b"
    r'|(?:include|import)[ \t]*"(?P<name>[^"\n]+)")'
)
_DEEPEST = 64  # files that include each other


def with_includes(
    text: str, file: Path, folders: Sequence[Path] = ()
) -> tuple[str, tuple[Origin, ...]]:
    """Return the text of a file with its `#include "..."` replaced by what they name.

    Files are looked for beside the one that includes them, then in `folders`. Those of Metal
    itself (`<metal_stdlib>`) stay as they are, and so does a name that is found nowhere: whether
    it matters depends on the conditions around it.

    Args:
        text: Of the file.
        file: Where it lies.
        folders: Where to look for what is not beside the file.

    Returns:
        The text, and where its pieces stood before; none where nothing was included.

    Raises:
        InputError: A file cannot be read, or includes itself.
    """
    reading = _Reading(tuple(folders))
    joined = "\n".join(reading.lines(text, file.resolve(), ()))
    if len(reading.origins) == 1:
        return text, ()
    return joined, tuple(reading.origins)


@dataclass
class _Reading:
    folders: tuple[Path, ...]
    origins: list[Origin] = field(default_factory=list[Origin])
    _done: set[Path] = field(default_factory=set[Path])
    _numbers: dict[Path, int] = field(default_factory=dict[Path, int])
    _count: int = 0
    _size: int = 0

    def lines(self, text: str, file: Path, above: tuple[Path, ...]) -> Iterator[str]:
        name = file.name
        if file in above or len(above) > _DEEPEST:
            raise InputError(f"{above[-1]} includes {name}, which includes it again.")
        self.origins.append(Origin(self._count + 1, name, 1))
        depth = 0
        bare = without_comments(text).split("\n")
        for number, (line, code) in enumerate(zip(text.split("\n"), bare, strict=True), start=1):
            found = _DIRECTIVE.match(code)
            depth += bool(found and found["opens"]) - bool(found and found["closes"])
            target = self._find(found["name"], file) if found and found["name"] else None
            if target is None:
                yield self._line("" if found and found["once"] else line)
                continue
            yield from self._included(target, depth, (*above, file))
            self.origins.append(Origin(self._count + 1, name, number + 1))

    def _included(self, file: Path, depth: int, above: tuple[Path, ...]) -> Iterator[str]:
        if file in self._done:
            yield self._line("")
            return
        text = _read(file)
        once = re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", text, re.MULTILINE)
        if once and depth == 0:
            self._done.add(file)
        guard = f"TRACEKIT_INCLUDED_{self._numbers.setdefault(file, len(self._numbers))}"
        if once:
            yield self._line(f"#ifndef {guard}")
            yield self._line(f"#define {guard}")
        yield from self.lines(text, file, above)
        if once:
            yield self._line("#endif")

    def _line(self, line: str) -> str:
        self._count += 1
        self._size += len(line) + 1
        if self._size > LONGEST_TEXT:
            raise InputError(
                f"With all that it includes, the text has more than {LONGEST_TEXT} characters."
            )
        return line

    def _find(self, name: str, by: Path) -> Path | None:
        candidates = [by.parent / name, *(folder / name for folder in self.folders)]
        return next((one.resolve() for one in candidates if one.is_file()), None)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text: {error}.") from error
