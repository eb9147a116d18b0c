"""All tables that `schemas.toml` declares, in the order in which pages and lists show them.

Also the schemas of an export that a table comes from, through all joins.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tracekit.tables import derived
from tracekit.tables.joins import read_inputs
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.schema import Column, ColumnKind, Schema, SchemaSource

_FEWEST_FIELDS = 4  # of a column
_MOST_FIELDS = 5


class _SourceEntry(msgspec.Struct, forbid_unknown_fields=True):
    gpu: str = ""
    host: str = ""
    capture: str = ""
    unused: str = ""


class _TableEntry(msgspec.Struct, forbid_unknown_fields=True):
    meaning: str
    columns: str
    sources: list[_SourceEntry] = []
    join: str | None = None
    joined_first: bool = False
    versions: str = ""
    together: bool = False
    more: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    common: str
    tables: dict[str, _TableEntry]


def read(text: str) -> dict[str, Schema]:
    """Return the tables that a text in the form of `schemas.toml` declares."""
    file = msgspec.toml.decode(text, type=_File)
    common_lines = file.common.strip().splitlines()
    common_columns = [_column(line) for line in common_lines]
    common = {column.name: column for column in common_columns}
    schemas: dict[str, Schema] = {}
    for name, table in file.tables.items():
        try:
            sources = tuple(map(_source, table.sources))
            columns = tuple(_columns(table.columns, common, schemas))
            join = None
            if table.join:
                join = getattr(derived, table.join)
            schemas[name] = Schema(
                name=name,
                meaning=table.meaning,
                sources=sources,
                columns=columns,
                join=join,
                joined_first=table.joined_first,
                versions=table.versions,
                is_concatenated=table.together,
                more=table.more,
            )
        except (AttributeError, KeyError, ValueError) as error:
            raise ValueError(f"schemas.toml: {name}: {error}") from error
    return schemas


def _source(source: _SourceEntry) -> SchemaSource:
    schemas = {"gpu": source.gpu, "host": source.host, "capture": source.capture}
    kinds = [kind for kind, schema in schemas.items() if schema]
    if len(kinds) != 1:
        raise ValueError("a source is of one of `gpu`, `host` and `capture`")
    unused = frozenset(source.unused.split())
    return SchemaSource(schemas[kinds[0]], kinds[0], unused)


def _columns(
    text: str, common: Mapping[str, Column], so_far: Mapping[str, Schema]
) -> Iterator[Column]:
    for line in text.strip().splitlines():
        if "|" in line:
            yield _column(line)
            continue
        for name in map(str.strip, line.split(",")):
            if name.startswith("*"):
                for column in so_far[name[1:]].columns:
                    if column.kind is not ColumnKind.CLOCK:
                        yield column
            elif name in common:
                yield common[name]
            else:
                raise ValueError(f"{name!r} is not a common column")


def _column(line: str) -> Column:
    fields = [field.strip() for field in line.split("|")]
    if not _FEWEST_FIELDS <= len(fields) <= _MOST_FIELDS:
        raise ValueError(f"not a name, a kind, a mnemonic and a meaning: {line}")
    name, kind_and_unit, source, meaning, *remarks = fields
    kind, _, unit = kind_and_unit.partition(" ")
    remark = remarks[0] if remarks else ""
    since = ""
    if remark.startswith("since "):
        since = remark.removeprefix("since ")
    if not since and remark not in {"", "required", "doubtful"}:
        raise ValueError(f"{remark!r} is not a remark for the column {name}")
    return Column(
        name=name,
        source=source,
        kind=ColumnKind(kind),
        meaning=meaning,
        required=remark == "required" or (kind == ColumnKind.TIME and bool(source)),
        unit=unit,
        since=since,
        doubtful=remark == "doubtful",
    )


DECLARATIONS = Path(__file__).with_suffix(".toml")
SCHEMAS: dict[str, Schema] = read(DECLARATIONS.read_text(encoding="utf-8"))


def origins(schema: Schema) -> str:
    """Return the schemas that a table is made of: "a or b", or "a with b" for a join."""
    if schema.join is None or schema.sources:
        return " or ".join([source.schema for source in schema.sources])
    required_names = read_inputs(schema.join).required
    parts = [origins(SCHEMAS[name]) for name in required_names]
    return " with ".join(dict.fromkeys(parts))


def unknown(schemas: Iterable[str]) -> Iterator[Loss]:
    """Yield one loss that names the exported schemas that no table is made of, if any."""
    known_schemas: set[str] = set()
    for schema in SCHEMAS.values():
        known_schemas.update(source.schema for source in schema.sources)
    names = ", ".join([name for name in schemas if name not in known_schemas])
    if names:
        text = (
            f"Exports that tracekit has no table for: {names}; `tracekit convert` turns them into "
            "flat tables."
        )
        yield Loss(Flaw.NOTED, text)


def needed_schemas(tables: Iterable[str], there: frozenset[str]) -> frozenset[str]:
    """Return the schemas that tables are read from, of those that are `there`.

    For each table its first source counts; without one, its join does.
    """
    schemas: set[str] = set()
    for name in tables:
        schemas.update(_read_from(SCHEMAS[name], there))
    return frozenset(schemas)


def first_sources(name: str) -> frozenset[str]:
    """Return the schemas that a table is read from at best."""
    schema = SCHEMAS[name]
    if schema.sources:
        return frozenset([schema.sources[0].schema])
    schemas: set[str] = set()
    if schema.join is not None:
        for required_name in read_inputs(schema.join).required:
            schemas |= first_sources(required_name)
    return frozenset(schemas)


def every_source(name: str) -> frozenset[str]:
    """Return the schemas of all exports that a table may be made of, through all joins."""
    schema = SCHEMAS[name]
    source_schemas = {source.schema for source in schema.sources}
    if schema.join is not None:
        needed = read_inputs(schema.join)
        for table in (*needed.required, *needed.optional):
            source_schemas |= every_source(table)
    return frozenset(source_schemas)


def _read_from(schema: Schema, there: frozenset[str]) -> Iterator[str]:
    """Yield the schemas that a table is read from; see `needed_schemas`."""
    sources = [source.schema for source in schema.sources if source.schema in there]
    if sources:
        yield sources[0]
    if schema.join is None or (sources and not schema.joined_first):
        return
    names = read_inputs(schema.join)
    parts = [frozenset(_read_from(SCHEMAS[name], there)) for name in names.required]
    if all(parts):
        for part in parts:
            yield from part
        for name in names.optional:
            yield from _read_from(SCHEMAS[name], there)
