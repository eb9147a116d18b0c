"""A file that came from elsewhere: opened only if it is one, refused in words."""

import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from tracekit.base.errors import InputError

_DOCUMENT_TYPE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s++|(?><\?.*?\?>)|(?><!--.*?-->))*+<!DOCTYPE", re.DOTALL
)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_input(path: Path) -> BinaryIO:
    """Open a file to read its bytes; a pipe or a device could hang or never end.

    Raises:
        InputError: It cannot be opened, or is no regular file.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from error
    kind = stat.S_IFMT(os.fstat(number).st_mode)
    if kind == stat.S_IFREG:
        return os.fdopen(number, "rb")
    os.close(number)
    raise InputError(f"{path} is {_KINDS.get(kind, 'a socket')}, not a file.", hint=_hint(path))


def read_input(path: Path) -> bytes:
    """Return the bytes of a file that is small unless someone means harm.

    Raises:
        FileNotFoundError: There is none.
        InputError: It cannot be read, or is no regular file.
    """
    try:
        with open_input(path) as file:
            return file.read()
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            raise FileNotFoundError(path) from None
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def is_text(path: Path) -> bool:
    """Tell whether a path is text, which most formats and libraries take for granted."""
    return legible(str(path)) == str(path)


def legible(name: str) -> str:
    """Return a name as text: what is none in it, as names of files may have, written out."""
    return name.encode(errors="backslashreplace").decode()


def unreadable(path: Path, error: OSError) -> InputError:
    """Say why a file cannot be opened or read."""
    return InputError(f"{path} cannot be read: {error.strerror}.")


def declares_document_type(beginning: bytes) -> bool:
    """Tell whether XML begins with a document type, which no export of xctrace has."""
    return _DOCUMENT_TYPE.match(beginning) is not None


def hostile(path: Path) -> InputError:
    """Refuse a file with a document type: it could define entities without end."""
    return InputError(
        f"{path} declares a document type, which no export of xctrace does; it was not read.",
        hint="Export it again, with `xcrun xctrace export`.",
    )


def _hint(path: Path) -> str:
    if path.suffix == ".trace":
        return "`tracekit tables` shows what a bundle holds, `tracekit import` makes a run of it."
    if path.is_dir():
        return "Name one file in it, or import the folder with `tracekit import`."
    return "Write it to a file first: exports are read more than once."
