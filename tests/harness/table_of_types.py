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
    '<thread-name id="7" fmt="worker  0x1d2fe4"><string id="8" fmt="worker">worker</string>'
    '<thread ref="2"/></thread-name>'
    '<formatted-label id="9" fmt="  (  n/a 21.46 µs"><string id="10" fmt=""></string>'
    '<narrative-text id="11" fmt=" ( "> ( </narrative-text><sentinel/>'
    '<duration id="12" fmt="21.46 µs">21459</duration></formatted-label>'
    '<return-location id="13" fmt="95EC3610-E01A-3730-9CD5-B6B18C5B0560 + 0x201e64">'
    '<uuid id="14" fmt="95EC3610-E01A-3730-9CD5-B6B18C5B0560">'
    '<eight-byte-array id="15" fmt="0x95ec3610e01a3730">10803069052262168368</eight-byte-array>'
    '<eight-byte-array id="16" fmt="0x9cd5b6b18c5b0560">11301139713636369760</eight-byte-array>'
    '</uuid><mach-o-vm-offset id="17" fmt="0x201e64">2104932</mach-o-vm-offset></return-location>'
    '<kperf-bt id="18" fmt="PC:0x1000, 2 frames, 1 regs, pid: 4711">'
    '<text-addresses id="19" fmt="frag FRAGMENT">8192 0</text-addresses>'
    '<text-address id="20" fmt="0x1000">4096</text-address><process ref="4"/>'
    '<register-content id="21" fmt="0x30">48</register-content></kperf-bt>'
    '<backtrace id="22"><frame id="23" name="0x1001" addr="0x1001"/>'
    '<frame id="24" name="0x1fff" addr="0x2000"/></backtrace>'
    '<text-symbol id="25" fmt="0x1000  "><process ref="4"/>'
    '<text-address id="26" fmt="0x1001">4097</text-address></text-symbol>'
    '<duration ref="12"/><fps id="27" fmt="59.500000000">59.500000000</fps>'
    '<pmc-events id="28" fmt="(40), (4,770)">40 4770</pmc-events></row>\n'
    '<row><sample-time id="29" fmt="00:00.002.000">2000000</sample-time><thread ref="2"/>'
    '<process ref="4"/><thread-name ref="7"/><formatted-label ref="9"/><return-location ref="13"/>'
    '<kperf-bt ref="18"/><backtrace ref="22"/><text-symbol ref="25"/><duration ref="12"/>'
    '<fps ref="27"/><pmc-events ref="28"/></row>\n'
    '<row><sample-time id="30" fmt="00:00.003.000">3000000</sample-time><sentinel/><sentinel/>'
    '<thread-name id="31"><sentinel/><sentinel/></thread-name>' + "<sentinel/>" * 8 + "</row>\n"
)
