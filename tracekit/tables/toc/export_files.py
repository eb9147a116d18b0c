"""The files that hold the tables of a run, when each table is exported into one of its own."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracekit.tables.toc.toc import TocRun


@dataclass(frozen=True)
class Wanted:
    """One table to export: `place` chooses among tables of one schema, None if it is alone.

    `index` is its number in the TOC, as in the xpath of its export.
    """

    schema: str
    place: int | None
    file: str
    index: int = field(default=0, compare=False)


def wanted(run: TocRun, schemas: Iterable[str]) -> tuple[Wanted, ...]:
    """Return the tables of `run` that have one of `schemas`, in the order of its TOC."""
    schemas = frozenset(schemas)
    listed = [table for table in run.tables if table.schema in schemas]
    counts, seen = Counter(table.schema for table in listed), Counter[str]()
    tables: list[Wanted] = []
    for table in listed:
        schema = table.schema
        seen[schema] += 1
        place = seen[schema]
        suffix = "" if place == 1 else f"-{place}"
        alone = counts[schema] == 1
        file = f"{schema}{suffix}.xml"
        tables.append(Wanted(schema, None if alone else place, file, table.index))
    return tuple(tables)
