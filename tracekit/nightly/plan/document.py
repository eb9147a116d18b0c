"""The file of a plan: found, read as TOML, with the line of each key; and one to begin with."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import (
    InputError,
    RecordingError,
    ToolError,
    UsageError,
    git,
    read_input,
    require_apart,
    shipped,
)

Route = tuple[str | int, ...]

OWN = "tracekit.toml"
SHARED = "pyproject.toml"
MINIMAL = """[nightly]
[[nightly.capture]]
workload = "paged"
[nightly.capture.reference]
revision = "main\""""
_HINT = f"`tracekit nightly --init` writes one. The least is:\n{MINIMAL}"
_HEADER = re.compile(r"\s*(\[\[?)(.+?)\]\]?\s*(?:#.*)?")
_PAIR = re.compile(r"\s*([^=]+?)\s*=.*")


@dataclass(frozen=True)
class Document:
    """A file with a plan: messages call it `shown`.

    `root` is the route to the table of the night, `table` is all of the file. `lines` are those
    of the keys that begin one; what stands in an array or a table on one line has none.
    """

    file: Path
    shown: str
    root: tuple[str, ...]
    table: dict[str, Any]
    lines: dict[Route, int]

    def line(self, route: Route) -> int:
        """Return the line of a key, else that of what holds it, or would."""
        while route and route not in self.lines:
            route = route[:-1]
        return self.lines.get(route, 1)


def open_document(path: Path | None) -> Document:
    """Read the file of a plan; of None the nearest, from the current folder upwards."""
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
    try:
        text = read_input(file).decode("utf-8-sig")
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise UsageError(f"There is no file {shown}.", hint=_HINT) from None
    except InputError as error:
        raise UsageError(error.message, hint="A plan is a TOML file.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown} is no TOML: {error}.", hint="TOML: toml.io.") from error
    root = ("tool", "tracekit", "nightly") if file.name == SHARED else ("nightly",)
    return Document(file.resolve(), shown, root, table, dict(_lines(text, table)))


def _lines(text: str, table: dict[str, Any]) -> Iterator[tuple[Route, int]]:
    """Yield the keys that begin a line, and those that hold them; the first line of each counts.

    What merely looks like a key, as in a text of several lines, is none that the table has.
    """
    arrays: Counter[Route] = Counter()
    seen: set[Route] = set()
    holder: Route = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        found = header or _PAIR.fullmatch(line)
        keys = _keys(found[2] if header else found[1]) if found else ()
        route: Route = () if header else holder
        for place, key in enumerate(keys, 1):
            route = (*route, key)
            if header and header[1] == "[[" and place == len(keys):
                arrays[route] += 1
            if route in arrays:
                route = (*route, arrays[route] - 1)
            if not _has(table, route):
                break
            if route not in seen:
                seen.add(route)
                yield route, number
        else:
            holder = route if header and keys else holder


def _keys(written: str) -> tuple[str, ...]:
    """Return the parts of a key as TOML reads it; none of what is no key."""
    try:
        value: Any = tomllib.loads(f"{written} = 0")
    except ValueError:
        return ()
    keys: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        [(key, value)] = value.items()
        keys.append(key)
    return tuple(keys)


def _has(value: Any, route: Route) -> bool:
    for key in route:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return False
    return True


STARTER = shipped("templates") / "nightly" / OWN
_COMMIT = "1a2b3c4d5e6f"
_FIRST = "# What it is measured against"
_NO_COMMIT = """\
# This folder is in no git repository that has a commit, so there is nothing to measure against yet,
# and nothing is judged. Name a commit below, or another interpreter.
"""


def starter(commit: str) -> str:
    """Return a plan to begin with, which measures against a commit; against nothing without one."""
    text = STARTER.read_text(encoding="utf-8")
    if commit:
        return text.replace(_COMMIT, commit)
    reference = '[nightly.capture.reference]\nrevision = "'
    without = text.replace(reference, "# " + reference.replace("\n", "\n# "))
    return without.replace(_FIRST, f"{_NO_COMMIT}{_FIRST}").replace(_COMMIT, "COMMIT")


def write_starter(file: Path = Path(OWN)) -> Path:
    """Write a plan to begin with, and return its file.

    It measures against the commit that stands now, where the folder is in a repository.

    Raises:
        UsageError: There is a plan already, for nothing is written over; or no folder to write to.
        RecordingError: It cannot be written.
    """
    shared = file.parent / SHARED
    if file.name == SHARED or has_plan(shared):
        raise UsageError(
            f"{shared} has a plan, or is for others as well: a new one is a file of its own.",
            hint=f"`tracekit nightly --init {OWN}` writes it where there is none.",
        )
    require_apart([file])
    text = starter(_commit(file.parent))
    try:
        with file.open("x", encoding="utf-8") as stream, ExitStack() as stack:
            stack.callback(file.unlink)  # where writing fails, no part of it is left
            stream.write(text)
            stream.flush()
            stack.pop_all()
    except FileExistsError:
        raise UsageError(f"{file} is there already.", hint="Nothing was written over.") from None
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"There is no folder {file.parent}.", hint="Make it first.") from None
    except OSError as error:
        raise RecordingError(
            f"{file} cannot be written: {error.strerror}.",
            hint="Make room, or name another place that you may write to.",
        ) from error
    return file


def _commit(folder: Path) -> str:
    """Return the first digits of the commit that stands in a folder; empty where none does."""
    with suppress(ToolError):
        found = git(folder, "rev-parse", "--verify", "--quiet", "--short=12", "HEAD")
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""
