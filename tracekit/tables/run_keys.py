"""Keys of runs: digests that change with any file of a run, and with tracekit's code.

A key is made of the stamps of all files, and of no content. It is empty if a file is so young that
a change might not alter its stamp, or if a folder of the run is a link to anything but the bundle
that its tables are read from.
"""

import os
from collections.abc import Set as AbstractSet
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path

import tracekit
from tracekit.base import TracekitError, own_version, stamps
from tracekit.tables.notes import PRUNED_NOTE, DirectNote

_NAME = attrgetter("name")
_PACKAGE = Path(tracekit.__file__).parent
_READERS = ("lxml", "numpy", "pandas", "pyarrow")
"""The libraries that tables and numbers are made with."""
_KEPT_TABLES = "tables"
_LARGE = 1 << 26  # bytes
RESULT_NOTE = "result-key.json"
"""A file among the kept tables of a run that none of them is made of."""
MEASURES_NOTE = ".measures.json"
"""Another one, of the measures of comparisons; hidden, for files of no stage have no checksum."""
RESULTS = frozenset({"result.json", "report.html", "index.html"})
"""The files of a run, at its top, that are made of its tables."""


class _UncertainError(Exception):
    """A change of the files might not alter their stamps."""


def make_run_key(
    run: Path, facts: str, *, is_bundle: bool = False, ignored: AbstractSet[str] = frozenset()
) -> str:
    """Return the key of a run's folder or of a bundle; "" if there is none.

    `facts` has everything else that the key is to change with. `ignored` are names of files at the
    top of a run that it does not depend on. Kept tables count in a pruned run alone.
    """
    lines = [f"{_digest_code()} {run} {facts}\n"]
    try:
        latest_change = _list_files(run, lines, ignored, is_bundle=is_bundle)
    except (OSError, TracekitError, _UncertainError):
        return ""
    if stamps.is_young(latest_change):
        return ""
    content = "".join(lines).encode(errors="surrogateescape")
    return blake2b(content, digest_size=16).hexdigest()


def _list_files(run: Path, lines: list[str], ignored: AbstractSet[str], *, is_bundle: bool) -> int:
    """Add a line for each file that a run is made of; return the time of their latest change."""
    path = str(run)
    if not os.path.isdir(path):  # noqa: PTH112  path objects take longer, and there are thousands
        return _add_line("", os.stat(path), lines)  # noqa: PTH116  as above
    if is_bundle:
        return _list_folder(path, "", lines)
    latest_change = 0
    read_bundle = ""
    exports = os.path.join(path, "exports")  # noqa: PTH118  as above
    if os.path.exists(os.path.join(exports, DirectNote.FILE)):  # noqa: PTH110, PTH118  as above
        note = DirectNote.read(Path(exports))
        if note is not None:
            read_bundle = os.path.realpath(note.path(Path(exports)))
            lines.append(f"{read_bundle}\n")
            latest_change = _list_folder(read_bundle, "", lines)
    unlisted = ignored | {_KEPT_TABLES}
    latest_change = max(latest_change, _list_folder(path, "", lines, unlisted, read_bundle))
    if os.path.exists(os.path.join(exports, PRUNED_NOTE)):  # noqa: PTH110, PTH118  as above
        tables = os.path.join(path, _KEPT_TABLES)  # noqa: PTH118  as above
        latest_table = _list_folder(tables, f"{_KEPT_TABLES}/", lines, {RESULT_NOTE, MEASURES_NOTE})
        latest_change = max(latest_change, latest_table)
    return latest_change


def _list_folder(
    folder: str,
    prefix: str,
    lines: list[str],
    ignored: AbstractSet[str] = frozenset(),
    listed_bundle: str = "",
) -> int:
    """Add a line for each file in a folder; `listed_bundle` is a folder that has its lines."""
    latest_change = 0
    with os.scandir(folder) as entries:
        sorted_entries = sorted(entries, key=_NAME)
    for entry in sorted_entries:
        name = entry.name
        if name in ignored:
            continue
        if not entry.is_dir():
            change = _add_line(f"{prefix}{name}", entry.stat(), lines)
        elif listed_bundle and os.path.realpath(entry.path) == listed_bundle:
            continue
        elif entry.is_symlink():
            raise _UncertainError
        else:
            change = _list_folder(entry.path, f"{prefix}{name}/", lines)
        latest_change = max(latest_change, change)
    return latest_change


def _add_line(name: str, status: os.stat_result, lines: list[str]) -> int:
    modified = status.st_mtime_ns
    changed = status.st_ctime_ns
    lines.append(f"{name} {status.st_size} {modified} {changed} {status.st_ino}\n")
    return max(modified, changed)


def digest_contents(run: Path, facts: str) -> str:
    """Return a digest of the files that the tables of a run are read from, and of `facts`.

    A copy of the run has the same one. Of large files, which would take long, size and time of
    change count. Raise OSError if a file cannot be read.
    """
    content = blake2b(facts.encode(), digest_size=16)
    exports = run / "exports"
    note = DirectNote.read(exports)
    folders = [exports]
    if note is not None:
        folders.append(note.path(exports))
    for top in folders:
        for place, folder_names, names in os.walk(top):
            folder_names.sort()
            for name in sorted(names):
                file = Path(place, name)
                status = file.stat()
                if status.st_size > _LARGE:
                    digest = f"{status.st_size} {status.st_mtime_ns}"
                else:
                    digest = blake2b(file.read_bytes()).hexdigest()
                line = f"{file.relative_to(top)} {digest}\n"
                content.update(line.encode(errors="surrogateescape"))
    return content.hexdigest()


def lacks_sources(run: Path) -> bool:
    """Tell whether exports of a run were pruned, or the bundle that it reads is gone."""
    exports = run / "exports"
    if (exports / PRUNED_NOTE).exists():
        return True
    note = DirectNote.read(exports)
    return note is not None and not note.path(exports).exists()


@cache
def _digest_code() -> str:
    """Return a digest of the stamps of tracekit's own files, and of the libraries it reads with."""
    content = blake2b(own_version().encode(), digest_size=16)
    for folder, folders, names in os.walk(_PACKAGE):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".toml")):
                content.update(_describe(os.path.join(folder, name)))  # noqa: PTH118  as above
    for library in _READERS:
        spec = find_spec(library)
        if spec is not None and spec.origin is not None:
            content.update(_describe(spec.origin))
    return content.hexdigest()


def _describe(file: str) -> bytes:
    mark = stamps.stamp(file)
    return f"{file} {mark.size} {mark.modified}\n".encode(errors="surrogateescape")
