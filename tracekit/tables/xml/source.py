"""A file of XML as a stream of elements, hardened against hostile and damaged files.

Entities and document types are refused, nothing is fetched, depth and lengths are bounded by
libxml2's own limits, and memory is freed row by row.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.xml.cells import MalformedError
from tracekit.tables.xml.head import ROOT, not_an_export
from tracekit.toc import declares_document_type, hostile, unreadable

_BLOCK = 1 << 16
_ADVICE = re.compile(r", (?:use|try) XML_PARSE_HUGE(?: option)?")
_LONGEST_SILENCE = 1 << 24
_TAGS = (ROOT, "node", "schema", "row")


def elements(path: Path) -> Iterator[Element]:
    """Yield the elements that make up an export's tables, each one when it ends.

    An element is emptied once it was taken, and forgotten when the next one ends.

    Raises:
        InputError: The file cannot be opened, is not XML, or is hostile.
        MalformedError: The XML is cut or damaged after its first element.
    """
    parser = etree.XMLPullParser(
        events=("end",),
        tag=_TAGS,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )
    events = _Events(path, parser)
    for block in _blocks(path):
        yield from events.feed(block)
    yield from events.close()


class _Events:
    def __init__(self, path: Path, parser: etree.XMLPullParser) -> None:
        self._path = path
        self._parser = parser
        self._begun = False
        self._silent = 0

    def feed(self, block: bytes) -> Iterator[Element]:
        try:
            self._parser.feed(block)
        except etree.XMLSyntaxError as error:
            yield from self._read()
            raise self._explained(error.msg) from error
        self._silent += len(block)
        yield from self._read()
        # An undeclared entity stops the parser without an exception.
        for fatal in self._parser.feed_error_log.filter_from_fatals():
            raise self._explained(fatal.message)
        if self._silent > _LONGEST_SILENCE:
            raise MalformedError(f"there is no row in {_LONGEST_SILENCE >> 20} MB")

    def close(self) -> Iterator[Element]:
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            yield from self._read()
            raise self._explained(error.msg) from error
        yield from self._read()
        if not self._begun:
            raise not_an_export(self._path)

    def _read(self) -> Iterator[Element]:
        for _, element in self._parser.read_events():
            assert isinstance(element, Element)
            if not self._begun:
                self._check_root(element)
                self._begun = True
            self._silent = 0
            yield element
            _forget(element)

    def _check_root(self, element: Element) -> None:
        tree = element.getroottree()
        if tree.docinfo.internalDTD:
            raise hostile(self._path)
        if tree.getroot().tag != ROOT:
            raise not_an_export(self._path)

    def _explained(self, message: str) -> Exception:
        if not self._begun:
            return not_an_export(self._path)
        return MalformedError(_ADVICE.sub("", message).replace("no element found", "it has no end"))


def _forget(element: Element) -> None:
    """Free what was read; the element itself must stay until its next sibling is there."""
    element.clear(keep_tail=True)  # pyright: ignore[reportCallIssue]  # the stubs lack it
    parent = element.getparent()
    if parent is not None:
        while (previous := element.getprevious()) is not None:
            parent.remove(previous)


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            head = file.read(_BLOCK)
            if declares_document_type(head):
                raise hostile(path)
            yield head
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise unreadable(path, error) from error
