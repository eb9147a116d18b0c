"""Read the output of a program: its first line and number, NaN, and lines that tell a cause."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

Topic = Literal["gpu", "fallback", "memory", "validation"]

_MOST = 64 << 20  # bytes of an output that are searched
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\w)")
# As printf, C++, Python, NumPy and JSON write them. A person's name and a word of a text stay out:
# `Nan` is neither, and `Infinity` counts after a sign that a value follows alone. `_ABOUT_NAN` are
# lines that speak of NaN and print none.
_NOT_FINITE = re.compile(
    r"(?:(?<![\w.'-])[-+]?(?:nan|NaN|NAN|inf|INF)(?:\([a-z0-9]*\))?"
    r"|(?<=[=:,\[(])\s*[-+]?Infinity)(?![\w.'-]*\w)"
)
_ABOUT_NAN = re.compile(
    r"\b(?:no|any|for|without|contains?)\s+(?:nan|inf)\b|\bis\s+(?:nan|inf)\s*[:=?]", re.IGNORECASE
)
_ONE_TOKEN = re.compile(r"inf tokens per second")  # llama.cpp, of a single token
_LONGEST = 120  # characters of a quoted line


class PrintedSign(msgspec.Struct, frozen=True):
    """A line of another program that tells a cause, as `signs.toml` describes it."""

    topic: Topic
    line: str
    words: str
    source: str


class _SignFile(msgspec.Struct):
    signs: tuple[PrintedSign, ...]


@cache
def all_signs() -> tuple[PrintedSign, ...]:
    """Return the known signs, in the order of their file."""
    text = Path(__file__).with_name("signs.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _SignFile).signs


def find_sign(topic: Topic, files: tuple[Path, ...]) -> str:
    """Return the sentence of the first sign of a topic in the files; empty if there is none."""
    for sign in all_signs():
        if sign.topic != topic:
            continue
        for file in files:
            match = re.search(sign.line, read_text(file), re.MULTILINE)
            if match is not None:
                quoted = shorten(match[1])
                return sign.words.replace("{1}", quoted)
    return ""


def read_text(file: Path) -> str:
    """Return the beginning of a file as text, 64 MiB at most; empty if it is data."""
    with file.open("rb") as opened:
        content = opened.read(_MOST)
    if b"\0" in content:
        return ""
    return content.decode(errors="replace")


def first_line(file: Path) -> str:
    """Return the first line of a file that is not blank, shortened; empty if there is none."""
    for line in _lines(file):
        if line.strip():
            return shorten(line)
    return ""


def first_number(file: Path) -> str:
    """Return the first number in a file as it is printed; empty if there is none."""
    match = _NUMBER.search(read_text(file))
    if match is None:
        return ""
    return match[0]


def count_numbers(file: Path) -> int:
    """Return how many numbers a file holds."""
    return sum(1 for _ in _NUMBER.finditer(read_text(file)))


@dataclass(frozen=True)
class NonFiniteLine:
    """The first line with NaN or an infinite number, and how many lines have one."""

    place: int
    line: str
    lines: int


def find_non_finite(file: Path) -> NonFiniteLine | None:
    """Return the first line with NaN or an infinite number; None if there is none."""
    place = 0
    line_count = 0
    quoted = ""
    for number, line in enumerate(_lines(file), start=1):
        numbers = _ABOUT_NAN.sub("", _ONE_TOKEN.sub("", line))
        if _NOT_FINITE.search(numbers):
            line_count += 1
            if not quoted:
                place = number
                quoted = shorten(line)
    if not line_count:
        return None
    return NonFiniteLine(place, quoted, line_count)


def shorten(line: str) -> str:
    """Return a line without blanks at its ends, and of a long one the beginning."""
    stripped = line.strip()
    if len(stripped) <= _LONGEST:
        return stripped
    return f"{stripped[: _LONGEST - 1]}…"


def _lines(file: Path) -> Iterator[str]:
    yield from read_text(file).splitlines()
