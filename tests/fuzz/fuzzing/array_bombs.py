"""Bundles whose arrays name one another so that a few of them would be gigabytes of text."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bundle_writer import TIME, TYPES, Col, Encoder, Process, Table, record_type
from bundle_writer.whole import write_bundle

Bomb = Callable[[Path], Path]
_STRING, _METADATA = (
    list(TYPES).index(f"{name}TypeID") for name in ("XRPrototypeString", "XROSLogMetadata")
)


def _records(path: Path, type_id: str, ids: Sequence[int], encoder: Encoder) -> Path:
    columns = [Col("time", "T", "XRStartTimeTypeID", TIME), Col("x", "X", f"{type_id}TypeID")]
    block = np.zeros(len(ids), record_type(columns))
    block["x"] = ids
    table = Table("bomb", columns, blocks=[block])
    return write_bundle(path, [table], encoder=encoder)


def _one_array_many_times(path: Path) -> Path:
    """An index whose 200,000 entries are all the same megabyte."""
    encoder = Encoder()
    encoder.arrays.append(range(130_000))
    encoder.arrays.repeat(200_000)
    return _records(path, "XRProcess", range(200_000), encoder)


def _one_label_many_times(path: Path) -> Path:
    encoder = Encoder()
    encoder.strings.id("x")
    encoder.typed_arrays.append([_STRING, 1] * 4000)
    encoder.typed_arrays.repeat(200_000)
    return _records(path, "XRFormattedLabel", range(200_000), encoder)


def _long_text_in_many_labels(path: Path) -> Path:
    encoder = Encoder()
    long = encoder.strings.id("x" * (1 << 20))
    numbers = [encoder.strings.id(str(number)) for number in range(20_000)]
    for number in numbers:
        encoder.typed_arrays.append([_STRING, long, _STRING, number])
    return _records(path, "XRFormattedLabel", range(20_000), encoder)


def _many_parts(path: Path) -> Path:
    """As many numbers as one taking may have, a few megabytes of them stored."""
    encoder = Encoder()
    encoder.strings.id("x")
    for number in range(400):
        encoder.typed_arrays.append([_STRING, 0] * 4000 + [_STRING, number % 2])
    encoder.typed_arrays.repeat(10)
    return _records(path, "XRFormattedLabel", range(4000), encoder)


def _long_laughs(path: Path) -> Path:
    """Long texts, in labels within labels."""
    encoder = Encoder()
    encoder.typed_arrays.append([_STRING, encoder.strings.id("ha" * 30_000)] * 4000)
    encoder.typed_arrays.append([_METADATA, 0] * 4000)
    return _records(path, "XROSLogMetadata", [1, 0], encoder)


def _laughs(path: Path) -> Path:
    """Labels within labels: each holds the one before it a thousand times."""
    encoder = Encoder()
    encoder.typed_arrays.append([_STRING, encoder.strings.id("ha")])
    for depth in range(7):
        encoder.typed_arrays.append([_METADATA, depth] * 1000)
    return _records(path, "XROSLogMetadata", [7, 6], encoder)


def _varied_laughs(path: Path) -> Path:
    """The same, and no two of them alike."""
    encoder, last = Encoder(), list[int]()
    for number in range(40):
        last.append(encoder.typed_arrays.append([_STRING, encoder.strings.id(f"ha {number}")]))
    for depth in range(6):
        pairs = [(_METADATA, one) for one in last]
        flat = [part for pair in pairs for part in pair]
        last = [
            encoder.typed_arrays.append([*flat, _STRING, number % (depth + 2)])
            for number in range(40)
        ]
    return _records(path, "XROSLogMetadata", last, encoder)


def _label_in_itself(path: Path) -> Path:
    encoder = Encoder()
    encoder.typed_arrays.append([_METADATA, 0])
    return _records(path, "XROSLogMetadata", [0], encoder)


def _deep_label(path: Path) -> Path:
    encoder = Encoder()
    encoder.typed_arrays.append([_STRING, 0])
    for depth in range(1000):
        encoder.typed_arrays.append([_METADATA, depth])
    return _records(path, "XROSLogMetadata", [1000], encoder)


def _long_names(path: Path) -> Path:
    """A megabyte of a process's name, in the texts of 20,000 threads."""
    encoder = Encoder()
    process = encoder.process(Process(7, "x" * (1 << 20)))
    ids = [encoder.arrays.append([tid, process]) for tid in range(20_000)]
    return _records(path, "XRThread", ids, encoder)


def _long_stacks(path: Path) -> Path:
    """Stacks that are made of one long array of addresses, many times."""
    encoder = Encoder()
    encoder.arrays.append([7, 0])
    encoder.arrays.append(range(100_000))
    encoder.arrays.append([1] * 100_000)
    ids = [encoder.arrays.append([1] * (50_000 + n % 3)) for n in range(100)]
    return _records(path, "XRBacktrace", ids, encoder)


ARRAYS: dict[str, Bomb] = {
    "one array, 200,000 times": _one_array_many_times,
    "one label, 200,000 times": _one_label_many_times,
    "a long text in 20,000 labels": _long_text_in_many_labels,
    "many parts": _many_parts,
    "long laughs": _long_laughs,
    "laughs": _laughs,
    "varied laughs": _varied_laughs,
    "a label in itself": _label_in_itself,
    "a label 1,000 deep": _deep_label,
    "a long name of 20,000 threads": _long_names,
    "long stacks": _long_stacks,
}
