"""A bundle of one run whose document is written by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bundle_writer import Col, Table, write_bundle
from bundle_writer.keyed import Archived, archive_of
from tracekit.tables.bundle.bundle import Bundle

SYMBOL_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
DEVICE = "0A1B2C3D-0000-4000-8000-000000000001"
TICK = Table(
    "tick",
    [Col("time", "Time", "XRSampleTimestampTypeID", "XRTraceRelativeTimestampFieldID")],
    [(1,), (2,)],
    {"frequency": 10},
)


def bundle_of(
    folder: Path,
    run: Mapping[str, Any] | None = None,
    *,
    tables: Sequence[Table] = (TICK,),
    number: Any = 1,
    **top: Any,
) -> Bundle:
    """Return a bundle whose document says this of run 1; without a document for None.

    Args:
        folder: Where it is made.
        run: What the document says of the run.
        tables: The tables of the run.
        number: How the document numbers the run.
        top: What else the document holds, by names in which "_" stands for ".".
    """
    path = write_bundle(folder / "made.trace", tables, with_document=False)
    if run is not None:
        content = {
            "com.apple.xray.run.data": Archived("XRRunListData", {"$0": 1, "$1": {number: run}})
        }
        (path / "form.template").write_bytes(archive_of(content | top))
    return Bundle(path)


def process(pid: int, execname: str, display: str = "") -> Archived:
    return Archived("XRProcessData", {"_pid": pid, "_execname": execname, "displayName": display})


def thread(tid: int, pid: int, name: str | None) -> Archived:
    return Archived("XRThread", {"preferredName": name, "tid": tid, "pid": pid})


def core(number: int, flags: int) -> Archived:
    """Return what a document says of a core; flags are 1 for efficiency, 2 for performance."""
    topology = Archived("DTCPUClusterInfo", {"_clusterFlags": flags})
    return Archived("XRCore", {"$0": number, "topology": topology})
