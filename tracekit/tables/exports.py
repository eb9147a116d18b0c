"""What a file of XML is, without reading all of its values; which tables a folder holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Literal

from tracekit.errors import InputError
from tracekit.input_file import declares_document_type, hostile, open_input, unreadable
from tracekit.tables.xml.head import ROOT, TOC_ROOT, head, not_an_export, root

_BLOCK = 1 << 22
_SCHEMA = re.compile(rb"""<schema\b((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*/?>""")
_NAME = re.compile(rb"""\s+([\w.:-]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")


@dataclass(frozen=True)
class Content:
    """What a file is: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: which files hold a schema, which are tables of contents.

    `strange` files are neither.
    """

    schemas: dict[str, tuple[Path, ...]]
    tocs: tuple[Path, ...] = ()
    strange: tuple[Path, ...] = ()


def identify(path: Path) -> Content:
    """Tell what a file is by its beginning, and for tables by a scan for their headers.

    Raises:
        InputError: The file cannot be opened.
    """
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Content("toc")
        case name if name == ROOT:
            return Content("tables", tuple(dict.fromkeys(_schemas(path))))
        case _:
            return Content("unknown")


def refusal(path: Path) -> InputError:
    """Say why a file whose kind is unknown is not read."""
    return hostile(path) if declares_document_type(head(path)) else not_an_export(path)


def index(folder: Path) -> ExportIndex:
    """List what the `.xml` files of a folder hold; of an absent folder, nothing."""
    schemas: dict[str, tuple[Path, ...]] = {}
    tocs: list[Path] = []
    strange: list[Path] = []
    for path in sorted(path for path in folder.glob("*.xml") if path.is_file()):
        content = identify(path)
        if content.kind == "toc":
            tocs.append(path)
        elif content.kind == "unknown":
            strange.append(path)
        for schema in content.schemas:
            schemas[schema] = (*schemas.get(schema, ()), path)
    return ExportIndex(schemas, tuple(tocs), tuple(strange))


def _schemas(path: Path) -> Iterator[str]:
    rest = b""
    try:
        with open_input(path) as file:
            while block := file.read(_BLOCK):
                text = rest + block
                for found in _SCHEMA.finditer(text):
                    yield from _name(found[1])
                rest = text[text.rfind(b"<") :][:_BLOCK]
    except OSError as error:
        raise unreadable(path, error) from error


def _name(attributes: bytes) -> Iterator[str]:
    for key, double, single in _NAME.findall(attributes):
        if key == b"name":
            yield unescape((double or single).decode("utf-8", "replace"))
