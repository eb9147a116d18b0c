"""The file of a plan: found, read as TOML, and refused in words."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base.errors import InputError, UsageError
from tracekit.base.files import open_input
from tracekit.nightly.plan.places import Places, places

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


def _refusal(shown: str, text: str, told: str) -> str:
    """Say where TOML is wrong, in the words of tomllib."""
    where = _WHERE.search(told)
    words = _WHERE.sub("", told).replace(" (at end of document)", " at the end of the file")
    line, column = where.groups() if where else (str(text.count("\n") + 1), "1")
    return f"{shown}:{line}:{column}: this is no TOML: {words}."
