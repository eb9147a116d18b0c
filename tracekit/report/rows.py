"""Tables as panels want them: always a frame, and the reason where it has no rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.scope import own_rows
from tracekit.base.errors import TracekitError
from tracekit.report.panel import Tables
from tracekit.tables.schemas import SCHEMAS


@dataclass(frozen=True)
class Rows:
    """The rows of a table; `absence` says why there are none, and is empty if there are."""

    frame: pd.DataFrame
    absence: str = ""

    @property
    def clock(self) -> str:
        """Whose clock the times are read from: "gpu", "host", or "" where it is not known."""
        if self.frame.empty or "clock" not in self.frame:
            return ""
        clocks = sorted(str(one) for one in self.frame["clock"].dropna().unique())
        return " and ".join(clocks)


def rows(tables: Tables, name: str) -> Rows:
    """Return the rows of the table `name`, whether or not the recording has it."""
    try:
        frame = tables[name]
    except KeyError:
        return Rows(_nothing(name), f"the recording has no table {name}")
    except TracekitError as error:
        return Rows(_nothing(name), f"the table {name} cannot be read: {error.message}")
    except Unavailable as reason:
        return Rows(_nothing(name), str(reason))
    if frame.empty:
        return Rows(_nothing(name), f"the table {name} has no rows")
    return Rows(frame)


def of_target(tables: Tables, name: str) -> Rows:
    """Return the target's rows of a table whose rows belong to processes."""
    found = rows(tables, name)
    if found.absence:
        return found
    own = own_rows(found.frame)
    if own.empty:
        absence = f"none of the {len(found.frame):,} rows of {name} belongs to the target"
        return Rows(_nothing(name), absence)
    return Rows(own)


def of_others(tables: Tables, name: str) -> Rows:
    """Return the rows of a table that belong to other processes than the target."""
    found = rows(tables, name)
    if found.absence:
        return found
    others = found.frame[~found.frame["target"].astype(bool)]
    return Rows(others, "" if len(others) else f"all rows of {name} belong to the target")


def _nothing(name: str) -> pd.DataFrame:
    columns = SCHEMAS[name].columns if name in SCHEMAS else ()
    return pd.DataFrame(columns=[column.name for column in columns])


class Kept(Mapping[str, pd.DataFrame]):
    """Tables that are asked for once each, however many panels want them.

    Frames are shared: who gets one leaves it as it is. A table that is missing or cannot be
    read raises what it raised the first time.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._frames: dict[str, pd.DataFrame] = {}
        self._errors: dict[str, KeyError | TracekitError | Unavailable] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return the table `name`; raise what the tables raise."""
        if name in self._errors:
            raise self._errors[name]
        if name not in self._frames:
            try:
                self._frames[name] = self._tables[name]
            except (KeyError, TracekitError, Unavailable) as error:
                self._errors[name] = error
                raise
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names that the tables have."""
        return iter(self._tables)

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._tables)
