"""Small bundles that would take gigabytes, or forever, if what they say were believed."""

import struct
import zlib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from bundle_writer import TIME, Col, RunInfo, Table
from bundle_writer.examples import small_bundle
from bundle_writer.stores import descriptor, write_records
from bundle_writer.whole import write_bundle
from fuzzing.array_bombs import ARRAYS, Bomb
from fuzzing.bundle_damage import files_of

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


def _long_setting(path: Path) -> Path:
    info = RunInfo(arguments="x" * (1 << 24), settings={"Metal": [{"GPU": ["y" * (1 << 24)]}]})
    return small_bundle(path, info=info)


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


_MADE: dict[str, Bomb] = ARRAYS | {
    "2^60 rows": lambda path: _many_rows(path, 1 << 60),
    "50 million rows of zeroes": _zero_rows,
    "an array of 2^32 - 1": _endless_array,
    "an array behind the end": _far_array,
    "long settings": _long_setting,
    "entities in a schema": _laughing_schema,
    "a file in a schema": _outside_schema,
    "150,000 columns": _wide_schema,
    "a deep schema": _deep_schema,
    "a deep list": _deep_list,
    "a list in itself": _list_in_itself,
    "a text, 100,000 times": _text_many_times,
}
