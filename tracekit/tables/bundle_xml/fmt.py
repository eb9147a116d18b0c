"""What `fmt` says of a number: the words that Instruments shows for it.

Nobody should parse them, but labels are made of them. Whatever is not listed here is shown as the
number itself. Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Callable

from tracekit.tables.bundle.cells.wording import SAMPLE_KINDS

_MICROSECOND, _MILLISECOND, _SECOND = 10**3, 10**6, 10**9
_DURATIONS = ((_SECOND, "s"), (_MILLISECOND, "ms"), (_MICROSECOND, "µs"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_EXCLUSIVE = 0xEEEEB0B5B2B2EEEE


def time(ns: int) -> str:
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
    for one, unit in _DURATIONS:
        if ns >= one:
            return f"{ns / one:.2f} {unit}"
    return f"{ns} ns"


def size(count: int) -> str:
    """Return a size in bytes in the largest unit below it."""
    for one, unit in _SIZES:
        if count >= one:
            return f"{count / one:.2f} {unit}"
    return f"{count} Bytes"


def grouped(number: int) -> str:
    """Return a number in groups of three digits."""
    return f"{number:,}"


def signpost(number: int) -> str:
    """Return the id of a signpost; one id has a name."""
    return "OS_SIGNPOST_ID_EXCLUSIVE" if number == _EXCLUSIVE else hex(number)


FMT: dict[str, Callable[[int], str]] = {
    **dict.fromkeys(("start-time", "event-time", "sample-time"), time),
    **dict.fromkeys(("duration", "weight"), duration),
    **dict.fromkeys(
        (
            "address", "displayed-surface-swap", "eight-byte-array", "gpu-driver-surface",
            "mach-o-vm-offset", "metal-command-buffer-id", "metal-encoder-id",
            "metal-workload-priority", "register-content", "text-address", "tid",
        ),
        hex,
    ),
    "boolean": lambda number: "Yes" if number else "No",
    "gpu-frame-number": "Frame {}".format,
    "os-signpost-identifier": signpost,
    "private": lambda _: "<private>",
    "size-in-bytes": size,
    "time-sample-kind": lambda number: SAMPLE_KINDS.get(number, str(number)),
    "uint64": grouped,
    "uint64-hex-lowercase": "{:x}".format,
}  # fmt: skip
