"""The heads of the tables in an export: their schemas and paths, found without reading rows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from tracekit.tables.xml.details import detail_name
from tracekit.tables.xml.source import blocks_of, whole_tags

_BLOCK = 1 << 22
_MOST_TABLES = 10_000
_ATTRIBUTES = rb"""(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*/?>"""
_NODE = re.compile(rb"<node\b" + _ATTRIBUTES)
_HEAD = re.compile(rb"<row\b|<schema\b" + _ATTRIBUTES)
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


@dataclass(frozen=True)
class TableHeader:
    """A table of a file: its schema, the xpath above it, and whether a row follows.

    `number` counts the tables of the file from 1. A table without a schema of its own has
    `inherited` that of the table before it, or "" if there is none.
    """

    schema: str
    xpath: str
    number: int
    rows: bool = False
    inherited: bool = False


def headers(path: Path) -> list[TableHeader]:
    """Find the tables of an export, without reading the content of their rows."""
    scan = _HeaderScan()
    for text in whole_tags(blocks_of(path, _BLOCK)):
        if not scan.read(text):
            break
    return scan.headers


class _HeaderScan:
    """The headers that were found so far, and the schema that a table without one inherits."""

    def __init__(self) -> None:
        self.headers: list[TableHeader] = []
        self._schema = ""

    def read(self, text: bytes) -> bool:
        """Find the headers in whole tags; return False if the reader takes no more tables."""
        # Found literally first, which is many times faster than an expression with alternatives.
        matches = re.finditer(b"<node", text)
        starts = [match.start() for match in matches]
        starts.append(len(text))
        position = 0
        for start in starts:
            self._complete_last(_HEAD.finditer(text, position, start))
            node = _NODE.match(text, start)
            if node is None:
                continue
            attributes = _attributes(node[0])
            if attributes is None:
                continue
            if len(self.headers) == _MOST_TABLES:
                return False
            position = node.end()
            self._add(attributes.get("xpath", ""))
        return True

    def _complete_last(self, tags: Iterable[re.Match[bytes]]) -> None:
        """Complete the last header by the tags that follow it: its schema, and its first row."""
        for tag in tags:
            if not self.headers:
                return
            header = self.headers[-1]
            if header.rows:
                return
            if tag[0] == b"<row":
                self.headers[-1] = replace(header, rows=True)
            elif header.inherited:
                attributes = _attributes(tag[0])
                if attributes is not None:
                    self._schema = attributes.get("name", "")
                    self.headers[-1] = replace(header, schema=self._schema, inherited=False)

    def _add(self, xpath: str) -> None:
        detail = detail_name(xpath)
        number = len(self.headers) + 1
        schema = detail or self._schema
        new_header = TableHeader(schema, xpath, number, inherited=not detail)
        self.headers.append(new_header)


def _attributes(tag: bytes) -> dict[str, str] | None:
    """Return the attributes of a tag by the rules of XML; None if it breaks them."""
    if not tag.endswith(b"/>"):
        tag = tag[:-1] + b"/>"
    try:
        element = etree.fromstring(tag.decode("utf-8", "replace"), _PARSER)
    except etree.XMLSyntaxError:
        return None
    return {str(name): str(value) for name, value in element.attrib.items()}
