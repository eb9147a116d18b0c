"""The choice of a table of a trace, if several have the same schema.

A table is one entry of the table of contents: a run, and its place 1, 2 … among the tables of
that run, as in the xpath above an exported table. Two entries are never joined, not even if their
attributes are the same: each is a table of its own. One of several can be taken without an explicit
choice only if all others are empty.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tracekit.tables.toc import Toc, TocTable

_PLACE = re.compile(r"/run\[(\d+)\].*/table\[(\d+)\]")


@dataclass(frozen=True)
class TablePlace:
    """The place of a table: run and index in its trace, None if the file does not name them.

    `number` counts the tables of its file from 1.
    """

    run: int | None
    index: int | None
    number: int = 1

    def __str__(self) -> str:
        """Return the words by which a user chooses it."""
        is_in_toc = self.run is not None and self.index is not None
        if is_in_toc:
            return f"run {self.run} table {self.index}"
        return f"number {self.number} in its file"


@dataclass(frozen=True)
class Choice:
    """The criteria by which a caller chooses a table; None or empty ones are open.

    `attributes` are those of the table of contents, such as {"counter-profile": "3"}.
    """

    run: int | None = None
    table: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])

    def allows(self, place: TablePlace, attributes: Mapping[str, str]) -> bool:
        """Return whether a table with these attributes meets the criteria."""
        is_in_run = self.run in {None, place.run}
        return (
            is_in_run
            and self.table in {None, place.index}
            and self.attributes.items() <= attributes.items()
        )

    def __str__(self) -> str:
        """Return the criteria in words, for a sentence."""
        words: list[str] = []
        if self.run is not None:
            words.append(f"run {self.run}")
        if self.table is not None:
            words.append(f"table {self.table}")
        words += _pairs(self.attributes)
        return ", ".join(words)


OPEN = Choice()
HOW_TO_CHOOSE = (
    "`tracekit tables` and `convert` choose with --table and --run, Python by table, run or "
    "attributes; for any other command, leave a file out."
)


def place_of(xpath: str, number: int = 1) -> TablePlace:
    """Read the place of a table from the xpath above it."""
    match = _PLACE.search(xpath)
    if match:
        return TablePlace(int(match[1]), int(match[2]), number)
    return TablePlace(None, None, number)


def xpath_of(place: TablePlace) -> str:
    """Return the xpath that `place_of` reads a place from; run and index must not be None."""
    return f"/trace-toc/run[{place.run}]/data/table[{place.index}]"


def tables_at(toc: Toc | None, place: TablePlace) -> Iterator[TocTable]:
    """Yield the tables that the table of contents lists at a place."""
    if toc is None:
        return
    for run in toc.runs:
        for table in run.tables:
            if (run.number, table.index) == (place.run, place.index):
                yield table


def attributes_of(toc: Toc | None, place: TablePlace, schema: str) -> Mapping[str, str]:
    """Return the attributes of a table in the table of contents, or none if it is not there."""
    for table in tables_at(toc, place):
        if table.schema == schema:
            return table.attributes
    return {}


def place_in(toc: Toc | None, schema: str) -> TablePlace | None:
    """Return the place of the only table of a schema in the table of contents, if it has one."""
    if toc is None:
        return None
    places: list[TablePlace] = []
    for run in toc.runs:
        for table in run.tables:
            if table.schema != schema:
                continue
            places.append(TablePlace(run.number, table.index))
    if len(places) == 1:
        return places[0]
    return None


def describe_table(place: TablePlace, attributes: Mapping[str, str]) -> str:
    """Return the place of a table, with its attributes."""
    words = ", ".join(_pairs(attributes))
    if words:
        return f"{place} ({words})"
    return str(place)


def _pairs(attributes: Mapping[str, str]) -> list[str]:
    """Return attributes in words, sorted, so that their order in the file does not matter."""
    return [f"{key}={value}" for key, value in sorted(attributes.items())]
