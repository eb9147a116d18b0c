"""The values of an export's cells: their text, and the words that people are shown."""

import re
from dataclasses import dataclass

NANOSECONDS = ("start-time", "event-time", "sample-time")
IDENTIFIERS = ("metal-command-buffer-id", "metal-encoder-id", "tid", "address")


@dataclass(frozen=True)
class Compound:
    """A value made of values, each with its engineering type; `fmt` is what people read."""

    fmt: str
    children: "tuple[tuple[str, Cell], ...]"


_SMALL = 1e-3

Cell = int | float | bool | str | Compound | None


def process(name: str, pid: int, session: str | None = None) -> Compound:
    """Make the cell of a process; `session` is the device session, which a host has not."""
    children: tuple[tuple[str, Cell], ...] = (("pid", pid),)
    if session is not None:
        children += (("device-session", session),)
    return Compound(f"{name} ({pid})", children)


def thread(name: str, tid: int, owner: Compound) -> Compound:
    """Make the cell of a thread of the process `owner`."""
    of, _, rest = owner.fmt.rpartition(" (")
    fmt = f"{name} 0x{tid:x} ({of}, pid: {rest.rstrip(')')})"
    return Compound(fmt, (("tid", tid), ("process", owner)))


def leaf(kind: str, value: float | str) -> tuple[str, str]:
    """Return the text of a plain value of an engineering type, and the words for it.

    Raises:
        TypeError: The type holds whole numbers and the value is none.
    """
    if isinstance(value, str):
        return value, value
    if kind == "boolean":
        return str(int(value)), "Yes" if value else "No"
    if kind in {"fixed-decimal", "percent"}:
        return _decimal(value), f"{value:,.2f}" + (" %" if kind == "percent" else "")
    if not isinstance(value, int):
        raise TypeError(f"{kind} holds whole numbers, not {value!r}")
    return str(int(value)), _words(kind, value)


def printable(text: str) -> str:
    """Put U+FFFD for what XML cannot hold: control characters and halves of surrogates."""
    return _UNPRINTABLE.sub("\ufffd", text)


_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _decimal(value: float) -> str:
    """Write nine decimals, and more for a small number, whose first digits they would hide."""
    return f"{value:.9f}" if value == 0 or abs(value) >= _SMALL else f"{value:.20f}"


def _words(kind: str, value: int) -> str:
    if kind in NANOSECONDS:
        return _clock(value)
    if kind in {"duration", "weight"}:
        return _span(value)
    if kind in IDENTIFIERS:
        return f"0x{value:x}"
    if kind == "size-in-bytes":
        return _size(value)
    return str(value) if kind == "pid" else f"{value:,}"


def _clock(value: int) -> str:
    micros = abs(value) // 1000
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    sign = "-" if value < 0 else ""
    return f"{sign}{minutes:02}:{seconds:02}.{micros // 1000:03}.{micros % 1000:03}"


def _span(value: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)):
        if abs(value) >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value} ns"


def _size(value: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value} Bytes"
