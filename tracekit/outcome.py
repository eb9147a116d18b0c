"""What a command's end says to a script: data that are missing are no success."""

import warnings
from pathlib import Path

import pandas as pd

from tracekit.analysis.result import Result, Status
from tracekit.errors import InconclusiveError, InputError
from tracekit.tables import DamagedExportWarning, read_table

# Without them no number about the target means anything.
_GATES = ("capture-empty",)


def require_rows(result: Result) -> None:
    """Raise InconclusiveError if the recording holds nothing of its target."""
    empty = [one.rule for one in result.checks if one.status is Status.FOUND and one.rule in _GATES]
    if empty:
        message = next(one.message for one in result.findings if one.rule in empty)
        raise InconclusiveError(message, hint=f"`tracekit rules {empty[0]}` says what to do.")


def read_what_there_is(export: Path, schema: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Read a flat table, and what was damaged in its file: the rows before that are returned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DamagedExportWarning)
        frame = read_table(export, schema)
    return frame, [str(one.message) for one in caught]


def require_whole(damage: list[str]) -> None:
    """Raise InputError if the export was damaged; what could be read has been written."""
    if damage:
        raise InputError(" ".join(damage), hint="The rows before the damage were written.")
