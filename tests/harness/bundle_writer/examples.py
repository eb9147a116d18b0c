"""A small bundle with a value of every kind that is stored."""

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from bundle_writer.document import RunInfo
from bundle_writer.encoding import Encoder
from bundle_writer.symbols import Image, Symbol
from bundle_writer.values import (
    CATEGORY_1,
    DURATION,
    TIME,
    Backtrace,
    Callstack,
    Col,
    Label,
    Location,
    Part,
    Process,
    Table,
    TextSymbol,
    Thread,
    ThreadName,
)
from bundle_writer.whole import write_bundle

APP, SERVER = Process(4711, "python3"), Process(420, "WindowServer")
MAIN = Thread(1618985, APP, "Main Thread")
LIBRARY = Image(
    UUID("044cd67e-3a0a-3ca4-8bb3-a9687d5328fe"),
    "/usr/lib/dyld",
    0x195431000,
    symbols=(Symbol(0x5D0C, 4, "__open"), Symbol(0x725FB, 8, "open_with_subsystem")),
)
STACK = (0x195436D0D, 0x1954A35FC, 0x2000)
INFO = RunInfo(
    paths={4711: "/usr/local/bin/python3", 420: "/System/WindowServer"},
    images={4711: [LIBRARY]},
    settings={"Hangs": [{"Reporting Threshold": "100 ms"}], "Metal": [{"GPU": ["one", "two"]}]},
)


def _col(mnemonic: str, type_id: str, topology: str | None = None) -> Col:
    return Col(mnemonic, mnemonic.title(), f"{type_id}TypeID", topology)


def _part(type_id: str, value: Any) -> Part:
    return Part(f"{type_id}TypeID", value)


INTERVALS = [
    _col("start", "XRStartTime", TIME),
    _col("duration", "XRDuration", DURATION),
    _col("channel-name", "XRGPUChannelName"),
    _col("start-latency", "XRDuration"),
    _col("state", "XRGPUState"),
    _col("process", "XRProcess"),
    _col("cmdbuffer-id", "XRMetalCommandBufferID"),
    _col("encoder-id", "XRMetalCommandBufferID"),
]


def gpu_intervals() -> Table:
    def label(number: int) -> Label:
        parts = _part("XRPrototypeString", "frame"), _part("XRNarrativeText", " (")
        further_parts = _part("XRProcess", SERVER), _part("XRMetalEncoderID", number)
        return Label((*parts, *further_parts))

    columns = [*INTERVALS, _col("event-label", "XRFormattedLabel"), _col("induced", "XRBoolean")]
    rows = [
        (420, 20, "Vertex", 1, "Active", SERVER, 7, 1, label(1), True),
        (300, None, "Compute", None, "Active", APP, (1 << 64) - 1, 2, label(2), False),
        (420, 30, None, 3, None, None, 9, 3, None, None),
    ]
    return Table("metal-gpu-intervals", columns, rows, {"target-pid": "SINGLE"})


def profile() -> Table:
    columns = [
        _col("time", "XRSampleTimestamp", TIME),
        _col("thread", "XRThread", CATEGORY_1),
        _col("core", "XRCPUCore"),
        _col("cp-user-callstack", "XRCoreProfileCallstack"),
        _col("stack", "XRBacktrace"),
        _col("symbol", "XRTextSymbol"),
    ]
    rows = [
        (677, MAIN, 6, Callstack(0x195436D0C, APP, (0x1954A35FC,), (5,)),
         Backtrace(((APP, STACK),)), TextSymbol(APP, 0x195436D0D)),
        (678, MAIN, None, Callstack(0x1000, APP), Backtrace(((APP, STACK[1:]),)), None),
    ]  # fmt: skip
    return Table("time-profile", columns, rows)


def messages() -> Table:
    """Return log messages: nested metadata, names of threads, numbers with a bias."""
    columns = [
        _col("time", "XRRecordedEventTimestamp", TIME),
        _col("name", "XRThreadName"),
        _col("message", "XROSLogMetadata"),
        _col("place", "XRReturnLocation"),
        _col("percent", "XRPercentage"),
        _col("epoch", "XRTimeSinceEpoch"),
        _col("argument", "XRAny"),
        _col("chain", "XRVisualUUIDChain"),
    ]
    inner = _part("XROSLogMetadata", Label((_part("XRPrototypeValue", 9),)))
    message = Label((_part("XRNarrativeText", "seed="), inner, _part("XRPrivateValue", "")))
    place = Location(LIBRARY.uuid, 0x201E64)
    rows = [
        (5, ThreadName("worker", MAIN), message, place, Decimal("60.13048845"),
         Decimal("1774906678.749008896"),
         _part("XRPrototypeString", "x"), (1, 2, 3)),
        (5, ThreadName(None, None), None, None, None, None, None, None),
    ]  # fmt: skip
    return Table("os-log", columns, rows, {"subsystem": "com.example"})


def small_bundle(path: Path, **options: Any) -> Path:
    tables = [gpu_intervals(), profile(), messages()]
    return write_bundle(path, tables, **{"info": INFO, "encoder": Encoder(4096), **options})
