"""Keys of runs: digests that change with any file of a run, and with tracekit's code.

A key is made of the stamps of all files, and of no content. It is empty if a file is so young that
a change might not alter its stamp, or if a folder of the run is a link.
"""

import os
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import tracekit
from tracekit.base import Recording, own_version
from tracekit.base.stamps import lasting, stamp, stamp_of
from tracekit.fleet.query.sources import AskedRun
from tracekit.tables import DirectNote

_PACKAGE = Path(tracekit.__file__).parent
_NOT_READ = frozenset({"tables", "result.json", "report.html", "index.html"})
"""The files of a run, at its top, of which no table is made."""


class _UncertainError(Exception):
    """A change of the files might not alter their stamps."""


def make_run_key(run: AskedRun, number: int | None, *, with_result: bool) -> str:
    """Return the key of a run or a bundle, with its result or without it; "" if there is none.

    `number` is the run of a bundle that has several; None for the last.
    """
    content = blake2b(f"{_digest_code()} {number}".encode(), digest_size=16)
    ignored_names = frozenset({"tables"}) if with_result else _NOT_READ
    try:
        for line in _list_files(run, ignored_names):
            content.update(line.encode(errors="surrogateescape"))
    except (OSError, _UncertainError):
        return ""
    return content.hexdigest()


def _list_files(run: AskedRun, ignored_names: frozenset[str]) -> Iterator[str]:
    """Yield a line for each file that a run is made of: its path and its stamp."""
    path = str(run.path)
    if not run.path.is_dir():
        yield _describe(path, os.stat(path))  # noqa: PTH116  as in `stamps.stamp`
        return
    if run.is_bundle:
        ignored_names = frozenset()
    yield from _list_folder(path, ignored_names)
    exports = Recording(run.path).exports
    note = DirectNote.read(exports)
    if note is not None:
        yield from _list_folder(str(note.path(exports)), frozenset())


def _list_folder(folder: str, ignored_names: frozenset[str] = frozenset()) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name in ignored_names:
                continue
            if not entry.is_dir():
                yield _describe(entry.path, entry.stat())
            elif entry.is_symlink():
                raise _UncertainError
            else:
                yield from _list_folder(entry.path)


def _describe(path: str, status: os.stat_result) -> str:
    mark = stamp_of(status)
    if lasting(mark) is None:
        raise _UncertainError
    return f"{path} {mark.size} {mark.modified} {mark.changed} {mark.inode}\n"


@cache
def _digest_code() -> str:
    """Return a digest of the stamps of tracekit's own files."""
    content = blake2b(own_version().encode(), digest_size=16)
    for folder, folders, names in os.walk(_PACKAGE):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".toml")):
                path = Path(folder, name)
                mark = stamp(path)
                content.update(f"{path} {mark.size} {mark.modified}\n".encode())
    return content.hexdigest()
