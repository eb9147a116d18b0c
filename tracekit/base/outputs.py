"""Files and folders that a user names as outputs: only tracekit's own files are replaced.

An output that is an input, or that is in a run, a bundle or the data set of a batch, is refused. An
existing file is replaced if tracekit made it: if it has the mark of our pages and reports, or is
unchanged since tracekit wrote it, by a note of its size, time and inode. Any other is replaced only
with `force`.
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
_ENDS = 4096  # bytes at both ends of a file, which contain a mark
_BUNDLES = {".trace", ".gputrace"}
_DATA_SETS = {"results", "tables"}
_NOTES = "written"


@contextmanager
def writing(
    outputs: Iterable[Path], inputs: Iterable[Path] = (), *, force: bool | None = None
) -> Generator[None]:
    """Check, before anything is read, that files may be written; then note the written ones.

    `inputs` are the files, runs, bundles and folders that are read. With `force`, files that
    tracekit did not make are replaced; it is None if a command has no such option. Raise UsageError
    for a file that is an input, is named twice, is in a run, bundle or batch, or is not ours.
    """
    files = list(outputs)
    require_apart(files, inputs)
    hint = "Remove it."
    if force is not None:
        hint = "--force replaces it."
    for file in files:
        if not force:
            require_ours(file, hint)
        require_writable(file)
    stamps_before = [_stamp(path) for path in files]
    try:
        yield
    finally:
        changed_stamps: list[bytes] = []
        for path, old_stamp in zip(files, stamps_before, strict=True):
            stamp = _stamp(path)
            if stamp not in {b"", old_stamp}:
                changed_stamps.append(stamp)
        _note(changed_stamps)


def require_apart(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise UsageError for outputs that are inputs, or equal, or in a run, bundle or batch."""
    read_paths = [path.resolve() for path in inputs]
    places: set[Path] = set()
    for output in outputs:
        place = Path(os.path.realpath(output))
        if place in places:
            raise UsageError(f"Two outputs are to be written to {place}.", hint="Name two.")
        places.add(place)
        are_same = [place == path or _is_same_file(place, path) for path in read_paths]
        if any(are_same):
            raise UsageError(f"{output} is read, so it is not written.", hint="Name another place.")
        _require_outside(output, place)


def _require_outside(output: Path, place: Path) -> None:
    """Raise UsageError for an output that is, or is in, a run, a bundle or a batch's data set."""
    for folder in (place, *place.parents):
        kind = _kind(folder)
        if not kind:
            continue
        location = f"is {kind}"
        if folder != place:
            location = f"lies in {folder}, which is {kind}"
        raise UsageError(
            f"{output} {location}: nothing else is written there.",
            hint="Name a place outside of it.",
        )


def require_ours(path: Path, hint: str) -> None:
    """Raise UsageError for a file that tracekit did not make, or that was changed since.

    `hint` is the alternative to another name.
    """
    if not path.is_file() or not path.stat().st_size or _has_mark(path) or _is_noted(path):
        return
    raise UsageError(
        f"{path} is there already, and is not as tracekit wrote it.",
        hint=f"Name another file. {hint}",
    )


def is_closed(folder: Path) -> bool:
    """Tell whether a folder is a run, a bundle or a batch's data set: nothing else goes there."""
    return bool(_kind(folder))


def _kind(folder: Path) -> str:
    """Return the kind of a folder of tracekit or xctrace, in words; empty for others."""
    if not folder.is_dir():
        return ""
    if folder.suffix.lower() in _BUNDLES:
        return "a bundle"
    if Recording(folder).provenance_file.exists():
        return "a run"
    if folder.name in _DATA_SETS and (folder.parent / ".lock").exists():
        return "the data set of a batch"
    return ""


def _is_same_file(path: Path, other_path: Path) -> bool:
    """Tell whether two paths are names of one file."""
    with suppress(OSError):
        return path.samefile(other_path) and not (path.is_char_device() or path.is_fifo())
    return False


def _has_mark(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        beginning = file.read(_ENDS)
        end_start = max(file.tell(), path.stat().st_size - _ENDS)
        file.seek(end_start)
        end = file.read()
        return any(_MARK.search(part) for part in (beginning, end))
    return False


def _stamp(path: Path) -> bytes:
    """Return a digest of a file's path, size, time and inode; empty if there is no file."""
    if not path.is_file():
        return b""
    status = path.stat()
    identity = f"{os.path.realpath(path)}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}"
    digest = blake2b(identity.encode(errors="surrogateescape"), digest_size=16)
    return digest.hexdigest().encode()


def _is_noted(path: Path) -> bool:
    with suppress(OSError):
        notes = (notes_folder() / _NOTES).read_bytes()
        return _stamp(path) in notes.split(b"\n")
    return False


def _note(stamps: list[bytes]) -> None:
    """Note files; if that fails, replacing them takes `--force`."""
    if not stamps:
        return
    notes = notes_folder() / _NOTES
    with suppress(OSError):
        notes.parent.mkdir(parents=True, exist_ok=True)
        lines = [stamp + b"\n" for stamp in stamps]
        with notes.open("ab") as file:
            file.write(b"".join(lines))
