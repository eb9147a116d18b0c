"""What `fmt` says of a number: the words that Instruments shows for it.

Nobody should parse them, but labels are made of them. Here they are made one by one, since a file
says each value once; which type has which words is told in `bundle/cells/wording.py`.
"""

from collections.abc import Callable, Sequence

from tracekit.tables.bundle.cells.number_texts import UNITS_OF_SIZE, UNITS_OF_TIME
from tracekit.tables.bundle.cells.wording import (
    EXCLUSIVE,
    EXCLUSIVE_NAME,
    PRIVATE,
    SAMPLE_KINDS,
    WORDS,
    Words,
)

_MICROSECOND, _SECOND = 10**3, 10**9


def moment(ns: int) -> str:
    """Return a time as minutes, seconds, milliseconds and microseconds, what is below cut off.

    How Instruments shows an hour is not known; minutes just go on.
    """
    minutes, seconds = divmod(ns // _SECOND, 60)
    below = ns % _SECOND // _MICROSECOND
    return f"{minutes:02}:{seconds:02}.{below // 1000:03}.{below % 1000:03}"


def duration(ns: int) -> str:
    """Return a duration in the largest unit below it, with two digits behind the point.

    They are those of the float next to it: 4,025,000 ns are 4.03 ms, and 1,295,000 ns 1.29 ms.
    """
    return _in_units(ns, UNITS_OF_TIME)


def size(count: int) -> str:
    """Return a size in bytes in the largest unit below it."""
    return _in_units(count, UNITS_OF_SIZE)


def signpost(number: int) -> str:
    """Return the id of a signpost; one id has a name."""
    return EXCLUSIVE_NAME if number == EXCLUSIVE else hex(number)


def _in_units(number: int, units: Sequence[tuple[str, int]]) -> str:
    for unit, of in reversed(units[1:]):
        if number >= of:
            return f"{number / of:.2f} {unit}"
    return f"{number} {units[0][0]}"


_ONE: dict[Words, Callable[[int], str]] = {
    Words.GROUPED: "{:,}".format,
    Words.DURATION: duration,
    Words.MOMENT: moment,
    Words.SIZE: size,
    Words.HEXADECIMAL: hex,
    Words.DIGITS_OF_16: "{:x}".format,
    Words.SIGNPOST: signpost,
    Words.FLAG: lambda number: "Yes" if number else "No",
    Words.SAMPLE_KIND: lambda number: SAMPLE_KINDS.get(number, str(number)),
    Words.FRAME: "Frame {}".format,
}
FMT: dict[str, Callable[[int], str]] = {
    **{tag: _ONE[words] for tag, words in WORDS.items()},
    "private": lambda _: PRIVATE,
}
