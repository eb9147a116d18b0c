"""Take down what rows say.

An element with an `id` defines a value, an element with a `ref` repeats it, a sentinel is null.
A value is known when its own element ends, so that a repeat may point into a compound that is
still open.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, compress
from operator import is_, itemgetter, ne

import numpy as np
import pyarrow as pa

# The classes of lxml's elements have no public name.
from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.gathered import (
    ADDRESSES,
    IDENTITIES,
    KINDS,
    NOTHING,
    SENTINEL,
    Gathered,
)
from tracekit.tables.xml.malformed import BadRowError, MalformedError
from tracekit.tables.xml.symbols import STACK_TYPES

_DEEPEST = 64
# What list(element) does, without asking for its length and each child in turn.
_is_nothing = partial(is_, None)
_children: Callable[[Element], list[Element]] = itemgetter(slice(None))


def gather(rows: Sequence[Element], into: Gathered) -> None:
    """Take rows down.

    Raises:
        BadRowError: One has too few cells, too many, or one that is no value. It is taken
            down in part.
    """
    width, first = len(into.columns), len(into.lines) * len(into.columns)
    children = [_children(row) for row in rows]
    counts = [len(some) for some in children]
    whole = len(rows)
    if counts.count(width) != whole:
        whole = next(place for place, count in enumerate(counts) if count != width)
    cells = list(chain.from_iterable(children[:whole]))
    into.lines += [row.sourceline for row in rows]
    tags = [cell.tag for cell in cells]
    other = map(ne, tags, into.columns * whole)
    into.strange += [(first + place, tags[place]) for place in compress(range(len(tags)), other)]
    into.repeated.append(pa.array([cell.get("ref") for cell in cells], pa.string()))
    _define_cells(into, cells, tags, first)
    if whole < len(rows):
        reason = f"a row has {counts[whole]} cells for {width} columns"
        raise BadRowError(first // width + whole, reason)


def _define_cells(into: Gathered, cells: list[Element], tags: list[str], first: int) -> None:
    ids, texts, own, kinds = into.ids, into.texts, into.own, into.tags
    for place in np.flatnonzero(into.repeated[-1].is_null()).tolist():
        cell, tag = cells[place], tags[place]
        text = cell.text
        if text and tag not in KINDS and tag != SENTINEL and not len(cell):
            own.append(len(texts))
            ids.append(cell.get("id"))
            kinds.append(tag)
            texts.append(text)
            continue
        try:
            own.append(_define(into, cell, tag, 0))
        except MalformedError as error:
            row = (first + place) // len(into.columns)
            raise BadRowError(row, str(error)) from error


def _define(into: Gathered, element: Element, tag: str, depth: int) -> int:
    if tag == "frame":
        return _define_frame(into, element, depth)
    key, link = element.get("id"), NOTHING
    if len(element):
        names, parts = _parts(into, element, depth)
        text = element.get("fmt")
        if text is None and tag not in IDENTITIES:
            text = _name(element)
            _word(into, names, parts)
        if tag in KINDS:
            link = _link(into, element, tag, names, parts)
    elif tag == SENTINEL:
        if key is None:
            return NOTHING
        text = None
    else:
        text = element.text or _textless(element, tag, nested=depth > 0)
        if tag in KINDS and tag not in IDENTITIES:
            link = _link(into, element, tag, [], [])
    return _value(into, key, tag, text, link)


def _define_frame(into: Gathered, frame: Element, depth: int) -> int:
    names, parts = _parts(into, frame, depth)
    name, address = frame.get("name"), frame.get("addr")
    binary, source = _first("binary", names, parts), _first("source", names, parts)
    into.frames.append((name, address, binary, source))
    return _value(into, frame.get("id"), "frame", name or address or "", len(into.frames) - 1)


def _value(into: Gathered, key: str | None, tag: str, text: str | None, link: int) -> int:
    number = len(into.texts)
    if link != NOTHING:
        into.links.append((number, link))
    into.ids.append(key)
    into.tags.append(tag)
    into.texts.append(text)
    return number


def _parts(into: Gathered, compound: Element, depth: int) -> tuple[list[str], list[int]]:
    children = _children(compound)
    if children and depth == _DEEPEST:
        raise MalformedError(f"a value is nested more than {_DEEPEST} deep")
    tags = [child.tag for child in children]
    refs = [child.get("ref") for child in children]
    parts: list[int] = []
    defined = compress(range(len(refs)), map(_is_nothing, refs)) if None in refs else ()
    for place in defined:
        if place > len(parts):
            _repeat(into, refs[len(parts) : place], tags, parts)
        child, tag = children[place], tags[place]
        text = child.text
        if text and tag not in KINDS and tag != SENTINEL and not len(child):
            parts.append(len(into.texts))
            into.ids.append(child.get("id"))
            into.tags.append(tag)
            into.texts.append(text)
        else:
            parts.append(_define(into, child, tag, depth + 1))
    if len(refs) > len(parts):
        _repeat(into, refs[len(parts) :], tags, parts)
    return tags, parts


def _repeat(into: Gathered, refs: list[str | None], tags: list[str], parts: list[int]) -> None:
    first, count = NOTHING - 1 - len(into.repeats), len(refs)
    after, tag = len(into.texts), tags[len(parts)]
    if count == 1 or tags.count(tag) == len(tags):
        into.runs.append((after, count, tag))
    else:
        into.runs += [(after, 1, one) for one in tags[len(parts) : len(parts) + count]]
    into.repeats += refs
    parts += range(first, first - count, -1)


def _link(into: Gathered, element: Element, tag: str, names: list[str], parts: list[int]) -> int:
    if tag in STACK_TYPES:
        return _stack(into, names, parts)
    match tag:
        case "process":
            into.identities.append((_first("pid", names, parts), NOTHING, NOTHING))
            return len(into.identities) - 1
        case "thread":
            process = _first("process", names, parts)
            into.identities.append((NOTHING, _first("tid", names, parts), process))
            return len(into.identities) - 1
        case "binary":
            said = map(element.get, ("name", "UUID", "arch", "load-addr", "path"))
            into.binaries.append(tuple(said))
            return len(into.binaries) - 1
        case "source":
            into.sources.append((element.get("line"), _first("path", names, parts)))
            return len(into.sources) - 1
        case _:
            return NOTHING


def _stack(into: Gathered, names: list[str], parts: list[int]) -> int:
    if depth := names.count("frame"):
        into.frames_of_stacks += parts if depth == len(parts) else _all("frame", names, parts)
        into.depths.append(depth)
        return len(into.depths) - 1
    pairs = zip(names, parts, strict=True)
    if wrapped := [part for name, part in pairs if name in STACK_TYPES]:
        into.wrapped.append((len(into.texts), wrapped[0]))
        return NOTHING
    addresses = _all("text-address", names, parts) + _all("text-addresses", names, parts)
    if not addresses:
        return NOTHING
    into.addresses.append(addresses)
    into.depths.append(ADDRESSES)
    return len(into.depths) - 1


def _word(into: Gathered, names: list[str], parts: list[int]) -> None:
    """Word a stack as Instruments does; newer exports wrap one backtrace into another."""
    if depth := names.count("frame"):
        leaf = [_first("frame", names, parts)]
        into.worded.append((len(into.texts), leaf, f" ← ({depth - 1} other frames)"))
    else:
        pairs = zip(names, parts, strict=True)
        inner = [part for name, part in pairs if name.endswith("backtrace")]
        if inner:
            into.worded.append((len(into.texts), inner, ""))


def _first(tag: str, names: list[str], parts: list[int]) -> int:
    return parts[names.index(tag)] if tag in names else NOTHING


def _all(tag: str, names: list[str], parts: list[int]) -> list[int]:
    return [part for name, part in zip(names, parts, strict=True) if name == tag]


def _textless(element: Element, tag: str, *, nested: bool) -> str | None:
    readable = element.get("fmt")
    if not (nested or readable is not None or element.get("id") is not None):
        raise MalformedError(f"a <{tag}> holds no value")
    if tag in IDENTITIES:
        return readable
    if tag == "text-addresses":
        return ""  # its words, such as "frag 4", are no addresses
    return (readable if FORMS.get(tag) is Form.TEXT else None) or _name(element) or ""


def _name(element: Element) -> str | None:
    return element.get("name") or element.get("addr")
