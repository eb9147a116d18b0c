"""DuckDB, shut in: it reads the files of the views and no others, and asks no network.

What was set stands until the end: a question cannot change it. Everything that may take long
runs on a thread of its own, so that an interrupt reaches it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from tracekit.analysis.families import ASKER, BLANK, INSTANCE, UNLABELLED
from tracekit.base.errors import InterruptedRunError
from tracekit.fleet.query.portable import named, portable

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


# As `tracekit.analysis.families` does it, by the same expressions in the same engine, RE2.
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
        """Open it.

        Args:
            readable: The folders below which files may be read.
            workshop: A private folder, for what does not fit into memory.
        """
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="duckdb")
        self._connection = duckdb.connect(
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
        folders = list(dict.fromkeys(f"{one.resolve()}/" for one in (*readable, workshop)))
        self._run(f"SET allowed_directories = {texts(folders)}")
        self._run(f"CREATE MACRO family(label) AS {_FAMILY}")
        self._run("SET enable_external_access = false")
        self._run("SET lock_configuration = true")

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, for what takes no time."""
        return self._connection

    def view(self, name: str, select: str) -> None:
        """Make a view.

        Raises:
            duckdb.Error: Its files cannot be read.
        """
        self.waiting(lambda: self._run(f"CREATE VIEW {name} AS {select}"))

    def table(self, name: str, content: pa.Table) -> None:
        """Make a small table."""
        self._connection.register(f"{name}_given", content)
        self._run(f"CREATE TABLE {name} AS FROM {name}_given")
        self._connection.unregister(f"{name}_given")

    def answer(self, sql: str) -> Answer:
        """Ask; the rows are computed as they are read.

        Raises:
            duckdb.Error: It cannot be asked.
            InterruptedRunError: Someone asked to stop.
        """
        relation = self.waiting(lambda: self._connection.sql(sql))
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
            self._connection.interrupt()
            raise InterruptedRunError("The query was stopped.") from None

    def close(self) -> None:
        """End it, and wait for what is under way."""
        self._connection.interrupt()
        self._thread.shutdown()
        self._connection.close()

    def _run(self, sql: str) -> None:
        self._connection.execute(sql)


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    """Return the next rows; what DuckDB fails at, Arrow passes on as an OSError."""
    try:
        return next(reader, None)
    except OSError as error:
        kind = str(error).partition(" Error: ")[0]
        raise _KINDS.get(kind, duckdb.DataError)(str(error)) from error
