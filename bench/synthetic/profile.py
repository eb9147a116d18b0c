"""Samples of call stacks: rows of repeats, and now and then a stack of many frames."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from reading.decoded import Column
from synthetic.elements import Elements, Inside, moment, quoted, span
from synthetic.export import Batch, Synthetic, optional, row
from synthetic.identities import PROCESSES, Thread, process_writer, thread_writer

_COLUMNS = [
    Column("time", "sample-time"),
    Column("thread", "thread"),
    Column("process", "process"),
    Column("core", "core"),
    Column("thread-state", "thread-state"),
    Column("weight", "weight"),
    Column("stack", "backtrace"),
]
_ROWS = 512
_BINARIES = 48
_FUNCTIONS = 9000
_CALLS = 4000
_DEEPEST = 60
_NAMES = (
    "fn_{}",
    "-[Object{} perform:with:]",
    "dyld4::prepare{}(dyld4::APIs&, mach_o::Header const*)",
    "std::vector<T{}>::operator[](unsigned long) const",
    'operator""_ns{}(unsigned long long)',
)
_THREADS = [
    Thread("Main Thread" if k % 12 == 0 else "worker", 0x8480C1 + 17 * k, PROCESSES[k % 4])
    for k in range(48)
]


class Frame(NamedTuple):
    """An address in a function."""

    function: int
    offset: int

    @property
    def binary(self) -> int:
        """The binary that holds the function."""
        return self.function % _BINARIES

    @property
    def address(self) -> int:
        """Where it was loaded, plus where it stands."""
        return _load_address(self.binary) + self.function * 4096 + self.offset


Stack = tuple[Frame, ...]


def profile(random: np.random.Generator) -> Synthetic:
    """Make `time-profile`, with the stacks of Xcode 14.3 to 26."""
    stacks: list[list[int]] = []
    frames: list[tuple[Any, ...]] = []
    batches = _batches(random, stacks, frames)
    return Synthetic("time-profile", _COLUMNS, batches, stacks, frames)


def _batches(
    random: np.random.Generator, stacks: list[list[int]], frames: list[tuple[Any, ...]]
) -> Iterator[Batch]:
    elements = Elements()
    process = process_writer(elements)
    number_of: dict[Stack, int] = {}
    writers = (
        elements.integers("sample-time", moment),
        thread_writer(elements, process),
        process,
        elements.integers("core", "CPU {}".format),
        elements.texts("thread-state"),
        elements.integers("weight", span),
        optional(_stack_writer(elements, number_of, stacks, frames)),
    )
    calls, now = _calls(random), 57_000_000
    while True:
        values = _values(random, calls, now)
        rows = [
            row(*(write(one) for write, one in zip(writers, cells, strict=True)))
            for cells in zip(*values.values(), strict=True)
        ]
        now = values["time"][-1]
        yield Batch(rows, _worded(values, number_of))


def _values(random: np.random.Generator, calls: list[Stack], now: int) -> dict[str, list[Any]]:
    threads = [_THREADS[one % len(_THREADS)] for one in random.zipf(1.3, _ROWS)]
    offsets = (random.integers(0, 256, _ROWS) * 4).tolist()
    hot = (random.zipf(1.1, _ROWS) % len(calls)).tolist()
    stacks: list[Stack | None] = [
        (calls[one][0]._replace(offset=offset), *calls[one][1:])
        for one, offset in zip(hot, offsets, strict=True)
    ]
    for one in np.flatnonzero(random.random(_ROWS) < 0.01):
        stacks[one] = None
    late = random.random(_ROWS) < 0.03
    return {
        "time": (now + np.cumsum(random.integers(0, 1_000_000, _ROWS))).tolist(),
        "thread": threads,
        "process": [one.process for one in threads],
        "core": random.integers(0, 12, _ROWS).tolist(),
        "thread-state": ["Runnable" if one else "Running" for one in late],
        "weight": (np.where(late, random.integers(1, 60, _ROWS), 1) * 10**6).tolist(),
        "stack": stacks,
    }


def _worded(values: dict[str, list[Any]], number_of: dict[Stack, int]) -> dict[str, list[Any]]:
    threads = values["thread"]
    pids = [one.process.pid for one in threads]
    return values | {
        "thread": [str(one) for one in threads],
        "thread.tid": [one.tid for one in threads],
        "thread.pid": pids,
        "process": [str(one.process) for one in threads],
        "process.pid": pids,
        "stack": [one and number_of[one] for one in values["stack"]],
    }


def _calls(random: np.random.Generator) -> list[Stack]:
    """Return call paths, innermost first; most of them go on from a path before them."""
    found: list[Stack] = []
    for number in range(_CALLS):
        callers = (
            found[int(random.integers(0, number))] if number and random.random() < 0.85 else ()
        )
        functions = (random.zipf(1.2, int(random.integers(2, 12))) % _FUNCTIONS).tolist()
        inner = tuple(Frame(one, 4 * int(random.integers(1, 64))) for one in functions)
        found.append((inner + callers)[-_DEEPEST:])
    return found


def _stack_writer(
    elements: Elements,
    number_of: dict[Stack, int],
    stacks: list[list[int]],
    frames: list[tuple[Any, ...]],
) -> Callable[[Stack], str]:
    numbers: dict[Frame, int] = {}
    binary = elements.kind("binary", _binary)
    path = elements.kind("path", _path)

    def frame(one: Frame) -> Inside:
        numbers[one] = len(frames)
        source, line = _source(one)
        frames.append((_name(one.function), one.address, *_image(one.binary), source, line))
        attributes = f' name="{quoted(_name(one.function))}" addr="{one.address:#x}"'
        content = binary(one.binary)
        if source is not None:
            content += f'<source line="{line}">{path(source)}</source>'
        return attributes, content

    write_frame = elements.kind("frame", frame)

    def inside(stack: Stack) -> Inside:
        content = "".join(write_frame(one) for one in stack)
        number_of[stack] = len(stacks)
        stacks.append([numbers[one] for one in stack])
        return "", content

    return elements.kind("backtrace", inside)


def _source(frame: Frame) -> tuple[str | None, int | None]:
    if frame.function % 5:
        return None, None
    return f"/Users/dev/src/file{frame.function % 300}.cpp", frame.offset % 977 + 1


def _path(source: str) -> Inside:
    return "", quoted(source)


def _name(function: int) -> str:
    return _NAMES[function % len(_NAMES)].format(function)


def _load_address(binary: int) -> int:
    return 0x180000000 + binary * 0x4000000


def _image(binary: int) -> tuple[str, str, str, int, str]:
    name = f"lib{binary}.dylib"
    uuid = f"{binary * 2654435761 % 2**32:08X}-0000-4000-8000-{binary:012X}"
    arch = "arm64e" if binary % 3 else "arm64"
    return name, uuid, arch, _load_address(binary), f"/usr/lib/{name}"


def _binary(number: int) -> Inside:
    name, uuid, arch, loaded, path = _image(number)
    attributes = f' name="{name}" UUID="{uuid}" arch="{arch}" load-addr="{loaded:#x}" path="{path}"'
    return attributes, None
