"""The tests' own writer of bundles, against bytes that are known."""

import plistlib
import struct
import zlib
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_writer import (
    DURATION,
    TIME,
    Backtrace,
    Callstack,
    Col,
    Encoder,
    Label,
    Location,
    Part,
    Process,
    Table,
    Thread,
    ThreadName,
    record_type,
    write_bundle,
)
from bundle_writer.engineering_types import NEVER_REQUIRED, TYPES
from bundle_writer.keyed import archive, by_number
from bundle_writer.stores import header, write_records
from bundle_writer.uniquing import Arrays

SERVER = Process(420, "WindowServer")
COLUMNS = [
    Col("start", "Creation", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("channel-name", "Channel Name", "XRGPUChannelNameTypeID"),
    Col("frame-number", "Frame", "XRGPUFrameNumberTypeID"),
    Col("start-latency", "Latency", "XRDurationTypeID"),
    Col("event-depth", "Depth", "XRMetalEncodingNestingLevelTypeID"),
    Col("event-label", "Label", "XRFormattedLabelTypeID"),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("connection-UUID", "Connection UUID", "XRVisualConnectionUUID64TypeID"),
    Col("color", "Color", "XRRenderingBufferDepthTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("gpu", "Metal Device", "XRMetalDeviceNameTypeID"),
    Col("channel-subtitle", "Channel Subtitle", "XRMetalObjectLabelTypeID"),
    Col("iosurface-accesses", "IOSurface Accesses", "XRFormattedLabelTypeID"),
    Col("bytes", "Bytes", "XRSizeInBytesTypeID"),
    Col("cmdbuffer-id", "Command Buffer Id", "XRMetalCommandBufferIDTypeID"),
    Col("encoder-id", "Encoder Id", "XRMetalCommandBufferIDTypeID"),
    Col("gpu-submission-id", "GPU Submission Id", "XRPrototypeValueTypeID"),
]
LABEL = Label((Part("XRNarrativeTextTypeID", " ("), Part("XRMetalEncoderIDTypeID", 2370013267)))
ROW = (
    420244291, 21459, "Vertex", 1, 342208, 0, LABEL, "Active", 1, 3, SERVER, "M1", "",
    Label((Part("XRPrototypeStringTypeID", ""),)), 0, 82586193, 82586194, 2370013267,
)  # fmt: skip
# The record of a real row; the numbers of texts and arrays are those that the writer gives.
RECORD = """
    436b0c1900000000 d353000000000000 0000000000000000 01000000 01000000 c038050000000000
    00000000 00000000 03000000 0100000000000000 03000000 00000000 05000000 00000000 01000000
    0000000000000000 512aec0400000000 522aec0400000000 5388438d00000000
"""


def inflated(path: Path) -> bytes:
    return zlib.decompress(path.read_bytes())


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    table = Table("metal-gpu-intervals", COLUMNS, [ROW], {"target-pid": "SINGLE"})
    return write_bundle(tmp_path / "small.trace", [table])


def test_a_store_holds_a_header_the_record_and_zeroes_to_the_end_of_the_chunk(bundle: Path) -> None:
    content = inflated(bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore")
    assert content[:28] == bytes.fromhex(
        "0a0a3412 03000000 28000000 00100000 70000000 00007000 00000100"
    )
    assert content[28:4096] == bytes(4096 - 28)
    assert content[4096 : 4096 + 112] == bytes.fromhex(RECORD)
    assert content[4096 + 112 :] == bytes(112 * 65535)


def test_arrays_are_what_the_record_names(bundle: Path) -> None:
    uniquing = bundle / "corespace/run1/core/uniquing"
    strings = plistlib.loads(inflated(uniquing / "strings"))
    assert strings == ["", "Vertex", " (", "Active", "TODO", "M1"]
    data = inflated(uniquing / "arrayUniquer/integeruniquer.data")
    assert len(data) == 1 << 20
    assert data[:20] == struct.pack("<5I", 0x01234567, 0x000A337E, 1, 0, 1)
    assert data[20:32] == bytes(12)
    assert data[32:52] == struct.pack("<IQQ", 2, 420, 4)
    index = inflated(uniquing / "arrayUniquer/integeruniquer.index")
    assert index[20:40] == struct.pack("<IIIQ", 0, 0x00400000, 0x00100000, 0)
    assert index[40:] == struct.pack("<II", 32, 0)
    types = list(TYPES)
    typed = inflated(uniquing / "typedArrayUniquer/integeruniquer.data")
    label = (types.index("XRNarrativeTextTypeID"), 2, types.index("XRMetalEncoderIDTypeID"))
    assert typed[32:68] == struct.pack("<I4Q", 4, *label, 2370013267)


def test_a_store_says_what_its_columns_are(bundle: Path) -> None:
    store = bundle / "corespace/run1/core/stores/indexed-store-0"
    assert {one.name for one in store.iterdir()} == {
        "schema.xml", "spec.plist", "bulkstore_descriptor", "bulkstore", "spindex.0",
    }  # fmt: skip
    schema = inflated(store / "schema.xml").decode()
    assert '<schema name="metal-gpu-intervals" topology="XRTD64_CC32_R_TypeID">' in schema
    assert (
        '<column mnemonic="start" engineeringName="Creation" engineeringType="XRStartTimeTypeID" '
        'topologyField="XRTraceRelativeTimestampFieldID"/>' in schema
    )
    described = plistlib.loads(inflated(store / "bulkstore_descriptor"))
    assert described["$archiver"] == "NSKeyedArchiver"
    assert {1, 112, "next_event_id", "gpu-submission-id", "topology"} <= {
        one for one in described["$objects"] if isinstance(one, int | str)
    }


def test_requirements_name_the_tags_of_all_types_but_those_within_others(bundle: Path) -> None:
    required = plistlib.loads((bundle / "open.creq").read_bytes())
    assert required["com.apple.dt.trace"][0] == 5
    assert required["com.apple.dt.etype.XRGPUStateTypeID"] == [
        1, "This version does not support the new engineering type 'gpu-state'.",
    ]  # fmt: skip
    assert not any(name.removeprefix("com.apple.dt.etype.") in NEVER_REQUIRED for name in required)


@pytest.mark.parametrize(
    ("type_id", "value", "stored"),
    [
        ("XRTimeSinceEpochTypeID", Decimal("1774906678.749008896"), 0x98A1BC38704D93FF),
        ("XRMachTimebaseInfoTypeID", (125, 3), 0x0000007D00000003),
        ("XRPrototypeFixedDecimalValueTypeID", Decimal(0), 0x7FFFFFFFFFFFFFFF),
        ("XRPercentageTypeID", Decimal("60.13048845"), 0x7FFFFFFFFFFFFFFF + 60130488450),
        ("XRProcessTypeID", None, 0xFFFFFFFF),
        ("XRDurationTypeID", None, 0xFFFFFFFFFFFFFFFF),
        ("XRThreadNameTypeID", ThreadName(None, None), 0xFFFFFFFFFFFFFFFF),
        ("XRThreadNameTypeID", ThreadName("main", None), 0x1FFFFFFFF),
        ("XRReturnLocationTypeID", Location(UUID(int=7), 0x201E64), 0x201E64),
        ("XRBooleanTypeID", True, 1),
    ],
)
def test_values_without_an_array_of_their_own(type_id: str, value: object, stored: int) -> None:
    assert Encoder().cell(type_id, value) == stored


def test_compound_values_are_arrays_of_arrays() -> None:
    encoder, arrays = Encoder(), dict[int, tuple[int, ...]]()
    thread = Thread(7, SERVER, "Main Thread")
    cells = {
        "thread": encoder.cell("XRThreadTypeID", thread),
        "stack": encoder.cell("XRCoreProfileCallstackTypeID", Callstack(90, SERVER, (8, 9), (5,))),
        "trace": encoder.cell("XRBacktraceTypeID", Backtrace(((SERVER, (8, 9)),))),
        "uuid": encoder.cell("XRUUIDTypeID", UUID(int=(3 << 64) + 4)),
    }
    arrays = {number: values for values, number in encoder.arrays._ids.items()}
    process = encoder.process(SERVER)
    assert arrays[process] == (420, 1)
    assert arrays[cells["thread"]] == (7, process)
    fragment, *rest = arrays[cells["stack"]]
    assert (arrays[fragment], rest) == ((8, 9), [90, process, 5])
    assert arrays[cells["trace"]] == (process << 32 | fragment,)
    assert arrays[cells["uuid"]] == (3, 4)
    assert encoder.threads == {7: thread}


@given(
    arrays=st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=11), max_size=60),
    together=st.booleans(),
)
def test_no_array_crosses_a_block(arrays: list[list[int]], *, together: bool) -> None:
    uniquer = Arrays(block=128)
    if together:
        arrays = [[number] * 3 for number in range(len(arrays))]
        uniquer.extend(np.array(arrays, np.uint64).reshape(-1, 3))
    else:
        for one in arrays:
            uniquer.append(one)
    data, pairs = uniquer.data(), struct.iter_unpack("<II", uniquer.index()[40:])
    assert len(data) % 128 == 0
    for one, (offset, block) in zip(arrays, pairs, strict=True):
        assert offset + 4 + 8 * len(one) <= 128
        place = 128 * block + offset
        assert struct.unpack_from("<I", data, place) == (len(one),)
        assert list(struct.unpack_from(f"<{len(one)}Q", data, place + 4)) == one


@pytest.mark.parametrize("rows", [0, 1, 65535, 65536, 65537])
def test_records_take_whole_chunks(tmp_path: Path, rows: int) -> None:
    columns = [Col("t", "T", "XRStartTimeTypeID", TIME), Col("n", "N", "XRGenericUInt32TypeID")]
    layout = record_type(columns)
    assert layout.itemsize == 20
    blocks = [np.ones(min(rows, 60_000), layout), np.ones(max(rows - 60_000, 0), layout)]
    assert write_records(tmp_path / "bulkstore", blocks, 20, level=1) == rows
    content = inflated(tmp_path / "bulkstore")
    assert len(content) == 4096 + -(-rows // 65536) * 65536 * 20
    assert content[:4096] == header(20)
    assert content[4096 : 4096 + rows * 20] == np.ones(rows, layout).tobytes()
    assert not any(content[4096 + rows * 20 :])


def test_archives_are_keyed_as_apples_are() -> None:
    found = plistlib.loads(archive(root={"a": [1, "x"], "n": by_number({5: "five"}), "no": None}))
    objects, uid = found["$objects"], plistlib.UID
    assert objects[0] == "$null"
    root = objects[found["$top"]["root"].data]
    keys = [objects[one.data] for one in root["NS.keys"]]
    values = dict(zip(keys, root["NS.objects"], strict=True))
    assert [objects[one.data] for one in objects[values["a"].data]["NS.objects"]] == [1, "x"]
    numbered = objects[values["n"].data]
    assert numbered["$0"] == 1
    assert (objects[numbered["$1"].data], objects[numbered["$2"].data]) == (5, "five")
    assert objects[numbered["$class"].data]["$classname"] == "XRIntKeyedDictionary"
    assert values["no"] == uid(0)
