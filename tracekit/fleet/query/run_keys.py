"""Keys of runs: digests that change with any file of a run, and with tracekit's code.

A key is made of the stamps of all files, and of no content. It is empty if a file is so young that
a change might not alter its stamp, or if a folder of the run is a link.
"""

import os
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path

import tracekit
from tracekit.base import TracekitError, own_version, stamps
from tracekit.fleet.query.sources import AskedRun
from tracekit.tables import DirectNote
from tracekit.tables.exports import PRUNED_NOTE

_NAME = attrgetter("name")
_PACKAGE = Path(tracekit.__file__).parent
_KEPT_TABLES = "tables"
_NOT_READ = frozenset({_KEPT_TABLES, "result.json", "report.html", "index.html"})
"""The files of a run, at its top, of which no table is made, unless it is pruned."""


class _UncertainError(Exception):
    """A change of the files might not alter their stamps."""


def make_run_key(run: AskedRun, number: int | None, *, with_result: bool) -> str:
    """Return the key of a run or a bundle, with its result or without it; "" if there is none.

    `number` is the run of a bundle that has several; None for the last.
    """
    lines = [f"{_digest_code()} {number} {run.path}\n"]
    try:
        latest_change = _list_files(run, lines, with_result=with_result)
    except (OSError, TracekitError, _UncertainError):
        return ""
    if stamps.is_young(latest_change):
        return ""
    content = "".join(lines).encode(errors="surrogateescape")
    return blake2b(content, digest_size=16).hexdigest()


def _list_files(run: AskedRun, lines: list[str], *, with_result: bool) -> int:
    """Add a line for each file that a run is made of; return the time of their latest change."""
    path = str(run.path)
    if not os.path.isdir(path):  # noqa: PTH112  path objects take longer, and there are thousands
        return _add_line("", os.stat(path), lines)  # noqa: PTH116  as above
    if run.is_bundle:
        return _list_folder(path, "", lines)
    ignored_names = frozenset({_KEPT_TABLES}) if with_result else _NOT_READ
    latest_change = _list_folder(path, "", lines, ignored_names)
    exports = os.path.join(path, "exports")  # noqa: PTH118  as above
    if os.path.exists(os.path.join(exports, PRUNED_NOTE)):  # noqa: PTH110, PTH118  as above
        tables = os.path.join(path, _KEPT_TABLES)  # noqa: PTH118  as above
        latest_change = max(latest_change, _list_folder(tables, f"{_KEPT_TABLES}/", lines))
    if os.path.exists(os.path.join(exports, DirectNote.FILE)):  # noqa: PTH110, PTH118  as above
        note = DirectNote.read(Path(exports))
        if note is not None:
            bundle = str(note.path(Path(exports)))
            latest_change = max(latest_change, _list_folder(bundle, "", lines))
    return latest_change


def _list_folder(
    folder: str, prefix: str, lines: list[str], ignored_names: frozenset[str] = frozenset()
) -> int:
    latest_change = 0
    with os.scandir(folder) as entries:
        sorted_entries = sorted(entries, key=_NAME)
    for entry in sorted_entries:
        name = entry.name
        if name in ignored_names:
            continue
        if not entry.is_dir():
            change = _add_line(f"{prefix}{name}", entry.stat(), lines)
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


@cache
def _digest_code() -> str:
    """Return a digest of the stamps of tracekit's own files."""
    content = blake2b(own_version().encode(), digest_size=16)
    for folder, folders, names in os.walk(_PACKAGE):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".toml")):
                path = Path(folder, name)
                mark = stamps.stamp(path)
                content.update(f"{path} {mark.size} {mark.modified}\n".encode())
    return content.hexdigest()
