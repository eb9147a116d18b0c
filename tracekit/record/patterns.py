"""Lines in which a program prints a number: declared patterns, ours and a user's.

Ours are data, in `patterns.toml` next to this module, each with the file that prints it.
"""

import math
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Literal

import msgspec

from tracekit.base import InputError, UsageError, documents, files
from tracekit.workload import Measured

# Printed units in the units of results: the unit there, and the factor.
_UNITS = {
    "ns": ("ns", 1.0),
    "us": ("ns", 1e3),
    "ms": ("ns", 1e6),
    "s": ("ns", 1e9),
    "B": ("bytes", 1.0),
    "kB": ("bytes", 1e3),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "KiB": ("bytes", 2.0**10),
    "MiB": ("bytes", 2.0**20),
    "GiB": ("bytes", 2.0**30),
}
_FORM = "NAME:UNIT:lower|higher|neither:REGEX"
_EXAMPLE = "frame_time:ms:lower:frame took ([0-9.]+) ms"


class Pattern(msgspec.Struct, frozen=True):
    """A number that a program prints: the first group of `line`, a regular expression.

    `unit` is that of the printed number; times become ns and sizes bytes. `better` is the good
    direction, `source` the file that prints the number.
    """

    name: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    line: str
    source: str = ""

    @property
    def result_unit(self) -> str:
        """The unit of its result."""
        unit, _ = _UNITS.get(self.unit, (self.unit, 1.0))
        return unit


class _PatternFile(msgspec.Struct):
    patterns: tuple[Pattern, ...]


@cache
def shipped_patterns() -> tuple[Pattern, ...]:
    """Return the patterns of programs that tracekit knows."""
    text = Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _PatternFile).patterns


def parse_pattern(words: str) -> Pattern:
    """Read a pattern of a user, `NAME:UNIT:DIRECTION:REGEX`; raise UsageError."""
    parts = words.split(":", 3)
    if len(parts) != 4 or not re.fullmatch(r"\w+", parts[0]):  # noqa: PLR2004  as the form says
        raise UsageError(f"{words!r} is not {_FORM}.", hint=f"Such as '{_EXAMPLE}'.")
    name, unit, better, line = parts
    if better not in {"lower", "higher", "neither"}:
        raise UsageError(
            f"Invalid direction {better!r} in {words!r}.",
            hint="Say which direction is good news: lower, higher or neither.",
        )
    try:
        groups = re.compile(line, re.MULTILINE).groups
    except re.error as error:
        raise UsageError(f"{line!r} is not a regular expression: {error}.") from error
    if groups < 1:
        raise UsageError(
            f"{line!r} has no group for the number.", hint=f"Such as ([0-9.]+) in '{_EXAMPLE}'."
        )
    values = {"name": name, "unit": unit, "better": better, "line": line}
    return msgspec.convert(values, Pattern)


def save_patterns(file: Path, patterns: Iterable[Pattern]) -> None:
    """Write a user's patterns for later stages; no file if there are none."""
    user_patterns = tuple(patterns)
    if user_patterns:
        file.write_bytes(msgspec.json.encode(user_patterns))


def load_patterns(file: Path) -> tuple[Pattern, ...]:
    """Return the patterns in a file, none without such a file."""
    try:
        content = files.read_input(file)
        return documents.decode_json(content, tuple[Pattern, ...])
    except FileNotFoundError:
        return ()
    except msgspec.MsgspecError as error:
        raise InputError(f"{file} cannot be read: {error}.") from error


def read_lines(text: str, patterns: Iterable[Pattern]) -> dict[str, Measured]:
    """Return the numbers that the patterns find: the median, and all if there are several.

    Of several patterns with one name the first that finds a number counts.
    """
    results: dict[str, Measured] = {}
    for pattern in patterns:
        if pattern.name in results:
            continue
        unit, factor = _UNITS.get(pattern.unit, (pattern.unit, 1.0))
        samples: list[float] = []
        for match in re.finditer(pattern.line, text, re.MULTILINE):
            number = _read_number(match[1])
            if number is not None:
                samples.append(number * factor)
        if samples:
            results[pattern.name] = summarize_samples(samples, unit, pattern.better)
    return results


def summarize_samples(
    samples: list[float], unit: str, better: Literal["lower", "higher", "neither"]
) -> Measured:
    """Return the median of one measurement or several, with the samples if several."""
    kept_samples: tuple[float, ...] = ()
    if len(samples) > 1:
        kept_samples = tuple(samples)
    return Measured(float(median(samples)), unit, better, samples=kept_samples)


def _read_number(text: str | None) -> float | None:
    """Return a printed number, without commas between thousands; None for anything else."""
    try:
        number = float((text or "").replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return number
