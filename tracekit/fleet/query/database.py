"""DuckDB, shut in: it reads the files of the views and no others, and asks no network.

Arrow, by which answers leave, has no type for some of SQL's values, such as unions, integers of
any length, or times with a zone; Python, which makes words and JSON of them, has no date before
the year 1 or after 9999, no `infinity` and no 24:00. What a type would change or refuse is cast
to text by DuckDB itself, wherever it stands in lists, maps and structs.

What was set stands until the end: a question cannot change it. Everything that may take long
runs on a thread of its own, so that an interrupt reaches it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from tracekit.analysis import ASKER, BLANK, INSTANCE, UNLABELLED
from tracekit.base import InterruptedRunError

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
        numbered = chain([name], (f"{name}_{number}" for number in count(1)))
        names.append(next(each for each in numbered if each not in names))
    return names


def portable(relation: DuckDBPyRelation, *, words: bool) -> DuckDBPyRelation:
    """Return an answer with columns that can leave DuckDB, each under a name of its own.

    They become words, CSV or JSON; else Parquet.
    """
    names = named(relation.columns)
    kinds: list[DuckDBPyType] = relation.types
    if names == relation.columns and all(_held(kind, words=words) for kind in kinds):
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
            return text and all(_held(_part(kind, part), words=words) for part in (0, 1))
        case "struct" | "tuple":
            parts = range(len(kind.children))
            return bool(words or parts) and all(
                _held(_part(kind, part), words=words) for part in parts
            )
        case leaf:
            return leaf in _HELD or leaf in (_HELD_BY_WORDS if words else _HELD_BY_PARQUET)


def _target(kind: DuckDBPyType, *, words: bool) -> str:
    """Return the type, in SQL, that a value leaves as."""
    if kind.id in {"list", "array", "map", "struct", "tuple"} and kind.children:
        number = 1 if kind.id in {"list", "array"} else len(kind.children)
        parts = [_target(_part(kind, part), words=words) for part in range(number)]
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
            return f"STRUCT({', '.join(f'{_quoted(field[0])} {part}' for field, part in fields)})"


def _part(kind: DuckDBPyType, place: int) -> DuckDBPyType:
    part = kind.children[place][1]
    assert isinstance(part, DuckDBPyType), "only an array's size is no type"
    return part


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_MEMORY = "50%"  # of what the machine, or its container, has
_BATCH = 65_536  # rows
_KINDS = {
    "Out of Memory": duckdb.OutOfMemoryException,
    "IO": duckdb.IOException,
    "INTERNAL": duckdb.InternalException,
}
_T = TypeVar("_T")


def texts(values: Sequence[str]) -> str:
    """Return a list of texts as SQL writes it."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


# As `tracekit.analysis.work_names` does it, by the same expressions in the same engine, RE2.
_SHORTER = (
    f"regexp_replace(regexp_replace(coalesce(label, ''), {text(INSTANCE)}, ''), {text(ASKER)}, '')"
)
_FAMILY = (
    f"coalesce(nullif(regexp_replace({_SHORTER}, {text(rf'^{BLANK}+|{BLANK}+$')}, '', 'g'), ''), "
    f"{text(UNLABELLED)})"
)


@dataclass(frozen=True)
class Answer:
    """What was asked for: the types of its columns in SQL's words, and its rows.

    `batches` computes the rows and gives them piece by piece; the first piece has none. So does
    `worded`, with times as text, for what becomes words.
    """

    types: dict[str, str]
    batches: Callable[[], Iterator[pa.RecordBatch]]
    worded: Callable[[], Iterator[pa.RecordBatch]]


class Database:
    """A database in memory, whose views read Parquet files of some folders."""

    def __init__(self, readable: Iterable[Path], workshop: Path) -> None:
        """Let files below some folders be read; `workshop` is for what memory does not hold."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="duckdb")
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": _MEMORY,
                "temp_directory": str(workshop / "spilled"),
                "secret_directory": str(workshop / "secrets"),
                "extension_directory": str(workshop / "extensions"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "allow_community_extensions": False,
                "python_enable_replacements": False,
            },
        )
        folders = list(dict.fromkeys(f"{folder.resolve()}/" for folder in (*readable, workshop)))
        self.connection.execute(f"SET allowed_directories = {texts(folders)}")
        self.connection.execute(f"CREATE MACRO family(label) AS {_FAMILY}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def view(self, name: str, select: str) -> None:
        """Make a view.

        Raises:
            duckdb.Error: Its files cannot be read.
        """
        self.waiting(lambda: self.connection.execute(f"CREATE VIEW {name} AS {select}"))

    def table(self, name: str, content: pa.Table) -> None:
        """Make a small table."""
        self.connection.register(f"{name}_given", content)
        self.connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
        self.connection.unregister(f"{name}_given")

    def answer(self, sql: str) -> Answer:
        """Ask; the rows are computed as they are read.

        Raises:
            duckdb.Error: It cannot be asked.
            InterruptedRunError: Someone asked to stop.
        """
        relation = self.waiting(lambda: self.connection.sql(sql))
        assert relation is not None, "what returns nothing is no question"
        types = dict(zip(named(relation.columns), map(str, relation.types), strict=True))
        return Answer(
            types,
            lambda: self._batches(relation, words=False),
            lambda: self._batches(relation, words=True),
        )

    def _batches(
        self, relation: duckdb.DuckDBPyRelation, *, words: bool
    ) -> Iterator[pa.RecordBatch]:
        reader = self.waiting(lambda: portable(relation, words=words).to_arrow_reader(_BATCH))
        yield pa.RecordBatch.from_pylist([], reader.schema)
        while (batch := self.waiting(lambda: _next(reader))) is not None:
            yield batch

    def waiting(self, work: Callable[[], _T]) -> _T:
        """Do work on DuckDB's thread; at an interrupt, end it.

        Raises:
            InterruptedRunError: Someone asked to stop.
        """
        doing = self._thread.submit(work)
        try:
            return doing.result()
        except KeyboardInterrupt:
            self.connection.interrupt()
            raise InterruptedRunError("The query was stopped.") from None

    def close(self) -> None:
        """End it, and wait for what is under way."""
        self.connection.interrupt()
        self._thread.shutdown()
        self.connection.close()


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    """Return the next rows; what DuckDB fails at, Arrow passes on as an OSError."""
    try:
        return next(reader, None)
    except OSError as error:
        kind = str(error).partition(" Error: ")[0]
        raise _KINDS.get(kind, duckdb.DataError)(str(error)) from error
