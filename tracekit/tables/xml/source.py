"""A file of XML as a stream of elements, hardened against hostile and damaged files.

Entities and document types are refused, nothing is fetched, depth and lengths are bounded by
libxml2's own limits, and memory is freed row by row.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import cast

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import InputError, files
from tracekit.tables.drift import DamagedExportError
from tracekit.tables.xcode_counters import refused_table


class MalformedError(Exception):
    """The export breaks its own grammar; the rows that were read before stay valid."""


ROOT = "trace-query-result"
TOC_ROOT = "trace-toc"
_HEAD = 1 << 14
_PROLOG = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s+|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)
_ROOT = re.compile(rb"<([A-Za-z_][\w.:-]*)[\s/>]")


_OTHER_FILES = (
    ((b"\x1f\x8b",), "compressed by gzip", "Unpack it first: `gunzip FILE`."),
    (
        (b"PK\x03\x04", b"PK\x05\x06"),
        "a zip file",
        "Unpack it first; if it holds a bundle, give it a name that ends with .trace.zip.",
    ),
    (
        (b"\xff\xfe<", b"\xfe\xff\0<", b"<\0", b"\0<"),
        "UTF-16",
        "Make it UTF-8 first: `iconv -f UTF-16 -t UTF-8 FILE`.",
    ),
    (
        (b"{", b"["),
        "JSON, such as `gpudebug --json` writes, whose form is not documented",
        "Export the counters of a capture as CSV in Xcode.",
    ),
    ((b"bplist",), "a binary property list", "Name the bundle's folder, which ends with .trace."),
)


def head(path: Path) -> bytes:
    """Return the first bytes of a file, enough to identify it."""
    with files.open_input(path) as file:
        try:
            return file.read(_HEAD)
        except OSError as error:
            raise files.unreadable(path, error) from error


def root(beginning: bytes) -> str:
    """Return the name of the root element that a file begins with; "" if it has none."""
    prolog = _PROLOG.match(beginning)
    prolog_end = prolog.end() if prolog else 0
    match = _ROOT.match(beginning, prolog_end)
    if match:
        return match[1].decode("ascii", "replace")
    return ""


def not_an_export(path: Path) -> InputError:
    """Return the error of a file that is not an export of tables, with its actual content."""
    beginning = head(path)
    name = root(beginning)
    text = beginning.decode("utf-8", "replace")
    first_line, _, _ = text.strip().partition("\n")
    if name == ROOT:
        return DamagedExportError(f"{path} is cut before its first table.", hint="Export it again.")
    if not first_line:
        return InputError(f"{path} is empty.", hint="Export it again.")
    for marks, description, hint in _OTHER_FILES:
        if beginning.startswith(marks):
            return InputError(f"{path} is {description}, and no export of a table.", hint=hint)
    if name:
        hint = 'Export a table: --xpath \'/trace-toc/run[@number="1"]/data/table[@schema="…"]\'.'
        description = f"is XML with the root <{name}>"
        return InputError(f"{path} {description}, and no export of a table.", hint=hint)
    table_error = refused_table(path)
    if table_error is not None:
        return table_error
    return InputError(
        f"{path} is not XML; it begins with {first_line[:60]!r}, and no export of a table.",
        hint="`xctrace export` writes exports, with --toc or --xpath.",
    )


_LONGEST_TAG = 1 << 20


def whole_tags(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a file in parts that end before a `<`, so that none cuts a tag of some length."""
    remainder = b""
    for block in blocks:
        text = remainder + block
        end = max(0, text.rfind(b"<"))
        if len(text) - end > _LONGEST_TAG:
            end = len(text)
        yield text[:end]
        remainder = text[end:]
    yield remainder


_BLOCK = 1 << 16
_ADVICE = re.compile(r",? (?:use|try) XML_PARSE_HUGE(?: option)?")
_LONGEST_SILENCE = 1 << 24
_LONGEST_REASON = 200
_TAGS = (ROOT, "node", "schema", "row")


def batches(
    path: Path, through: Callable[[Iterator[bytes]], Iterator[bytes]] = iter
) -> Iterator[list[Element]]:
    """Yield the elements of the tables of an export, as they end: some of them at a time.

    They live until the next ones are requested. The bytes of the file go `through` a repair, if
    there is one.
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
    has_begun = False
    silent = 0
    for block in chain(through(blocks_of(path)), (None,)):
        failure = _feed(parser, block)
        elements = cast("list[Element]", [element for _, element in parser.read_events()])
        if elements and not has_begun:
            _check_root(path, elements[0])
            has_begun = True
        failure = failure or _find_fatal(parser)
        if elements or block is None:
            silent = 0
        else:
            silent += len(block)
        if silent > _LONGEST_SILENCE:
            failure = failure or f"there is no row in {_LONGEST_SILENCE >> 20} MB"
            has_begun = True
        yield elements
        if failure and has_begun:
            words = _ADVICE.sub("", failure).replace("no element found", "it has no end")
            reason = " ".join(words.split())
            raise MalformedError(reason[:_LONGEST_REASON])
        if failure:
            raise not_an_export(path)
        _forget(elements)
    if not has_begun:
        raise not_an_export(path)


def _feed(parser: etree.XMLPullParser, block: bytes | None) -> str:
    """Feed a block to a parser, or None at the end; return the message if it fails, or ""."""
    try:
        if block is None:
            parser.close()
        else:
            parser.feed(block)
    except etree.XMLSyntaxError as error:
        return error.msg
    return ""


def _find_fatal(parser: etree.XMLPullParser) -> str:
    """Return the message of a fatal error without an exception, as for an undeclared entity."""
    for fatal in parser.feed_error_log.filter_from_fatals():
        if fatal.message:
            return fatal.message
    return ""


def _check_root(path: Path, element: Element) -> None:
    tree = element.getroottree()
    if tree.docinfo.internalDTD:
        raise files.hostile(path)
    if tree.getroot().tag != ROOT:
        raise not_an_export(path)


def node_of(element: Element) -> Element | None:
    """Return the node of a row or a header, or a node itself; None for the root."""
    node = element if element.tag == "node" else element.getparent()
    if node is None:
        return None
    parent = node.getparent()
    if node.tag != "node" or parent is None or parent.getparent() is not None:
        raise MalformedError(f"a <{element.tag}> does not belong here")
    return node


def _forget(elements: list[Element]) -> None:
    """Free all elements before the last one; the elements after it are not yet whole."""
    if not elements:
        return
    parent = elements[-1].getparent()
    elements.clear()
    while parent is not None:
        del parent[:-1]
        parent = parent.getparent()


def blocks_of(path: Path, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield a file; raise InputError if it cannot be read, or declares a document type."""
    try:
        with files.open_input(path) as file:
            block = file.read(size)
            if files.declares_document_type(block):
                raise files.hostile(path)
            while block:
                yield block
                block = file.read(size)
    except OSError as error:
        raise files.unreadable(path, error) from error
