"""Bundles of a few rows, and bundles of one run whose document is written by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bundle_writer import TIME, Col, Process, Table, examples, write_bundle
from bundle_writer.keyed import Archived, archive
from tracekit.tables.bundle.bundle import Bundle

PYTHON, SERVER = examples.APP, examples.SERVER
SYMBOL_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
_PROCESS_INFO = [
    Col("time", "Time", "XRRecordedEventTimestampTypeID", TIME),
    Col("pid", "Pid", "XRProcessIDTypeID"),
    Col("process-name", "Name", "XRPrototypeStringTypeID"),
]
_TICKS = [Col("time", "Time", "XRSampleTimestampTypeID", TIME)]


def intervals(*rows: tuple[int, int, Process], **attributes: Any) -> Table:
    cells = [
        (start, duration, "Compute", 1, "Active", process, 100 + number, 200 + number)
        for number, (start, duration, process) in enumerate(rows)
    ]
    return Table("metal-gpu-intervals", examples.INTERVALS, cells, attributes)


def process_info(*names: tuple[int, str]) -> Table:
    return Table("process-info", _PROCESS_INFO, [(0, pid, name) for pid, name in names])


def ticks(times: Sequence[int], attributes: Mapping[str, Any] | None = None) -> Table:
    return Table("tick", _TICKS, [(time,) for time in times], attributes or {})


TICK = ticks([1, 2], {"frequency": 10})


def write_documented_bundle(
    folder: Path,
    run: Mapping[str, Any] | None,
    *,
    tables: Sequence[Table] = (TICK,),
    number: Any = 1,
    **top: Any,
) -> Bundle:
    """Return a bundle whose document says this of run 1 and `top`; without one for None."""
    path = write_bundle(folder / "made.trace", tables, with_document=False)
    if run is not None:
        runs = Archived("XRRunListData", {"$0": 1, "$1": {number: run}})
        content = archive(**{"com.apple.xray.run.data": runs}, **top)
        (path / "form.template").write_bytes(content)
    return Bundle(path)


def process(pid: int, execname: str, display: str) -> Archived:
    return Archived("XRProcessData", {"_pid": pid, "_execname": execname, "displayName": display})
