"""A table with a column of many types; `tests/tables/goldens/many-types.xml` is its export."""

from decimal import Decimal
from uuid import UUID

from bundle_writer import (
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

PYTHON = Process(4711, "python3")
MAIN = Thread(0x1D2FE4, PYTHON, "Main Thread")
COLUMNS = [
    Col("time", "Sample Time", "XRSampleTimestampTypeID", TIME),
    Col("thread", "Thread", "XRThreadTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("name", "Name <&>", "XRThreadNameTypeID"),
    Col("label", "Label", "XRFormattedLabelTypeID"),
    Col("place", "Place", "XRReturnLocationTypeID"),
    Col("kernel", "Stack", "XRCoreProfileCallstackTypeID"),
    Col("stack", "Backtrace", "XRBacktraceTypeID"),
    Col("symbol", "Symbol", "XRTextSymbolTypeID"),
    Col("value", "Value", "XRAnyTypeID"),
    Col("fps", "Frames", "XRFramesPerSecondTypeID"),
    Col("events", "Events", "XRCoreProfilePMCEventsArrayTypeID"),
]
LABEL = Label(
    (
        Part("XRPrototypeStringTypeID", ""),
        Part("XRNarrativeTextTypeID", " ( "),
        Part("XRProcessTypeID", None),
        Part("XRDurationTypeID", 21_459),
    )
)
STACK = Backtrace(((PYTHON, (0x1001, 0x2000)),))
PLACE = Location(UUID("95EC3610-E01A-3730-9CD5-B6B18C5B0560"), 0x201E64)
ROW = (
    1_500_000,
    MAIN,
    PYTHON,
    ThreadName("worker", MAIN),
    LABEL,
    PLACE,
    Callstack(0x1000, PYTHON, (0x2000, 0), (0x30,)),
    STACK,
    TextSymbol(PYTHON, 0x1001),
    Part("XRDurationTypeID", 21_459),
    Decimal("59.5"),
    (40, 4770),
)
TABLE = Table(
    "many-types", COLUMNS, [ROW, (2_000_000, *ROW[1:]), (3_000_000, *[None] * (len(ROW) - 1))]
)
