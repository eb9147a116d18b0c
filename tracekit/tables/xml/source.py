"""A file of XML as a stream of elements, hardened against hostile and damaged files.

Entities and document types are refused, nothing is fetched, depth and lengths are bounded by
libxml2's own limits, and memory is freed row by row.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

from lxml import etree
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.base import InputError, declares_document_type, hostile, open_input, unreadable
from tracekit.tables.drift import DamagedExportError


class MalformedError(Exception):
    """The export breaks its own grammar; what was read before stays valid."""


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


_LONGEST_TAG = 1 << 20


def whole_tags(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a file in parts that end before a `<`, so that none cuts a tag of some length."""
    rest = b""
    for block in blocks:
        text = rest + block
        cut = max(0, text.rfind(b"<"))
        cut = cut if len(text) - cut <= _LONGEST_TAG else len(text)
        yield text[:cut]
        rest = text[cut:]
    yield rest


_BLOCK = 1 << 16
_ADVICE = re.compile(r",? (?:use|try) XML_PARSE_HUGE(?: option)?")
_LONGEST_SILENCE = 1 << 24
_LONGEST_REASON = 200
_TAGS = (ROOT, "node", "schema", "row")


def batches(
    path: Path, through: Callable[[Iterator[bytes]], Iterator[bytes]] = iter
) -> Iterator[list[Element]]:
    """Yield the elements that make up an export's tables, as they end: some of them at a time.

    They live until the next ones are asked for. The bytes of the file go `through` a repair,
    if there is one.
    """
    events = _Events(path)
    for block in through(_blocks(path)):
        ended, failure = events.feed(block)
        yield ended
        if failure is not None:
            raise failure
        _forget(ended)
    ended, failure = events.close()
    yield ended
    if failure is not None:
        raise failure


class _Events:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = etree.XMLPullParser(
            events=("end",),
            tag=_TAGS,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
            huge_tree=False,
        )
        self._begun = False
        self._silent = 0

    def feed(self, block: bytes) -> tuple[list[Element], Exception | None]:
        try:
            self._parser.feed(block)
        except etree.XMLSyntaxError as error:
            return self._ended(), self._explained(error.msg)
        ended = self._ended()
        # An undeclared entity stops the parser without an exception.
        for fatal in self._parser.feed_error_log.filter_from_fatals():
            return ended, self._explained(fatal.message)
        self._silent = 0 if ended else self._silent + len(block)
        if self._silent > _LONGEST_SILENCE:
            return ended, MalformedError(f"there is no row in {_LONGEST_SILENCE >> 20} MB")
        return ended, None

    def close(self) -> tuple[list[Element], Exception | None]:
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            return self._ended(), self._explained(error.msg)
        ended = self._ended()
        return ended, None if self._begun else not_an_export(self._path)

    def _ended(self) -> list[Element]:
        ended = cast("list[Element]", [element for _, element in self._parser.read_events()])
        if ended and not self._begun:
            self._check_root(ended[0])
            self._begun = True
        return ended

    def _check_root(self, element: Element) -> None:
        tree = element.getroottree()
        if tree.docinfo.internalDTD:
            raise hostile(self._path)
        if tree.getroot().tag != ROOT:
            raise not_an_export(self._path)

    def _explained(self, message: str) -> Exception:
        if not self._begun:
            return not_an_export(self._path)
        words = _ADVICE.sub("", message).replace("no element found", "it has no end")
        return MalformedError(" ".join(words.split())[:_LONGEST_REASON])


def _forget(ended: list[Element]) -> None:
    """Free what stands before the last element; what comes after it is not yet whole."""
    element = ended[-1] if ended else None
    ended.clear()
    while element is not None and (parent := element.getparent()) is not None:
        del parent[:-1]
        element = parent


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with open_input(path) as file:
            head = file.read(_BLOCK)
            if declares_document_type(head):
                raise hostile(path)
            yield head
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise unreadable(path, error) from error
