"""A recording of an object store or an archive, brought to a private folder of this machine."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from tracekit.base.errors import InputError
from tracekit.base.units import size
from tracekit.fleet.batch.place import Said
from tracekit.fleet.batch.source import Form, Source

_AT_ONCE = 64
_MOST_FILES = 100_000
_LONGEST = 200  # letters of a file's name
_SHARE = 0.5  # of the free disk that one recording may take


def fetched(source: Source, folder: Path) -> Path:
    """Copy the files that an analysis needs into a folder, and return what became of the source.

    Raises:
        InputError: There is too much of it, or it cannot be read.
    """
    files = source.files()
    _require_room(source, files, folder)
    into = folder / _plain(source)
    single = source.place.base in files and source.form in {Form.ZIPPED, Form.EXPORTS}
    alone = single and len(files) == 1
    names = list(files)
    for first in range(0, len(names), _AT_ONCE):
        some = names[first : first + _AT_ONCE]
        _copy(source, {name: into if alone else into / name for name in some}, files, alone=alone)
    return into


def _copy(
    source: Source, copies: Mapping[str, Path], files: Mapping[str, Said], *, alone: bool
) -> None:
    """Copy some files at once, as a store likes best, and see that they are as large as listed."""
    place = source.place
    for copy in copies.values():
        copy.parent.mkdir(parents=True, exist_ok=True)
    inside = f"{place.path.rstrip('/')}/" if place.path.rstrip("/") else ""
    theirs = [place.path if alone else f"{inside}{name}" for name in copies]
    try:
        place.filesystem.get(theirs, [str(copy) for copy in copies.values()])
    except Exception as error:
        raise InputError(
            f"{place.name} cannot be fetched: {str(error) or type(error).__name__}.",
            hint="See that the worker may read it; the same command tries it again.",
        ) from error
    for name, copy in copies.items():
        listed = files[name].get("size")
        if not copy.is_file() or (listed is not None and copy.stat().st_size != listed):
            raise InputError(
                f"{name} of {place.name} is not what the listing says: {listed} bytes.",
                hint="It changed while it was fetched; try again with --retry-failed.",
            )


def _require_room(source: Source, files: Mapping[str, Said], folder: Path) -> None:
    total = sum(int(said.get("size") or 0) for said in files.values())
    free = shutil.disk_usage(folder).free
    if total > free * _SHARE or len(files) > _MOST_FILES:
        raise InputError(
            f"{source.place.name} has {len(files):,} files of {size(total)} to fetch, "
            f"and {size(free)} are free.",
            hint="Make room on the worker, or analyse it where it lies.",
        )


def _plain(source: Source) -> str:
    """Return what the copy is called: as the source, in letters that no file system minds."""
    return re.sub(r"[^\w.+-]+", "-", source.place.base)[-_LONGEST:].lstrip(".-") or "source"
