"""What a reader has to say about an export that is not quite as it should be.

A caller that must not overlook it turns the warning into an exit code or an error:

    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedExportWarning)
        frame = read_table(path)

`Tables.remarks` tells the same of all tables that were read so far, as a list.
"""

from dataclasses import dataclass
from enum import StrEnum

from tracekit.base import InputError
from tracekit.tables.bundle.cells.encodings import Said


class Flaw(StrEnum):
    """What is not as it should be in an export."""

    DAMAGED = "damaged"  # rows are missing
    LACKING = "lacking"  # columns that tracekit knows are not there
    UNKNOWN = "unknown"  # columns are there that tracekit does not know
    CHANGED = "changed"  # cells hold something other than what their column declares
    UNREADABLE = "unreadable"  # no table can be made of it


@dataclass(frozen=True)
class ReadNotes:
    """What the reader of one table had to say: lost rows, broken types, and all else."""

    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    remarks: tuple[Said, ...] = ()

    @property
    def said(self) -> tuple[Said, ...]:
        """All of it."""
        return (*self.damage, *self.drift, *self.remarks)


@dataclass(frozen=True)
class Remark:
    """One thing that a reader has to say: what is wrong, and in words.

    `table` was made of the export, `columns` are those of the export that it is about; what is not
    known is empty.
    """

    flaw: Flaw
    table: str
    schema: str
    columns: tuple[str, ...]
    text: str


class DamagedExportError(InputError):
    """An export is damaged before its first row, so that nothing of it can be read."""


class DriftError(InputError):
    """An export has not the columns, or not the values, without which there is no table."""


class ExportWarning(UserWarning):
    """An export could be read, but not as it should be; the base of the two below."""


class DamagedExportWarning(ExportWarning):
    """An export is cut or damaged: the rows before the damage were read, the rest is missing."""


class DriftWarning(ExportWarning):
    """An export holds something other than what it declares or what tracekit knows of."""
