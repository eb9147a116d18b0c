"""Names of attributes that XML does not allow, such as `resident-%`, made readable.

Instruments names the attributes of a track's details after columns that people see. A letter
that no name may hold is written, on its way to the parser, as one from a plane that nobody
uses; `original` writes it back. Only names are touched, and only in the tags of rows: a value
keeps its `%`.
"""

import re
from collections.abc import Iterable, Iterator

_VALUE = rb"(?:\"[^\"<]*\"|'[^'<]*')"
_ROW = re.compile(rb"<row(?:\s+[^\s=\"'<>]+\s*=\s*" + _VALUE + rb")+\s*/?>")
_ATTRIBUTE = re.compile(rb"(\s)([^\s=\"'<>]+)(\s*=\s*" + _VALUE + rb")")
_LEGAL = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_.\x80-\xff-]*+")
_FOREIGN = re.compile(rb"[^A-Za-z0-9_.\x80-\xff-]|\A[0-9.-]")
_SUSPECT = re.compile(
    rb"(?<![^\s=\"'<>])(?!" + _LEGAL.pattern + rb"\s*+=)[^\s=\"'<>]++\s*+=\s*+[\"']"
)
_PLANE = 0xE0100
_OURS = re.compile(f"[{chr(_PLANE)}-{chr(_PLANE + 0x7F)}]")
_LONGEST_TAG = 1 << 20


def repaired(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file with names in the tags of its rows that XML allows."""
    rest = b""
    for block in blocks:
        text = rest + block
        end = text.rfind(b"<")
        if end < 0 or len(text) - end > _LONGEST_TAG:
            end = len(text)
        yield _repaired(text[:end])
        rest = text[end:]
    yield _repaired(rest)


def original(name: str) -> str:
    """Return the name as the file has it."""
    return _OURS.sub(lambda found: chr(ord(found[0]) - _PLANE), name)


def _repaired(text: bytes) -> bytes:
    return _ROW.sub(_repaired_row, text) if _SUSPECT.search(text) else text


def _repaired_row(row: re.Match[bytes]) -> bytes:
    return _ATTRIBUTE.sub(_repaired_attribute, row[0])


def _repaired_attribute(found: re.Match[bytes]) -> bytes:
    if _LEGAL.fullmatch(found[2]):
        return found[0]
    name = _FOREIGN.sub(lambda letter: chr(_PLANE + letter[0][0]).encode(), found[2])
    return found[1] + name + found[3]
