"""Files of a folder of exports, and the kind of each, without reading all of it."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InputError
from tracekit.base import files as base_files
from tracekit.tables.direct import TableRef
from tracekit.tables.headers import TableHeader, headers
from tracekit.tables.toc import Toc, read_toc
from tracekit.tables.xml.source import ROOT, TOC_ROOT, head, not_an_export, root

PARQUET = ".parquet"
"""The suffix of tables that were written as flat ones next to the exports: those of the events of a
workload, and of the host recorder. Such a file has the name of its schema."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """The content of a file: a table of contents, tables with their schemas, or neither."""

    kind: Literal["toc", "tables", "unknown"]
    headers: tuple[TableHeader, ...] = ()

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of the tables, each once."""
        schemas = [header.schema for header in self.headers]
        return tuple(dict.fromkeys(filter(None, schemas)))


def identify(path: Path) -> Content:
    """Identify a file by its beginning, and its tables by a scan for their headers."""
    if path.suffix == PARQUET:
        header = TableHeader(path.stem, "", 1, rows=_has_rows(path))
        return Content("tables", (header,))
    match root(head(path)):
        case name if name == TOC_ROOT:
            return Content("toc")
        case name if name == ROOT:
            return Content("tables", tuple(headers(path)))
        case _:
            return Content("unknown")


def _has_rows(file: Path) -> bool:
    """Return whether a Parquet file has rows, or is damaged, so that reading it reports this."""
    try:
        return pq.read_metadata(file).num_rows > 0
    except (OSError, pa.ArrowException):
        return True


def export_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may be exports, in the order of their names."""
    files: list[Path] = []
    for path in folder.glob("*"):
        may_be_export = path.suffix == PARQUET or path.suffix.lower() == ".xml"
        if may_be_export and path.is_file():
            files.append(path)
    return sorted(files)


def refusal(path: Path) -> InputError:
    """Return the reason why a file of unknown kind is not read."""
    if base_files.declares_document_type(head(path)):
        return base_files.hostile(path)
    return not_an_export(path)


def contents_beside(ref: TableRef) -> Toc | None:
    """Read the table of contents next to an export, if there is exactly one."""
    if not isinstance(ref, Path):
        return None
    files = [path for path in ref.parent.glob("*.xml") if path.is_file()]
    tocs = [path for path in files if root(head(path)) == TOC_ROOT]
    return contents(tocs)


def contents(tocs: Sequence[Path]) -> Toc | None:
    """Read the only table of contents; return None if there are others, or it is damaged."""
    if len(tocs) != 1:
        return None
    try:
        return read_toc(tocs[0])
    except InputError as error:
        _log.warning("%s is not used: %s", tocs[0], error)
        return None
