"""What a file is, by its first bytes."""

import re
from pathlib import Path

from tracekit.base.errors import InputError
from tracekit.base.files import open_input, unreadable
from tracekit.tables.drift import DamagedExportError

ROOT = "trace-query-result"
TOC_ROOT = "trace-toc"
_HEAD = 1 << 14
_UTF_16 = (
    "is written in UTF-16, and an export of xctrace in UTF-8",
    "Convert it: `iconv -f UTF-16 -t UTF-8`.",
)
_STRANGERS = {
    b"\x1f\x8b": ("is compressed with gzip", "Unpack it first: `gunzip`."),
    b"BZh": ("is compressed with bzip2", "Unpack it first: `bunzip2`."),
    b"\xfd7zXZ": ("is compressed with xz", "Unpack it first: `unxz`."),
    b"\x28\xb5\x2f\xfd": ("is compressed with zstd", "Unpack it first: `unzstd`."),
    b"PK\x03\x04": ("is a zip archive", "Unpack it: `unzip`. `tracekit import` unpacks a bundle."),
    b"PAR1": ("is a table in Parquet already, not an export", ""),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
}
_PROLOG = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_ROOT = re.compile(rb"<([A-Za-z_][\w.:-]*)[\s/>]")


def head(path: Path) -> bytes:
    """Return the first bytes of a file, enough to tell what it is."""
    with open_input(path) as file:
        try:
            return file.read(_HEAD)
        except OSError as error:
            raise unreadable(path, error) from error


def root(beginning: bytes) -> str:
    """Return the name of the root element that a file begins with; "" where it has none."""
    prolog = _PROLOG.match(beginning)
    found = _ROOT.match(beginning, prolog.end() if prolog else 0)
    return found[1].decode("ascii", "replace") if found else ""


def not_an_export(path: Path) -> InputError:
    """Say what a file is that should have been an export of tables."""
    beginning = head(path)
    name = root(beginning)
    if not beginning.strip():
        return InputError(f"{path} is empty.", hint="Export it again.")
    for magic, (words, hint) in _STRANGERS.items():
        if beginning.startswith(magic):
            return InputError(f"{path} {words}.", hint=hint)
    if name == TOC_ROOT:
        return InputError(
            f"{path} is the table of contents of a trace, not a table.",
            hint="Export a table: --xpath '/trace-toc/run[@number=\"1\"]/data/table[@schema=…]'.",
        )
    if name == ROOT:
        return DamagedExportError(f"{path} is cut before its first table.", hint="Export it again.")
    if name:
        return InputError(f"{path} is XML with the root <{name}>, not an export of xctrace.")
    first = beginning.decode("utf-8", "replace").strip().partition("\n")[0][:120]
    return InputError(f"{path} is not XML; it begins with {first!r}.")
