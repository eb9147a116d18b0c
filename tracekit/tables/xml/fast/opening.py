"""What stands above the rows of a plain export."""

import re
from dataclasses import dataclass
from typing import BinaryIO

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.xml.fast.irregular import IrregularError, demand
from tracekit.tables.xml.node import ExportColumn, Header

_CHUNK = 1 << 16
_LONGEST = 1 << 20
_HEADER_END = b"</schema>"
_CLOSING = b"</node></trace-query-result>"
_UNTYPED = {"any", "row", "sentinel", "source", "frame", "binary"}
_COLUMN_PARTS = ["mnemonic", "name", "engineering-type"]
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
_BEGINNING = re.compile(
    rb"""\A<\?xml version="1\.0"\?>\n<trace-query-result>\n<node xpath='[^'<&\x00-\x1f]*'>"""
    rb"""<schema [^<>]*>(?:<col>[^!?]*</col>)*</schema>\Z""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Opening:
    """The header of the only table, and the xpath that its node names."""

    header: Header
    xpath: str


def read_opening(file: BinaryIO) -> Opening:
    """Read up to the first row.

    Raises:
        IrregularError: The file does not begin as xctrace begins a table with a header.
    """
    beginning = b""
    while (end := beginning.find(_HEADER_END)) < 0:
        chunk = file.read(_CHUNK)
        demand(chunk and len(beginning) < _LONGEST, "no header")
        beginning += chunk
    end += len(_HEADER_END)
    demand(_BEGINNING.match(beginning[:end]), "another beginning")
    try:
        root = etree.fromstring(beginning[:end] + _CLOSING, _PARSER)
    except etree.XMLSyntaxError as error:
        raise IrregularError("a header that is no XML") from error
    node = root[0]
    file.seek(end + beginning.startswith(b"\n", end))
    return Opening(_header(node[0]), node.get("xpath", ""))


def _header(schema: Element) -> Header:
    columns = tuple(_column(column) for column in schema)
    name = schema.get("name", "")
    demand(name and columns, "a header that is not complete")
    demand(not {one.engineering_type for one in columns} & _UNTYPED, "a column of any type")
    return Header(name, columns)


def _column(column: Element) -> ExportColumn:
    demand([part.tag for part in column] == _COLUMN_PARTS, "a column of other parts")
    demand(not any(len(part) for part in column), "a column of other parts")
    mnemonic, name, engineering_type = (part.text or "" for part in column)
    demand(mnemonic and engineering_type, "a column without a type")
    return ExportColumn(mnemonic, name, engineering_type)
