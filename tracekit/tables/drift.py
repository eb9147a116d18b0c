"""What a reader has to say about an export that is not quite as it should be.

A caller that must not overlook it turns the warning into an exit code or an error:

    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedExportWarning)
        frame = read_table(path)

`Tables.losses` tells the same of all tables that were read so far, as a list.
"""

from dataclasses import dataclass

from tracekit.base import InputError
from tracekit.tables.losses import Flaw, Loss


@dataclass(frozen=True)
class ReadNotes:
    """What the reader of one table had to say, in the order in which it is told."""

    losses: tuple[Loss, ...] = ()

    @property
    def damage(self) -> tuple[str, ...]:
        """Where rows are missing, in sentences."""
        return self._list_texts(Flaw.DAMAGED)

    @property
    def drift(self) -> tuple[str, ...]:
        """Which columns hold what they do not declare, in sentences."""
        return self._list_texts(Flaw.CHANGED)

    def _list_texts(self, flaw: Flaw) -> tuple[str, ...]:
        return tuple(str(loss) for loss in self.losses if loss.flaw is flaw)


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
