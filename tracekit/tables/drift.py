"""The notes, errors and warnings of readers about exports with defects.

A caller that must not overlook a warning turns it into an exit code or an error:

    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedExportWarning)
        frame = read_table(path)

`Tables.losses` lists the same for all tables that were read so far.
"""

from dataclasses import dataclass

from tracekit.base import InputError
from tracekit.tables.losses import Flaw, Loss


@dataclass(frozen=True)
class ReadNotes:
    """The losses that the reader of one table reported, in order."""

    losses: tuple[Loss, ...] = ()

    @property
    def damage(self) -> tuple[str, ...]:
        """The places where rows are missing, in sentences."""
        return self._list_texts(Flaw.DAMAGED)

    @property
    def drift(self) -> tuple[str, ...]:
        """The columns with values that they do not declare, in sentences."""
        return self._list_texts(Flaw.CHANGED)

    def _list_texts(self, flaw: Flaw) -> tuple[str, ...]:
        return tuple([str(loss) for loss in self.losses if loss.flaw is flaw])


class DamagedExportError(InputError):
    """An export is damaged before its first row, so that nothing of it can be read."""


class DriftError(InputError):
    """An export lacks columns or values that a table requires."""


class ExportWarning(UserWarning):
    """An export was read, but has defects; the base of the two classes below."""


class DamagedExportWarning(ExportWarning):
    """An export is cut or damaged: the rows before the damage were read, the rest is missing."""


class DriftWarning(ExportWarning):
    """An export holds values that it does not declare, or that tracekit does not know."""
