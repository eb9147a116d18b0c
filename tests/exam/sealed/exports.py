"""Exports in the grammar of `xctrace export`: columns, cells, one file a table, and the TOC.

A value is defined once, `<T id="n" fmt="…">raw</T>`, and referred to ever after, `<T ref="n"/>`;
ids count 1, 2, 3 … in the order in which elements open. A missing value is `<sentinel/>`.
Columns are those of Instruments 26.0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

Row = tuple[object, ...]

_SPAN = "start:start-time duration:duration"
_ID = "metal-command-buffer-id"
_TAIL = "process:process thread:thread gpu:metal-device-name"
_LANE = (
    "event-depth:metal-nesting-level event-label:formatted-label "
    "event-priority:metal-workload-priority connection-UUID:connection-uuid64 "
    "color:render-buffer-depth"
)

COLUMNS: Mapping[str, str] = {
    "metal-gpu-intervals": f"{_SPAN} channel-name:gpu-channel-name frame-number:gpu-frame-number "
    "start-latency:duration event-depth:metal-nesting-level event-label:formatted-label "
    "state:gpu-state connection-UUID:connection-uuid64 color:render-buffer-depth process:process "
    "gpu:metal-device-name channel-subtitle:metal-object-label "
    "iosurface-accesses:formatted-label bytes:size-in-bytes "
    f"cmdbuffer-id:{_ID} encoder-id:{_ID} gpu-submission-id:uint64",
    "metal-gpu-state-intervals": f"{_SPAN} state:gpu-state label:formatted-label "
    "color:render-buffer-depth num-events:uint32 gpu:metal-device-name",
    "metal-application-command-buffer-submissions": f"{_SPAN} event-type:metal-event-name "
    "gpu:metal-device-name track-label:metal-object-label num-encoders:uint32 "
    "encoder-time:duration process:process thread:thread event-icon:metal-event "
    "event-label:narrative encoder-time-label:narrative frame-number:uint32 "
    f"color:render-buffer-depth cmdbuffer-id:{_ID}",
    "metal-application-encoders-list": f"{_SPAN} thread:thread process:process "
    "gpu:metal-device-name frame-number:gpu-frame-number cmdbuffer-label:metal-object-label "
    "cmdbuffer-label-indexed:metal-object-label encoder-label:metal-object-label "
    "encoder-label-indexed:metal-object-label event-type:metal-event-name "
    f"cmdbuffer-id:{_ID} encoder-id:{_ID}",
    "metal-command-buffer-completed": f"timestamp:start-time cmdbuffer-id:{_ID} commit-id:uint32",
    "metal-command-buffer-frame-assignment": f"timestamp:start-time cmdbuffer-id:{_ID} "
    "commit-time:uint64 commit-id:uint32 frame-number:uint32 frame-color:uint32 "
    "cmdbuffer-index:uint32 has-present:uint32 is-compositor:uint32 type-name:string "
    f"present-surface-id:gpu-driver-surface compositor-cmdbuffer-id:{_ID} xr-frame:uint32 "
    "pid:uint64 process:process",
    "metal-gpu-submission-to-command-buffer-id": f"timestamp:start-time cmdbuffer-id:{_ID} "
    f"gpu-submission-id:{_ID} segment-id:{_ID} segmentlist-id:{_ID} encoder-id:{_ID} "
    f"accelerator-id:uint64 channel-id:{_ID} submission-type:uint32 metadata-1:uint64 "
    "metadata-2:uint64 pid:uint32 process:process model:uint32 commit-id:uint32 "
    "num-coalasced-encoders:uint32",
    "metal-command-buffer-error": f"timestamp:start-time cmdbuffer-id:{_ID} error-code:uint32",
    "metal-driver-intervals": f"{_SPAN} gpu-driver-name:gpu-driver-name "
    f"event-type:metal-object-label {_LANE} {_TAIL} object-id:{_ID} lane:formatted-label",
    "metal-driver-event-intervals": f"{_SPAN} gpu-driver-name:gpu-driver-name "
    f"event-type:gpu-driver-name {_LANE} {_TAIL} resource-id:{_ID} show-per-thread:boolean",
    "graphics-compiler-activity-intervals": f"{_SPAN} event-plane:metal-encoding-para "
    "compiler:shader-compiler-name program-type:formatted-label process:process "
    "event-priority:metal-workload-priority color:render-buffer-depth",
    "metal-current-allocated-size": f"{_SPAN} end:start-time process:process "
    "current-allocated-size:size-in-bytes label:formatted-label track-name:formatted-label "
    "color:render-buffer-depth",
    "metal-resource-allocations": "timestamp:start-time duration:duration process:process "
    "thread:thread resource-id:gpu-hardware-trace parent-resource-id:gpu-hardware-trace "
    "label:metal-object-label vidmem-bytes:size-in-bytes sysmem-bytes:size-in-bytes "
    "resource-size:size-in-bytes event-label:formatted-label gpu:metal-device-name "
    "resource-type:metal-object-label event-type:gpu-memory-event-name backtrace:backtrace "
    "event-icon:metal-event",
    "metal-wired-sysmem-level-interval": f"{_SPAN} bytes:size-in-bytes color:render-buffer-depth "
    "gpu:metal-device-name event-label:narrative event-type:metal-memory-level-event",
    "gpu-performance-state-intervals": f"{_SPAN} gpu-performance-state:gpu-performance-state "
    "track-label:string is-induced:boolean narrative:narrative event-type:gpu-event-name",
    "gpu-performance-device-state-intervals": f"{_SPAN} accelerator-id:uint64 state:uint32 "
    "desired-state:uint32",
    "device-thermal-state-intervals": f"{_SPAN} end:start-time thermal-state:thermal-state "
    "track-label:string is-induced:boolean narrative:narrative",
}
"""The tables of each recording, as mnemonic:engineering-type."""


@dataclass(frozen=True)
class Parts:
    """A value made of values, each with its engineering type; `fmt` is what people read."""

    fmt: str
    children: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Heading:
    """What the TOC says of a recording; `seconds` is how long it lasted."""

    process: str
    pid: int
    others: tuple[tuple[str, int], ...]
    platform: str
    model: str
    system: str
    seconds: float


def write_table(path: Path, schema: str, index: int, rows: Iterable[Row]) -> int:
    """Write one table, and return the number of its rows."""
    columns = [column.partition(":")[::2] for column in COLUMNS[schema].split()]
    head = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for name, kind in columns
    )
    ids: dict[tuple[str, object], int] = {}
    lines: list[str] = []
    for row in rows:
        cells = zip(columns, row, strict=True)
        lines.append("".join(_element(kind, cell, ids) for (_, kind), cell in cells))
    path.write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{index}]'>"
        f'<schema name="{schema}">{head}</schema>'
        + "".join(f"<row>{line}</row>\n" for line in lines)
        + "</node></trace-query-result>\n",
        encoding="utf-8",
    )
    return len(lines)


def write_toc(path: Path, heading: Heading, schemas: Sequence[str]) -> None:
    """Write the table of contents of a recording that holds these tables."""
    own = f'name={quoteattr(heading.process)} pid="{heading.pid}"'
    everyone = ((heading.process, heading.pid), *heading.others)
    processes = "".join(
        f'<process name={quoteattr(name)} pid="{pid}" path="/"/>\n' for name, pid in everyone
    )
    tables = "".join(f'<table schema="{schema}"/>\n' for schema in schemas)
    path.write_text(
        '<?xml version="1.0"?>\n\n<trace-toc>\n<run number="1">\n<info>\n<target>\n'
        f'<device platform="{heading.platform}" model="{heading.model}" '
        f'name="{heading.model}" os-version="{heading.system}"/>\n'
        f'<process type="attached" {own}/>\n</target>\n<summary>\n'
        "<start-date>2026-10-05T09:30:00.000+00:00</start-date>\n"
        f"<duration>{heading.seconds:.6f}</duration>\n<end-reason>Time limit reached</end-reason>\n"
        "<instruments-version>26.0 (17C529)</instruments-version>\n"
        "<template-name>Metal System Trace</template-name>\n"
        "<recording-mode>Deferred</recording-mode>\n<time-limit>5 minutes</time-limit>\n"
        f"</summary>\n</info>\n<processes>\n{processes}</processes>\n<data>\n{tables}</data>\n"
        "</run>\n</trace-toc>\n",
        encoding="utf-8",
    )


def _element(kind: str, cell: object, ids: dict[tuple[str, object], int]) -> str:
    if cell is None:
        return "<sentinel/>"
    known = ids.get((kind, cell))
    if known is not None:
        return f'<{kind} ref="{known}"/>'
    number = len(ids) + 1
    ids[kind, cell] = number
    if isinstance(cell, Parts):
        inside = "".join(_element(part, child, ids) for part, child in cell.children)
        return f'<{kind} id="{number}" fmt={quoteattr(cell.fmt)}>{inside}</{kind}>'
    return f'<{kind} id="{number}" fmt={quoteattr(str(cell))}>{escape(str(cell))}</{kind}>'
