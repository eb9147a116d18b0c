"""Which schemas of an export a table comes from, through all joins."""

from collections.abc import Iterable, Iterator

from tracekit.tables.joins import asked
from tracekit.tables.schema import Schema
from tracekit.tables.schemas import SCHEMAS


def origins(schema: Schema) -> str:
    """Say of which schemas a table is made: "a or b", or "a with b" for a join."""
    sources = " or ".join(source.schema for source in schema.sources)
    if schema.join is None or sources:
        return sources
    parts = (SCHEMAS[name] for name in asked(schema.join).required)
    return " with ".join(dict.fromkeys(origins(part) for part in parts))


def unknown(schemas: Iterable[str]) -> Iterator[str]:
    """Name the exported schemas that no table is made of, in one warning if there are any."""
    known = {source.schema for schema in SCHEMAS.values() for source in schema.sources}
    if names := ", ".join(name for name in schemas if name not in known):
        yield (
            f"Exports that tracekit has no table for: {names}; `tracekit convert` turns them into "
            "flat tables."
        )


def needed_schemas(tables: Iterable[str], there: frozenset[str]) -> frozenset[str]:
    """Return which of the schemas that are `there` the tables are read from.

    For each table its first source counts; where there is none, its join does.
    """
    return frozenset(found for name in tables for found in _read_from(SCHEMAS[name], there))


def first_sources(name: str) -> frozenset[str]:
    """Return the schemas that a table is read from at best."""
    schema = SCHEMAS[name]
    if schema.sources or schema.join is None:
        return frozenset(source.schema for source in schema.sources[:1])
    return frozenset[str]().union(*map(first_sources, asked(schema.join).required))


def _read_from(schema: Schema, there: frozenset[str]) -> Iterator[str]:
    source = next((one.schema for one in schema.sources if one.schema in there), None)
    if source is not None:
        yield source
    if schema.join is None or (source is not None and not schema.joined_first):
        return
    names = asked(schema.join)
    parts = [frozenset(_read_from(SCHEMAS[name], there)) for name in names.required]
    if all(parts):
        yield from frozenset[str]().union(*parts)
        for name in names.optional:
            yield from _read_from(SCHEMAS[name], there)
