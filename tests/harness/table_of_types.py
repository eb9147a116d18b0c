"""A table with a column of many types, and the XML that Instruments would write of it."""

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

ROWS = (
    '<row><sample-time id="1" fmt="00:00.001.500">1500000</sample-time>'
    '<thread id="2" fmt="Main Thread 0x1d2fe4 (python3, pid: 4711)"><tid id="3" fmt="0x1d2fe4">'
    '1912804</tid><process id="4" fmt="python3 (4711)"><pid id="5" fmt="4711">4711</pid>'
    '<device-session id="6" fmt="TODO">TODO</device-session></process></thread><process ref="4"/>'
    '<thread-name id="7" fmt="worker  0x1d2fe4">worker  0x1d2fe4</thread-name>'
    '<formatted-label id="8" fmt="  (  n/a 21.46 µs">  (  n/a 21.46 µs</formatted-label>'
    '<return-location id="9" fmt="95EC3610-E01A-3730-9CD5-B6B18C5B0560 + 0x201e64">'
    "95EC3610-E01A-3730-9CD5-B6B18C5B0560 + 0x201e64</return-location>"
    '<kperf-bt id="10" fmt="PC:0x1000, 2 frames, 1 regs, pid: 4711">'
    '<text-addresses id="11" fmt="frag 0">8192</text-addresses>'
    '<text-address id="12" fmt="0x1000">4096</text-address></kperf-bt>'
    '<backtrace id="13"><frame id="14" name="0x1001" addr="0x1001"/>'
    '<frame id="15" name="0x1fff" addr="0x2000"/></backtrace>'
    '<text-symbol id="16" fmt="0x1000  ">0x1000  </text-symbol>'
    '<duration id="17" fmt="21459">21459</duration>'
    '<fps id="18" fmt="59.500000000">59.500000000</fps>'
    '<pmc-events id="19" fmt="40 4770">40 4770</pmc-events></row>\n'
    '<row><sample-time id="20" fmt="00:00.002.000">2000000</sample-time><thread ref="2"/>'
    '<process ref="4"/><thread-name ref="7"/><formatted-label ref="8"/><return-location ref="9"/>'
    '<kperf-bt ref="10"/><backtrace ref="13"/><text-symbol ref="16"/><duration ref="17"/>'
    '<fps ref="18"/><pmc-events ref="19"/></row>\n'
    '<row><sample-time id="21" fmt="00:00.003.000">3000000</sample-time>'
    + "<sentinel/>" * 11
    + "</row>\n"
)
