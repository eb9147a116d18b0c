"""Compiled libraries, kept in the user's cache."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.files import notes_folder, replacing
from tracekit.lab.msl.compiler import SHIM, Compiler
from tracekit.lab.msl.library import Library

_KEPT_FOR = 30 * 24 * 3600  # s without use


def cache_folder() -> Path:
    """Return where compiled kernels are kept: below TRACEKIT_CACHE, or in the user's cache."""
    return notes_folder() / "kernels"


def kept(kind: str, text: str, compiler: Compiler, make: Callable[[Path], None]) -> Path:
    """Return the file that `make` makes of `text`, made once.

    The name holds all that the content depends on: the text, the header files, the compiler, its
    flags. A file that is damaged is made again.

    Args:
        kind: Ending of the file: "so" or "o".
        text: What is compiled.
        compiler: By which compiler.
        make: Writes the file at a path that it is given.

    Raises:
        ToolError: The compiler refuses.
    """
    key = hashlib.sha256("\0".join([text, *_circumstances(compiler)]).encode()).hexdigest()[:40]
    path = cache_folder() / f"{key}.{kind}"
    if _is_whole(path):
        _note_use(path)
        return path
    with tempfile.TemporaryDirectory(prefix="tracekit-kernel-") as folder:
        made = Path(folder) / path.name
        make(made)
        content = made.read_bytes()
    try:
        _keep(path, content)
    except RecordingError:
        path = _place_of_this_process() / path.name
        _keep(path, content)
    return path


def load(path: Path) -> Library:
    """Load a library.

    Raises:
        ToolError: The system refuses it.
    """
    try:
        return Library(path)
    except OSError as error:
        raise ToolError(
            f"The compiled kernel {path} cannot be loaded: {error}.",
            hint="Remove the file; it is made again. Is its folder one that programs may run from?",
        ) from error


def _note_use(path: Path) -> None:
    with suppress(OSError):
        os.utime(path)
        os.utime(_sum_of(path))


def _forget_unused(folder: Path) -> None:
    """Remove what was not used for a month: a changed kernel leaves its old library behind."""
    oldest = time.time() - _KEPT_FOR
    for path in folder.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _keep(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
    with replacing(_sum_of(path)) as file:
        file.write(hashlib.sha256(content).hexdigest().encode())
    _forget_unused(path.parent)


def _sum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _is_whole(path: Path) -> bool:
    """Loading a library that was cut off can end the process, so it is read first."""
    try:
        content, wanted = path.read_bytes(), _sum_of(path).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return hashlib.sha256(content).hexdigest() == wanted


def _circumstances(compiler: Compiler) -> tuple[str, ...]:
    return (_shim_text(), compiler.path, compiler.version, " ".join(compiler.flags))


@cache
def _shim_text() -> str:
    return "\0".join(
        f"{path.name}\0{path.read_text()}" for path in sorted(SHIM.iterdir()) if path.is_file()
    )


@cache
def _place_of_this_process() -> Path:
    """Serve where the cache cannot be written; the system clears it."""
    return Path(tempfile.mkdtemp(prefix="tracekit-kernels-"))
