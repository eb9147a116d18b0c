"""Small bundles that would take gigabytes, or forever, if what they say were believed."""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from bundle_writer import TIME, TYPES, Col, Encoder, Process, RunInfo, Table, record_type
from bundle_writer.examples import small_bundle
from bundle_writer.stores import descriptor, write_records
from bundle_writer.whole import write_bundle
from fuzzing.bundle_damage import files_of

Bomb = Callable[[Path], Path]
_STRING, _METADATA, _THREAD = (
    list(TYPES).index(f"{name}TypeID")
    for name in ("XRPrototypeString", "XROSLogMetadata", "XRThread")
)
_CORE = "corespace/run1/core"


def bombs() -> Iterator[tuple[str, Bomb]]:
    """Yield what makes them, by names."""
    _zeroes_squeezed()  # once, before there are processes for each
    for name in _SQUEEZED:
        yield f"zeroes in {name}", partial(_zeroes, name)
    yield from _MADE.items()


def _zeroes(ending: str, path: Path) -> Path:
    bundle = small_bundle(path)
    for name in files_of(bundle):
        if name.endswith(ending):
            (bundle / name).write_bytes(_zeroes_squeezed())
    return bundle


@cache
def _zeroes_squeezed() -> bytes:
    """Return a zlib stream of 256 MiB of zeroes, which is one of them."""
    stream = zlib.compressobj(1)
    parts = [stream.compress(bytes(1 << 24)) for _ in range(1 << 4)]
    return b"".join([*parts, stream.flush()])


_SQUEEZED = (
    "/bulkstore", "/bulkstore_descriptor", "/schema.xml", "/spec.plist", "/strings", ".etypes",
    "arrayUniquer/integeruniquer.data", "arrayUniquer/integeruniquer.index",
    "typedArrayUniquer/integeruniquer.data", "exposedTableInfo.plist", "form.template",
)  # fmt: skip


def _records(path: Path, type_id: str, ids: Sequence[int], encoder: Encoder) -> Path:
    columns = [Col("time", "T", "XRStartTimeTypeID", TIME), Col("x", "X", f"{type_id}TypeID")]
    block = np.zeros(len(ids), record_type(columns))
    block["x"] = ids
    table = Table("bomb", columns, blocks=[block])
    return write_bundle(path, [table], encoder=encoder)


def _many_rows(path: Path, rows: int) -> Path:
    columns = [Col("time", "T", "XRStartTimeTypeID", TIME)]
    table = Table("bomb", columns, [(1,)])
    bundle = write_bundle(path, [table])
    place = bundle / _CORE / "stores/indexed-store-0/bulkstore_descriptor"
    place.write_bytes(zlib.compress(descriptor(table, rows)))
    return bundle


def _zero_rows(path: Path) -> Path:
    bundle = _many_rows(path, 50_000_000)
    place = bundle / _CORE / "stores/indexed-store-0/bulkstore"
    block = np.zeros(1_000_000, "V16")
    write_records(place, (block for _ in range(50)), 16, level=9)
    return bundle


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


def _endless_array(path: Path) -> Path:
    bundle = small_bundle(path)
    for kind in ("arrayUniquer", "typedArrayUniquer"):
        place = bundle / _CORE / f"uniquing/{kind}/integeruniquer.data"
        content = bytearray(zlib.decompress(place.read_bytes()))
        struct.pack_into("<I", content, 0x20, 0xFFFFFFFF)
        place.write_bytes(zlib.compress(content))
    return bundle


def _far_array(path: Path) -> Path:
    bundle = small_bundle(path)
    place = bundle / _CORE / "uniquing/arrayUniquer/integeruniquer.index"
    content = bytearray(zlib.decompress(place.read_bytes()))
    struct.pack_into("<II", content, 0x28, 0xFFFFFFFC, 0xFFFFFFFF)
    place.write_bytes(zlib.compress(content))
    return bundle


def _long_names(path: Path) -> Path:
    """A megabyte of a process's name, in the texts of 20,000 threads."""
    encoder = Encoder()
    process = encoder.process(Process(7, "x" * (1 << 20)))
    ids = [encoder.arrays.append([tid, process]) for tid in range(20_000)]
    return _records(path, "XRThread", ids, encoder)


def _long_setting(path: Path) -> Path:
    info = RunInfo(arguments="x" * (1 << 24), settings={"Metal": [{"GPU": ["y" * (1 << 24)]}]})
    return small_bundle(path, info=info)


