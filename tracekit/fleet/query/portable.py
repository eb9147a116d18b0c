"""Which values of SQL leave DuckDB as they are, and which as the text that DuckDB has for them.

Arrow, by which answers leave, has no type for some of SQL's values, such as unions, integers of
any length, or times with a zone; Python, which makes words and JSON of them, has no date before
the year 1 or after 9999, no `infinity` and no 24:00. What a type would change or refuse is cast
to text by DuckDB itself, wherever it stands in lists, maps and structs.
"""

from collections.abc import Iterator, Sequence
from itertools import count

from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

_HELD = {
    *("boolean", "tinyint", "smallint", "integer", "bigint"),
    *("utinyint", "usmallint", "uinteger", "ubigint"),
    *("float", "double", "decimal", "varchar", "uuid", "blob", "enum", "null"),
}
_HELD_BY_WORDS = {"hugeint"}
_HELD_BY_PARQUET = {
    *("date", "time", "time_ns", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    *("timestamp with time zone", "timestamptz_ns"),
}


def named(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, those that repeat one before with a number."""
    names: list[str] = []
    for name in columns:
        free = (one for one in _numbered(name) if one not in names)
        names.append(next(free))
    return names


def portable(relation: DuckDBPyRelation, *, words: bool) -> DuckDBPyRelation:
    """Return an answer with columns that can leave DuckDB, each under a name of its own.

    Args:
        relation: The answer.
        words: Whether it becomes words, CSV or JSON; else Parquet.
    """
    names = named(relation.columns)
    kinds: list[DuckDBPyType] = relation.types
    if names == relation.columns and all(_held(one, words=words) for one in kinds):
        return relation
    return relation.project(
        ", ".join(
            f"{_cast(place, kind, words=words)} AS {_quoted(name)}"
            for place, (name, kind) in enumerate(zip(names, kinds, strict=True), start=1)
        )
    )


def _cast(place: int, kind: DuckDBPyType, *, words: bool) -> str:
    held = _held(kind, words=words)
    return f"#{place}" if held else f"CAST(#{place} AS {_target(kind, words=words)})"


def _held(kind: DuckDBPyType, *, words: bool) -> bool:
    """Tell whether a type, and all that it is made of, leaves as it is."""
    match kind.id:
        case "list" | "array":
            return _held(_part(kind, 0), words=words)
        case "map":  # a key of JSON is a text
            text = not words or _part(kind, 0).id == "varchar"
            return text and all(_held(_part(kind, one), words=words) for one in (0, 1))
        case "struct" | "tuple":
            parts = range(len(kind.children))
            return bool(words or parts) and all(
                _held(_part(kind, one), words=words) for one in parts
            )
        case leaf:
            return leaf in _HELD or leaf in (_HELD_BY_WORDS if words else _HELD_BY_PARQUET)


def _target(kind: DuckDBPyType, *, words: bool) -> str:
    """Return the type, in SQL, that a value leaves as."""
    if kind.id in {"list", "array", "map", "struct", "tuple"} and kind.children:
        parts = [_target(_part(kind, one), words=words) for one in range(_parts(kind))]
        return _made_of(kind, parts, words=words)
    if kind.id == "hugeint" and not words:
        return "DECIMAL(38,0)"  # as Arrow takes it for; of more digits, DuckDB refuses the column
    plain = _held(kind, words=words) and kind.id not in {"enum", "null"}
    return str(kind) if plain else "VARCHAR"


def _made_of(kind: DuckDBPyType, parts: Sequence[str], *, words: bool) -> str:
    match kind.id:
        case "list":
            return f"{parts[0]}[]"
        case "array":
            return f"{parts[0]}[{kind.children[1][1]}]"
        case "map":
            return f"MAP({'VARCHAR' if words else parts[0]}, {parts[1]})"
        case "tuple":
            return f"TUPLE({', '.join(parts)})"
        case _:
            fields = zip(kind.children, parts, strict=True)
            return f"STRUCT({', '.join(f'{_quoted(one[0])} {part}' for one, part in fields)})"


def _parts(kind: DuckDBPyType) -> int:
    return 1 if kind.id in {"list", "array"} else len(kind.children)


def _part(kind: DuckDBPyType, place: int) -> DuckDBPyType:
    part = kind.children[place][1]
    assert isinstance(part, DuckDBPyType), "only an array's size is no type"
    return part


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
