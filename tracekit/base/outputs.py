"""Files and folders that a user names to be written: nothing that is not ours is lost by them.

An output that is an input, or that lies in a run, a bundle or the data set of a batch, is refused.
A file that is there is replaced if tracekit made it: if it has the mark of our pages and reports,
or is still what tracekit left there, by a note of its size, time and inode. Any other is replaced
only where `force` is set.
"""

import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from tracekit.base.errors import UsageError
from tracekit.base.files import notes_folder, require_writable
from tracekit.base.recording import Recording

_MARK = re.compile(
    rb'<meta name="generator" content="tracekit">|\xc2\xb7 tracekit</title>'
    rb'|<!-- made by tracekit -->|^# HELP tracekit_|"exporter":"tracekit"'
    rb'|"driver": \{\s*"name": "tracekit"',
    re.MULTILINE,
)
_ENDS = 4096  # bytes at both ends of a file, where a mark stands
_BUNDLES = {".trace", ".gputrace"}
_DATA_SETS = {"results", "tables"}
_NOTES = "written"


@contextmanager
def writing(
    outputs: Iterable[Path], inputs: Iterable[Path] = (), *, force: bool | None = None
) -> Generator[None]:
    """Find out, before anything is read, whether files may be written; then note what was.

    `inputs` are what is read: files, runs, bundles and folders. `force` says whether files of
    others are replaced; it is None where a command has no such option. Raise UsageError for a file
    that is an input, is named twice, lies in what is whole or is not ours.
    """
    files = list(outputs)
    require_apart(files, inputs)
    for file in files:
        if not force:
            require_ours(file, "--force replaces it." if force is not None else "Remove it.")
        require_writable(file)
    stamps_before = [_stamp(path) for path in files]
    try:
        yield
    finally:
        stamps_after = [_stamp(path) for path in files]
        _note(
            [
                stamp
                for stamp, old in zip(stamps_after, stamps_before, strict=True)
                if stamp and stamp != old
            ]
        )


def require_apart(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise UsageError for outputs that are inputs, or each other, or lie in what is whole."""
    read = [path.resolve() for path in inputs]
    places: set[Path] = set()
    for output in outputs:
        place = Path(os.path.realpath(output))
        if place in places:
            raise UsageError(f"Two outputs are to be written to {place}.", hint="Name two.")
        places.add(place)
        if any(place == path or _is_same_file(place, path) for path in read):
            raise UsageError(f"{output} is read, so it is not written.", hint="Name another place.")
        for folder in (place, *place.parents):
            if kind := _kind(folder):
                location = f"is {kind}" if folder == place else f"lies in {folder}, which is {kind}"
                raise UsageError(
                    f"{output} {location}: nothing else is written there.",
                    hint="Name a place outside of it.",
                )


def require_ours(path: Path, hint: str) -> None:
    """Raise UsageError for a file that tracekit did not make, or that was changed since.

    `hint` says what else to do than to name another.
    """
    if not path.is_file() or not path.stat().st_size or _has_mark(path) or _is_noted(path):
        return
    raise UsageError(
        f"{path} is there already, and is not as tracekit wrote it.",
        hint=f"Name another file. {hint}",
    )


def _kind(folder: Path) -> str:
    """Return in words what a folder is that belongs to tracekit or xctrace; empty for others."""
    if not folder.is_dir():
        return ""
    if folder.suffix.lower() in _BUNDLES:
        return "a bundle"
    if Recording(folder).provenance_file.exists():
        return "a run"
    batch = folder.name in _DATA_SETS and (folder.parent / ".lock").exists()
    return "the data set of a batch" if batch else ""


def _is_same_file(path: Path, other_path: Path) -> bool:
    """Tell whether two paths are one file that has two names."""
    with suppress(OSError):
        return path.samefile(other_path) and not (path.is_char_device() or path.is_fifo())
    return False


def _has_mark(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        beginning = file.read(_ENDS)
        file.seek(max(file.tell(), path.stat().st_size - _ENDS))
        return _MARK.search(beginning) is not None or _MARK.search(file.read()) is not None
    return False


def _stamp(path: Path) -> bytes:
    """Return what tells a file as it is now from any other; empty where there is none."""
    if not path.is_file():
        return b""
    there = path.stat()
    identity = f"{os.path.realpath(path)}\0{there.st_size}\0{there.st_mtime_ns}\0{there.st_ino}"
    return blake2b(identity.encode(errors="surrogateescape"), digest_size=16).hexdigest().encode()


def _is_noted(path: Path) -> bool:
    with suppress(OSError):
        return _stamp(path) in (notes_folder() / _NOTES).read_bytes().split(b"\n")
    return False


def _note(stamps: list[bytes]) -> None:
    """Note files; where that cannot be done, replacing them takes `--force`."""
    if not stamps:
        return
    notes = notes_folder() / _NOTES
    with suppress(OSError):
        notes.parent.mkdir(parents=True, exist_ok=True)
        with notes.open("ab") as file:
            file.write(b"".join(stamp + b"\n" for stamp in stamps))