def _long_stacks(path: Path) -> Path:
    """Stacks that are made of one long array of addresses, many times."""
    encoder = Encoder()
    encoder.arrays.append([7, 0])
    encoder.arrays.append(range(100_000))
    encoder.arrays.append([1] * 100_000)
    ids = [encoder.arrays.append([1] * (50_000 + n % 3)) for n in range(100)]
    return _records(path, "XRBacktrace", ids, encoder)


def _laughing_schema(path: Path) -> Path:
    bundle = small_bundle(path)
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{depth + 1} "{f"&a{depth};" * 10}">' for depth in range(12)
    )
    content = f"<!DOCTYPE schema [{entities}]><schema name='&a12;'>&a12;</schema>"
    return _with_schema(bundle, content)


def _outside_schema(path: Path) -> Path:
    content = (
        '<!DOCTYPE schema [<!ENTITY a SYSTEM "file:///dev/zero">]>'
        '<schema name="metal-gpu-intervals" topology="XRTD64_CC32_R_TypeID">&a;</schema>'
    )
    return _with_schema(small_bundle(path), content)


def _wide_schema(path: Path) -> Path:
    columns = "".join(f'<column mnemonic="{n}"/>' for n in range(150_000))
    return _with_schema(
        small_bundle(path), f'<schema name="metal-gpu-intervals">{columns}</schema>'
    )


def _deep_schema(path: Path) -> Path:
    depth = 500_000
    return _with_schema(small_bundle(path), "<a>" * depth + "</a>" * depth)


def _with_schema(bundle: Path, content: str) -> Path:
    place = bundle / _CORE / "stores/indexed-store-0/schema.xml"
    place.write_bytes(zlib.compress(content.encode()))
    return bundle


def _deep_list(path: Path) -> Path:
    bundle = small_bundle(path)
    lists = "<array>" * 200_000 + "</array>" * 200_000
    content = f'<plist version="1.0">{lists}</plist>'.encode()
    (bundle / _CORE / "uniquing/strings").write_bytes(zlib.compress(content))
    return bundle


def _list_in_itself(path: Path) -> Path:
    bundle = small_bundle(path)
    body = b"bplist00\xa1\x00"
    trailer = struct.pack(">6xBBQQQ", 1, 1, 1, 0, len(body) + 0)
    (bundle / _CORE / "uniquing/strings").write_bytes(zlib.compress(body + b"\x08" + trailer))
    return bundle


def _text_many_times(path: Path) -> Path:
    bundle = small_bundle(path)
    count = 100_000
    text = b"\x5f\x12\x00\x40\x00\x00" + b"x" * (1 << 22)
    array = b"\xaf\x12" + struct.pack(">I", count)
    array += b"".join(struct.pack(">I", 1 + n) for n in range(count))
    body = b"bplist00" + array + text
    table = struct.pack(">I", 8) + struct.pack(">I", 8 + len(array)) * count
    trailer = struct.pack(">6xBBQQQ", 4, 4, count + 1, 0, len(body))
    content = zlib.compress(body + table + trailer)
    (bundle / _CORE / "uniquing/strings").write_bytes(content)
    return bundle


_MADE: dict[str, Bomb] = {
    "2^60 rows": lambda path: _many_rows(path, 1 << 60),
    "50 million rows of zeroes": _zero_rows,
    "one array, 200,000 times": _one_array_many_times,
    "one label, 200,000 times": _one_label_many_times,
    "a long text in 20,000 labels": _long_text_in_many_labels,
    "many parts": _many_parts,
    "long laughs": _long_laughs,
    "laughs": _laughs,
    "varied laughs": _varied_laughs,
    "a label in itself": _label_in_itself,
    "a label 1,000 deep": _deep_label,
    "an array of 2^32 - 1": _endless_array,
    "an array behind the end": _far_array,
    "a long name of 20,000 threads": _long_names,
    "long settings": _long_setting,
    "long stacks": _long_stacks,
    "entities in a schema": _laughing_schema,
    "a file in a schema": _outside_schema,
    "150,000 columns": _wide_schema,
    "a deep schema": _deep_schema,
    "a deep list": _deep_list,
    "a list in itself": _list_in_itself,
    "a text, 100,000 times": _text_many_times,
}
