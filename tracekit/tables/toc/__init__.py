"""The table of contents of a trace: what was recorded, of whom, and which tables there are."""

from tracekit.tables.toc.export_files import Wanted, wanted
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import ExternalFormat, Toc, TocDetail, TocRun, TocTable, distinctions

__all__ = [
    "ExternalFormat",
    "Toc",
    "TocDetail",
    "TocRun",
    "TocTable",
    "Wanted",
    "distinctions",
    "read_toc",
    "wanted",
]
