"""What stands on a command line, as numbers: sizes, pairs, constants."""

import re
from collections.abc import Sequence

from tracekit.base.errors import UsageError

_AXES = 3


def pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """Split `NAME=VALUE` of an option that may be repeated.

    Raises:
        UsageError: There is no `=`, or a name is given twice.
    """
    made: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.strip() or not value.strip():
            raise UsageError(f"{option} {word!r} is no pair.", hint=f"Write {option} NAME=VALUE.")
        if name.strip() in made:
            raise UsageError(f"{option} gives {name.strip()!r} twice.")
        made[name.strip()] = value.strip()
    return made


def triple(words: str, option: str) -> tuple[int, int, int]:
    """Read the sizes of a grid or a threadgroup: one to three; those left out are 1.

    Raises:
        UsageError: They are no whole numbers of at least 1, or more than three.
    """
    sizes = [int(one) for one in words.split(",") if re.fullmatch(r"\s*\d{1,9}\s*", one)]
    if not words or len(sizes) != len(words.split(",")) or len(sizes) > _AXES or 0 in sizes:
        told = f"{option} {words!r} is no size." if words else f"{option} is not given."
        raise UsageError(told, hint=f"Write for example {option} 256,1,1.")
    x, y, z = [*sizes, 1, 1][:_AXES]
    return x, y, z


def whole(word: str) -> int:
    """Read a whole number of at least 0; raise UsageError for anything else."""
    if not re.fullmatch(r"\d{1,18}", word):
        raise UsageError(f"{word!r} is no whole number.")
    return int(word)


def constant(word: str) -> int | float | bool:
    """Read the value of a function constant: true, false or a number."""
    if word in {"true", "false"}:
        return word == "true"
    try:
        return int(word, 0) if re.fullmatch(r"[-+]?\w+", word) else float(word)
    except ValueError:
        raise UsageError(
            f"{word!r} is no value of a function constant.",
            hint="Write true, false or a number, such as --constant 0=true.",
        ) from None
