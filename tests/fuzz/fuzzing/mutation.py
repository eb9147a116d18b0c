"""Damage: what a broken disk, a broken pipe, an editor or an enemy may do to an export."""

import re
from collections.abc import Callable
from random import Random

Change = tuple[int, int, bytes]  # from, to, what stands there now

_TAG = re.compile(rb"</?([\w.-]+)[^<>]*>")
_KEY = re.compile(rb'\b(?:id|ref)="([^"]*)"')
_ATTRIBUTE = re.compile(rb' [\w:.-]+="[^"]*"')
_TEXT = re.compile(rb">([^<>]+)<")
_LETTERS = [
    *(b"\x00", b"\x01", b"\x0b", b"\x0c", b"\x7f", b"\x85", b"\r", b"\n", b"\t", b" "),
    *(b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\xc2", b"\x80"),
    *(b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xc2\x85"),
    *(b"<", b"&", b'"', b"'", b">", b"/", b"=", b"]]>", b'""', b"a", b"x:", b":", b"\xd9\xa1"),
]
_REFERENCES = [
    *(b"&amp;", b"&lt;", b"&nbsp;", b"&#0;", b"&#x110000;", b"&#xD800;", b"&#9;", b"&#13;"),
    *(b"&#65", b"&#x;", b"&#;", b"&#xFFFE;", b"&#00000000000065;", b"&;", b"& ", b"&lt", b"&AMP;"),
]
_MARKUP = [
    *(b"<!--", b"-->", b"<!-- a -- b -->", b"<!-- a -->", b"<![CDATA[", b"<![CDATA[x]]>"),
    *(b"<?x?>", b"<?xml?>", b"<!DOCTYPE a>", b"<row>", b"</row>", b"<row/>", b"<sentinel/>"),
    *(b'<sentinel id="9"/>', b"</node>", b"<node>", b"</trace-query-result>", b"<schema/>"),
    *(b' id="1"', b' ref="1"', b' fmt=""', b" fmt", b' fmt="<"', b' a:b="c"', b' xmlns="x"'),
    *(b' xml:space="x"', b' xmlns:xml="x"'),
]
_NUMBERS = [
    *(b"-", b"0", b"9" * 19, b"9" * 30, b".", b"e5", b"_", b"nan", b"0x1f", b"+1", b"-1", b"1.5"),
]
_RAW = _LETTERS + _REFERENCES + _MARKUP + _NUMBERS


def mutated(random: Random, content: bytes) -> tuple[bytes, int]:
    """Return the content with one to three changes, and where the first of them is."""
    first = len(content)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        start, end, new = random.choice(_CHANGES)(random, content)
        content = content[:start] + new + content[end:]
        first = min(first, start)
    return content, first


def _anywhere(random: Random, content: bytes) -> int:
    return random.randrange(len(content) + 1)


def _chosen(random: Random, pattern: re.Pattern[bytes], content: bytes) -> re.Match[bytes] | None:
    """Return a match of the pattern, near a random place."""
    found = pattern.search(content, _anywhere(random, content))
    return found or pattern.search(content)


def _cut(random: Random, content: bytes) -> Change:
    return _anywhere(random, content), len(content), b""


def _lose(random: Random, content: bytes) -> Change:
    place = _anywhere(random, content)
    return place, min(place + random.choice([1, 1, 2, 10, 200]), len(content)), b""


def _flip(random: Random, content: bytes) -> Change:
    place = random.randrange(max(len(content), 1))
    byte = content[place] if content else 0
    return place, place + 1, bytes([byte ^ (1 << random.randrange(8))])


def _set(random: Random, content: bytes) -> Change:
    place = _anywhere(random, content)
    return place, place + 1, bytes([random.randrange(256)])


def _insert(random: Random, content: bytes) -> Change:
    place = _anywhere(random, content)
    return place, place, random.choice(_RAW)


def _repeat(random: Random, content: bytes) -> Change:
    place = _anywhere(random, content)
    return place, place, content[place : place + random.choice([1, 5, 60, 400])]


def _move(random: Random, content: bytes) -> Change:
    found, other = _chosen(random, _TAG, content), _chosen(random, _TAG, content)
    if found is None or other is None:
        return _insert(random, content)
    return *found.span(), random.choice([other[0], b"", found[0] * 2])


def _rename(random: Random, content: bytes) -> Change:
    found, other = _chosen(random, _TAG, content), _chosen(random, _TAG, content)
    if found is None or other is None:
        return _insert(random, content)
    return *found.span(1), random.choice([other[1], b"x", b"", b"start-time", b"sentinel", b"row"])


def _rekey(random: Random, content: bytes) -> Change:
    found, other = _chosen(random, _KEY, content), _chosen(random, _KEY, content)
    if found is None or other is None:
        return _insert(random, content)
    number = found[1]
    news = [
        other[1],
        b"",
        b"0",
        b"0" + number,
        number + b"0",
        b" " + number,
        b"-1",
        b"9" * 25,
        b"x",
    ]
    if number.isdigit():
        news += [str(int(number) + step).encode() for step in (-1, 1, 2)]
    return *found.span(1), random.choice(news)


def _exchange_key(random: Random, content: bytes) -> Change:
    found = _chosen(random, _KEY, content)
    if found is None:
        return _insert(random, content)
    new = b"ref" if found[0].startswith(b"id") else b"id"
    return found.start(), found.start() + len(found[0].partition(b"=")[0]), new


def _attribute(random: Random, content: bytes) -> Change:
    found = _chosen(random, _ATTRIBUTE, content)
    if found is None:
        return _insert(random, content)
    quoted = found[0].replace(b'"', b"'")
    spaced = found[0].replace(b"=", b" =")
    return *found.span(), random.choice([b"", found[0] * 2, quoted, found[0][1:], spaced])


def _reword(random: Random, content: bytes) -> Change:
    found = _chosen(random, _TEXT, content)
    if found is None:
        return _insert(random, content)
    place = random.randrange(len(found[1]) + 1) + found.start(1)
    return random.choice([(*found.span(1), b""), (place, place, random.choice(_RAW))])


_CHANGES: list[Callable[[Random, bytes], Change]] = [
    *(_cut, _lose, _flip, _flip, _set, _insert, _insert, _insert, _repeat, _move, _rename),
    *(_rekey, _rekey, _exchange_key, _attribute, _reword, _reword),
]
