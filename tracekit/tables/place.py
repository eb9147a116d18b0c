"""Which table of a trace is meant, where several have the same schema.

A table is one entry of the table of contents: a run, and its place 1, 2 … among the tables of
that run, as the xpath above an exported table says. Two entries are never glued together, not
even if their attributes are the same: each is a table of its own. Of several, one can be taken
without a word only if all others are empty.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.tables.toc import Toc, TocTable

_YOUNG = 2_000_000_000  # ns; coarser than the clock of any file system in use


@dataclass(frozen=True)
class Stamp:
    """What changes when a file does: size, times of change, and which file it is."""

    size: int
    modified: int
    changed: int
    inode: int


def stamp(path: Path) -> Stamp:
    """Return the stamp of a file."""
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def lasting(mark: Stamp) -> Stamp | None:
    """Return the stamp, or None for a file so young that a change could leave no trace in it."""
    if time.time_ns() - max(mark.modified, mark.changed) < _YOUNG:
        return None
    return mark


_PLACE = re.compile(r"/run\[(\d+)\].*/table\[(\d+)\]")


@dataclass(frozen=True)
class TablePlace:
    """Where a table stands: run and index in its trace, None where the file does not say.

    `number` counts the tables of its file from 1.
    """

    run: int | None
    index: int | None
    number: int = 1

    def __str__(self) -> str:
        """Name it as people choose it."""
        is_in_toc = self.run is not None and self.index is not None
        if is_in_toc:
            return f"run {self.run} table {self.index}"
        return f"number {self.number} in its file"


@dataclass(frozen=True)
class Choice:
    """What a caller knows of the table that is meant; what is None or empty is left open.

    `attributes` are those of the table of contents, such as {"counter-profile": "3"}.
    """

    run: int | None = None
    table: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])

    def allows(self, place: TablePlace, attributes: Mapping[str, str]) -> bool:
        """Tell whether a table with these attributes may be the one."""
        return (
            self.run in {None, place.run}
            and self.table in {None, place.index}
            and self.attributes.items() <= attributes.items()
        )

    def __str__(self) -> str:
        """Name what is known, for a sentence."""
        numbers = {"run": self.run, "table": self.table}
        words = (f"{name} {number}" for name, number in numbers.items() if number is not None)
        return ", ".join([*words, *_pairs(self.attributes)])


OPEN = Choice()
HOW_TO_CHOOSE = "Choose with --table and --run, or in Python by table, run or attributes."


def place_of(xpath: str, number: int = 1) -> TablePlace:
    """Read where a table stands from the xpath above it."""
    match = _PLACE.search(xpath)
    if match:
        return TablePlace(int(match[1]), int(match[2]), number)
    return TablePlace(None, None, number)


def xpath_of(place: TablePlace) -> str:
    """Return the xpath that `place_of` reads a place from; run and index have to be known."""
    return f"/trace-toc/run[{place.run}]/data/table[{place.index}]"


def tables_at(toc: Toc | None, place: TablePlace) -> Iterator[TocTable]:
    """Yield what the table of contents lists at a place."""
    for run in toc.runs if toc is not None else ():
        for table in run.tables:
            if (run.number, table.index) == (place.run, place.index):
                yield table


def attributes_of(toc: Toc | None, place: TablePlace, schema: str) -> Mapping[str, str]:
    """Return what the table of contents says of a table; nothing if it is of another trace."""
    return next((table.attributes for table in tables_at(toc, place) if table.schema == schema), {})


def place_in(toc: Toc | None, schema: str) -> TablePlace | None:
    """Return the place of the only table of a schema in the table of contents, if it has one."""
    runs = toc.runs if toc is not None else ()
    places = [
        TablePlace(run.number, table.index)
        for run in runs
        for table in run.tables
        if table.schema == schema
    ]
    if len(places) == 1:
        return places[0]
    return None


def describe_table(place: TablePlace, attributes: Mapping[str, str]) -> str:
    """Name a table and what sets it apart."""
    words = ", ".join(_pairs(attributes))
    if words:
        return f"{place} ({words})"
    return str(place)


def _pairs(attributes: Mapping[str, str]) -> list[str]:
    """Word attributes, in an order that does not depend on the file's."""
    return [f"{key}={value}" for key, value in sorted(attributes.items())]
