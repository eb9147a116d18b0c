"""A bundle of a few rows, made as the tests of its users need it."""

from collections.abc import Mapping, Sequence
from typing import Any

from bundle_writer import DURATION, TIME, Col, Process, Table

PYTHON = Process(4711, "python3")
SERVER = Process(420, "WindowServer")
_INTERVALS = [
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("channel-name", "Channel", "XRGPUChannelNameTypeID"),
    Col("start-latency", "Latency", "XRDurationTypeID"),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("cmdbuffer-id", "Command Buffer", "XRMetalCommandBufferIDTypeID"),
    Col("encoder-id", "Encoder", "XRMetalCommandBufferIDTypeID"),
]
_PROCESS_INFO = [
    Col("time", "Time", "XRRecordedEventTimestampTypeID", TIME),
    Col("pid", "Pid", "XRProcessIDTypeID"),
    Col("process-name", "Name", "XRPrototypeStringTypeID"),
]
_TICKS = [Col("time", "Time", "XRSampleTimestampTypeID", TIME)]


def intervals(*rows: tuple[int, int, Process], **attributes: Any) -> Table:
    """Return metal-gpu-intervals of rows of start, duration and process."""
    cells = [
        (start, duration, "Compute", 1, "Active", process, 100 + number, 200 + number)
        for number, (start, duration, process) in enumerate(rows)
    ]
    return Table("metal-gpu-intervals", _INTERVALS, cells, attributes)


def process_info(*names: tuple[int, str]) -> Table:
    rows = [(0, pid, name) for pid, name in names]
    return Table("process-info", _PROCESS_INFO, rows)


def ticks(times: Sequence[int], attributes: Mapping[str, Any] | None = None) -> Table:
    return Table("tick", _TICKS, [(one,) for one in times], attributes or {})
