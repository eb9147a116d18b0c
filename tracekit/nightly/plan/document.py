"""The file of a plan: found, read as TOML with the line of each key, or written to start with."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import InputError, ToolError, UsageError, files, git, outputs

Route = tuple[str | int, ...]

OWN = "tracekit.toml"
SHARED = "pyproject.toml"
MINIMAL = """[nightly]
[[nightly.capture]]
workload = "paged"
[nightly.capture.reference]
revision = "main\""""
_HINT = f"`tracekit nightly init` writes one. The least is:\n{MINIMAL}"
_KEY = r"[\w-]+|\"[^\"]*\"|'[^']*'"
_HEADER = re.compile(rf"\s*(\[\[?)(\s*[\w-]+(?:\s*\.\s*(?:{_KEY}))*)\s*\]\]?\s*(?:#.*)?")
_PAIR = re.compile(r"\s*([^=#]+?)\s*=.*")


@dataclass(frozen=True)
class Document:
    """A file with a plan, with its name in messages, `display_name`.

    `root` is the route to the table of the night, `table` is the content of the file. `lines` are
    those of the keys that begin one; a key within an array or a table on one line has none.
    """

    file: Path
    display_name: str
    root: tuple[str, ...]
    table: dict[str, Any]
    lines: dict[Route, int]

    def line(self, route: Route) -> int:
        """Return the line of a key, or that of the nearest table that would hold it."""
        while route and route not in self.lines:
            route = route[:-1]
        return self.lines.get(route, 1)


def open_document(path: Path | None) -> Document:
    """Read the file of a plan; None is the nearest, from the current folder upwards."""
    if path is not None:
        return _read(path)
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The current folder no longer exists.", hint="Change to another one, and try again."
        ) from None
    for folder in (here, *here.parents):
        own_file = folder / OWN
        if own_file.exists():
            return _read(own_file)
        shared_file = folder / SHARED
        if has_plan(shared_file):
            return _read(shared_file)
    raise UsageError(
        f"There is no {OWN} in {here} or above, and no {SHARED} with [tool.tracekit.nightly].",
        hint=_HINT,
    )


def has_plan(file: Path) -> bool:
    """Return whether a shared file has a plan; a file that cannot be read has none.

    A file that is not TOML has one if a line begins its table, so that the mistake is reported.
    """
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return False
    try:
        table: Any = tomllib.loads(text)
    except (ValueError, RecursionError):
        return re.search(r"(?m)^\s*\[+\s*tool\s*\.\s*tracekit\s*\.\s*nightly\b", text) is not None
    for key in ("tool", "tracekit"):
        table = table.get(key)
        if not isinstance(table, dict):
            return False
    return "nightly" in table


def _read(file: Path) -> Document:
    display_name = str(file)
    with suppress(ValueError, OSError):
        relative_file = file.absolute().relative_to(Path.cwd())
        display_name = str(relative_file)
    try:
        text = files.read_input(file).decode("utf-8-sig")
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise UsageError(f"There is no file {display_name}.", hint=_HINT) from None
    except InputError as error:
        raise UsageError(error.message, hint="A plan is a TOML file.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{display_name} is not TOML: {error}.", hint="TOML: toml.io.") from error
    root = ("tool", "tracekit", "nightly") if file.name == SHARED else ("nightly",)
    lines: dict[Route, int] = {}
    for route, number in _lines(text):
        lines.setdefault(route, number)
    return Document(file.resolve(), display_name, root, table, lines)


def _lines(text: str) -> Iterator[tuple[Route, int]]:
    """Yield the keys that begin a line, and those that hold them, with the number of the line.

    A key may come several times; the first line counts.
    """
    arrays: Counter[Route] = Counter()
    holder: Route = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        match = header or _PAIR.fullmatch(line)
        if match is None:
            continue
        written_keys = re.findall(_KEY, match[match.lastindex or 0])
        keys = [key.strip("\"'") for key in written_keys]
        is_array = header is not None and header[1] == "[["
        route: Route = () if header else holder
        for place, key in enumerate(keys, 1):
            route = (*route, key)
            if is_array and place == len(keys):
                arrays[route] += 1
            if arrays[route]:
                route = (*route, arrays[route] - 1)
            yield route, number
        if header:
            holder = route


STARTER = files.find_shipped_folder("templates") / "nightly" / OWN
_COMMIT = "1a2b3c4d5e6f"


def write_starter(file: Path = Path(OWN)) -> Path:
    """Write a plan to start with, unless there is one, and return its file.

    It measures against the current commit; outside of a repository the user has to fill it in.
    """
    shared = file.parent / SHARED
    if file.name == SHARED or has_plan(shared):
        raise UsageError(
            f"{shared} has a plan, or is for others as well: a new plan needs a file of its own.",
            hint=f"`tracekit nightly init {OWN}` writes it, in a folder without a plan.",
        )
    outputs.require_apart([file])
    starter_text = STARTER.read_text(encoding="utf-8")
    text = starter_text.replace(_COMMIT, _commit(file.parent))
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} is there already.", hint="Nothing was written over.")
    if not file.parent.is_dir():
        raise UsageError(f"There is no folder {file.parent}.", hint="Make it first.")
    files.write_whole(file, text.encode())
    return file


def _commit(folder: Path) -> str:
    """Return the first digits of the commit that a folder is at; COMMIT if there is none."""
    with suppress(ToolError):
        answer = git.run(folder, "rev-parse", "--verify", "--quiet", "--short=12", "HEAD")
        return answer.stdout.strip() or "COMMIT"
    return "COMMIT"
