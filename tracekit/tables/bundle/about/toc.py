"""The table of contents of a bundle, as an export of it would say.

Layout: docs/explanation/trace-bundles.md. Tables stand in the order of the numbers of their stores;
the order of `xctrace` is not stored in a bundle, so tables are known by schema and attributes.
"""

from dataclasses import replace
from pathlib import Path

from tracekit.base.recording import write_whole
from tracekit.tables.bundle.about.attributes import worded_attributes
from tracekit.tables.bundle.about.run_info import RunInfo, run_info
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import Store, Unreadable
from tracekit.tables.toc.text import toc_text
from tracekit.tables.toc.toc import Toc, TocRun, TocTable


def listed(run: BundleRun) -> tuple[Store | Unreadable, ...]:
    """Return the tables that the TOC names, the first being its `table[1]`.

    Raises:
        BundleError: The run has no folder of stores.
    """
    return tuple(table for table in run.tables if table.schema)


def toc_of(bundle: Bundle) -> Toc:
    """Return what a bundle holds; what only its document knows is empty where that is missing.

    Raises:
        BundleError: A run has no folder of stores.
    """
    return Toc(tuple(_with_tables(run, run_info(run)) for run in bundle.runs))


def write_toc(bundle: Bundle, path: Path) -> None:
    """Write what a bundle holds as `xctrace export --toc` would, names and arguments included.

    Raises:
        BundleError: A run has no folder of stores.
        RecordingError: The file cannot be written.
    """
    told = [(run, run_info(run)) for run in bundle.runs]
    toc = Toc(tuple(_with_tables(run, info) for run, info in told))
    settings = {run.number: info.settings for run, info in told}
    write_whole(path, toc_text(toc, settings).encode())


def _with_tables(run: BundleRun, info: RunInfo) -> TocRun:
    tables = (
        TocTable(place, table.schema, worded_attributes(table.attributes))
        for place, table in enumerate(listed(run), start=1)
    )
    return replace(info.run, tables=tuple(tables))
