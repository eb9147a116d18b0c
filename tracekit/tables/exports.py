"""What a file of XML is, without reading all of its values; which tables a folder holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Literal

from tracekit.tables.xml.head import ROOT, TOC_ROOT, head, root
from tracekit.toc import unreadable

_BLOCK = 1 << 22
_SCHEMA = re.compile(rb"""<schema\b((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*/?>""")
_NAME = re.compile(rb"""\s+([\w.:-]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")


@dataclass(frozen=True)
class Identity:
    """What a file is: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: which files hold a schema, and which are tables of contents."""

    schemas: dict[str, tuple[Path, ...]]
    tocs: tuple[Path, ...] = ()


def identify(path: Path) -> Identity:
    """Tell what a file is by its beginning, and for tables by a scan for their headers.

    Raises:
        InputError: The file cannot be opened.
    """
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Identity("toc")
        case name if name == ROOT:
            return Identity("tables", tuple(dict.fromkeys(_schemas(path))))
        case _:
            return Identity("unknown")


def index(folder: Path) -> ExportIndex:
    """List what the `.xml` files of a folder hold; of an absent folder, nothing."""
    schemas: dict[str, tuple[Path, ...]] = {}
    tocs: list[Path] = []
    for path in sorted(folder.glob("*.xml")):
        identity = identify(path)
        if identity.kind == "toc":
            tocs.append(path)
        for schema in identity.schemas:
            schemas[schema] = (*schemas.get(schema, ()), path)
    return ExportIndex(schemas, tuple(tocs))


def _schemas(path: Path) -> Iterator[str]:
    rest = b""
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                text = rest + block
                for found in _SCHEMA.finditer(text):
                    yield from _name(found[1])
                begun = text.rfind(b"<schema")
                rest = b"" if begun < 0 or _SCHEMA.match(text, begun) else text[begun:][-_BLOCK:]
                rest = rest or text[-len(b"<schema") :]
    except OSError as error:
        raise unreadable(path, error) from error


def _name(attributes: bytes) -> Iterator[str]:
    for key, double, single in _NAME.findall(attributes):
        if key == b"name":
            yield unescape((double or single).decode("utf-8", "replace"))
