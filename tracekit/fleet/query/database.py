"""DuckDB, confined: it reads only the files of the views, and uses no network.

A question cannot change the settings. Everything that may take long runs on a thread of its own, so
that an interrupt reaches it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import duckdb
from duckdb.sqltypes import DuckDBPyType

from tracekit.base import InputError, UsageError, streams
from tracekit.fleet.batch import parts
from tracekit.tables import labels
from tracekit.tables.lazy import pa, pq

Form = Literal["parquet", "csv", "json", "arrow"]
FORMS: Mapping[str, Form] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".arrow": "arrow",
}
_OPTIONS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv",
    "json": "FORMAT json, ARRAY true",
}
_MEMORY = "50%"  # of the memory of the machine, or of its container
_T = TypeVar("_T")


def form_of(output: str, form: Form | None) -> Form:
    """Return the requested format, or without one that of the file's name; `-` is CSV."""
    if form is not None:
        return form
    suffix = Path(output).suffix.lower()
    if output != "-" and suffix not in FORMS:
        raise UsageError(
            f"{output} has a suffix that says no format.",
            hint=f"Use {', '.join(FORMS)}, or say --format.",
        )
    return FORMS.get(suffix, "csv")


def make_names_unique(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, with a number after those that repeat an earlier one."""
    names: list[str] = []
    for name in columns:
        unique_name = name
        number = 0
        while unique_name in names:
            number += 1
            unique_name = f"{name}_{number}"
        names.append(unique_name)
    return names


def texts(values: Sequence[str]) -> str:
    """Return a list of texts as SQL writes it."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


# As `tracekit.tables.labels` does it, by the same expressions in the same engine, RE2.
_SHORTER = (
    f"regexp_replace(regexp_replace(coalesce(label, ''), {text(labels.INSTANCE)}, ''), "
    f"{text(labels.ASKER)}, '')"
)
_FAMILY = (
    f"coalesce(nullif(regexp_replace({_SHORTER}, "
    f"{text(rf'^{labels.BLANK}+|{labels.BLANK}+$')}, '', 'g'), ''), "
    f"{text(labels.UNLABELLED)})"
)


class QueryDatabase:
    """A database in memory, whose views read Parquet files of some folders."""

    def __init__(
        self, readable: Iterable[Path], workshop: Path, time_limit: float | None = None
    ) -> None:
        """Allow files below some folders; `workshop` is for data that memory does not hold.

        A piece of work that takes longer than `time_limit` seconds is stopped.
        """
        self._time_limit = time_limit
        self.renew: Callable[[], bool] = _keep_views
        """Makes views anew whose files have changed; returns whether there are any."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="duckdb")
        self.workshop = workshop
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
        all_folders = (*readable, workshop)
        folders = [f"{folder.resolve()}/" for folder in all_folders]
        unique_folders = list(dict.fromkeys(folders))
        self.connection.execute(f"SET allowed_directories = {texts(unique_folders)}")
        self.connection.execute(f"CREATE MACRO family(label) AS {_FAMILY}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def table(self, name: str, content: pa.Table) -> None:
        """Make a small table."""
        self.connection.register(f"{name}_given", content)
        self.connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
        self.connection.unregister(f"{name}_given")

    def read_metadata(self, file: Path, name: str) -> bytes:
        """Return an entry of the metadata of a Parquet file; empty if it is not there."""
        entry = f"key = CAST({text(name)} AS BLOB)"
        values = self.connection.execute(
            f"SELECT value FROM parquet_kv_metadata({text(str(file))}) WHERE {entry}"
        )
        for [value] in values.fetchall():
            return value
        return b""

    def waiting(self, work: Callable[[], _T]) -> _T:
        """Do work on DuckDB's thread, and return its result; an interrupt ends it.

        Raise InputError if it takes longer than the time limit.
        """
        future = self._thread.submit(work)
        try:
            return future.result(self._time_limit)
        except TimeoutError:
            self.connection.interrupt()
            raise InputError(
                f"The query was stopped after {self._time_limit:g} s.",
                hint="Ask for less at once, with WHERE or fewer joins.",
            ) from None
        except KeyboardInterrupt:
            self.connection.interrupt()
            raise

    def read(self, work: Callable[[], _T], renew: Callable[[], bool] | None = None) -> _T:
        """Do work on files of batches; again if one of them is gone, and others took its place.

        `renew` names these to the work, and tells whether there are any; without it the views are
        renewed.
        """
        renew = renew or self.renew
        for _ in range(parts.MOST_TRIES):
            try:
                return self.waiting(work)
            except duckdb.IOException:
                if not renew():
                    raise
        return self.waiting(work)

    def close(self) -> None:
        """End it, and wait for running work."""
        self.connection.interrupt()
        self._thread.shutdown()
        self.connection.close()


def _keep_views() -> bool:
    return False


class QueryResult:
    """The answer to a question; its rows are computed when they are written or shown."""

    def __init__(self, database: QueryDatabase, sql: str) -> None:
        """Ask; raise the error of DuckDB if it cannot be answered."""
        relation = database.read(lambda: database.connection.sql(sql))
        assert relation is not None, "a query returns a relation"
        self._database = database
        self._relation = relation
        self._kinds: list[DuckDBPyType] = relation.types
        names = make_names_unique(relation.columns)
        kind_names = map(str, self._kinds)
        self.types = dict(zip(names, kind_names, strict=True))
        """The columns by unique names, with their types in SQL's words."""

    @staticmethod
    def choose_form(output: str, form: Form | None) -> Form:
        """Return the requested format, or without one that of the file's name; `-` is CSV."""
        return form_of(output, form)

    def write(
        self,
        file: BinaryIO,
        form: Form,
        max_rows: int | None = None,
        announce: Callable[[int], None] | None = None,
    ) -> None:
        """Write all rows, or the first ones, as DuckDB does.

        CSV has lists, maps and structs as JSON, and JSON is an array of objects. Parquet and Arrow
        hold integers of 128 bits as decimals; Arrow is a file of record batches, which
        `pyarrow.ipc.open_file` reads. `announce` is called with the number of bytes before the
        first one is written.
        """
        is_arrow = form == "arrow"
        stored_form: Form = "parquet" if is_arrow else form
        path = self._database.workshop / f"answer.{stored_form}"
        selection = self._select(stored_form)
        if max_rows is not None:
            selection = f"{selection} LIMIT {max_rows}"
        target = text(str(path))
        self._query(f"COPY ({selection}) TO {target} ({_OPTIONS[stored_form]})")
        if is_arrow:
            path = _convert_to_arrow(path)
        if announce is not None:
            announce(path.stat().st_size)
        with path.open("rb") as answer_file:
            shutil.copyfileobj(answer_file, file)
        path.unlink()

    def count_rows(self) -> int:
        """Return the number of all rows."""
        self._query("CREATE OR REPLACE TEMP TABLE counted AS SELECT count(*) FROM answer")
        [[total]] = self._database.connection.execute("FROM counted").fetchall()
        return total

    def fetch_first_rows(self, max_rows: int, *, short: bool) -> tuple[list[tuple[str, ...]], int]:
        """Return up to `max_rows` rows in words, and the number of all rows.

        A null is empty. Control characters, which could direct a terminal, are escaped. With
        `short`, numbers that are not whole have six digits.
        """
        form = "short" if short else "words"
        self._query(f"CREATE OR REPLACE TEMP TABLE shown AS {self._select(form)}")
        ask = self._database.connection.execute
        rows: list[tuple[str | None, ...]] = ask(f"FROM shown LIMIT {max_rows}").fetchall()
        [[total]] = ask("SELECT count(*) FROM shown").fetchall()
        is_query_plan = list(self.types) == ["explain_key", "explain_value"]
        format_cell = streams.visible if is_query_plan else streams.on_one_line
        shown_rows: list[tuple[str, ...]] = []
        for row in rows:
            cells = [format_cell(cell or "") for cell in row]
            shown_rows.append(tuple(cells))
        return shown_rows, total

    def _query(self, sql: str) -> None:
        self._database.read(lambda: self._relation.query("answer", sql))

    def _select(self, form: str) -> str:
        cells: list[str] = []
        columns = zip(self._kinds, self.types, strict=True)
        for number, (kind, name) in enumerate(columns, start=1):
            cell = _cell(f"#{number}", kind.id, form)
            cells.append(f"{cell} AS {_quote_name(name)}")
        return f"SELECT {', '.join(cells)} FROM answer"


def _convert_to_arrow(parquet_file: Path) -> Path:
    """Write a file of Arrow record batches in place of a file of Parquet, a part at a time."""
    arrow_file = parquet_file.with_suffix(".arrow")
    with pq.ParquetFile(parquet_file) as source:
        schema = source.schema_arrow
        with pa.OSFile(str(arrow_file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in source.iter_batches():
                writer.write_batch(batch)
    parquet_file.unlink()
    return arrow_file


def _cell(column: str, kind: str, form: str) -> str:
    """Return the expression for a column of a type in a format."""
    is_real = kind in {"float", "double"}
    if form == "parquet":
        return f"CAST({column} AS DECIMAL(38,0))" if kind == "hugeint" else column
    if form == "json":
        return f"if(isfinite({column}), {column}, NULL)" if is_real else column
    if kind in {"list", "array", "map", "struct", "tuple"}:
        return f"CAST(to_json({column}) AS VARCHAR)"
    if form == "short" and is_real:
        return f"printf('%.6g', {column})"
    if form in {"words", "short"}:
        return f"CAST({column} AS VARCHAR)"
    return column


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
