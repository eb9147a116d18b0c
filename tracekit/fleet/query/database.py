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
_HELD_BY_WORDS = {"hugeint", "struct", "tuple"}  # the latter without parts
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
    targets = [_target(kind, words=words) for kind in kinds]
    if names == relation.columns and targets == list(map(str, kinds)):
        return relation
    columns = enumerate(zip(names, targets, strict=True), start=1)
    return relation.project(
        ", ".join(
            f"CAST(#{place} AS {target}) AS {_quoted(name)}" for place, (name, target) in columns
        )
    )


def _target(kind: DuckDBPyType, *, words: bool) -> str:
    """Return the type, in SQL, that a value leaves as."""
    nested = kind.id in {"list", "array", "map", "struct", "tuple"}
    types = [part for _, part in kind.children if isinstance(part, DuckDBPyType)] if nested else []
    parts = [_target(part, words=words) for part in types]
    match kind.id:
        case "list" | "array":
            size = kind.children[1][1] if kind.id == "array" else ""
            target = f"{parts[0]}[{size}]"
        case "map":
            target = f"MAP({'VARCHAR' if words else parts[0]}, {parts[1]})"  # keys of JSON are text
        case "tuple" if parts:
            target = f"TUPLE({', '.join(parts)})"
        case "struct" if parts:
            fields = zip(kind.children, parts, strict=True)
            target = f"STRUCT({', '.join(f'{_quoted(field[0])} {part}' for field, part in fields)})"
        case "hugeint" if not words:
            target = "DECIMAL(38,0)"  # as Arrow takes it for; of more digits, DuckDB refuses it
        case leaf:
            held = _HELD | (_HELD_BY_WORDS if words else _HELD_BY_PARQUET)
            target = str(kind) if leaf in held else "VARCHAR"
    return target


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
        """Make a view."""
        self.waiting(lambda: self.connection.execute(f"CREATE VIEW {name} AS {select}"))

    def table(self, name: str, content: pa.Table) -> None:
        """Make a small table."""
        self.connection.register(f"{name}_given", content)
        self.connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
        self.connection.unregister(f"{name}_given")

    def answer(self, sql: str) -> Answer:
        """Ask; the rows are computed as they are read."""
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
        """Do work on DuckDB's thread; at an interrupt, end it."""
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
