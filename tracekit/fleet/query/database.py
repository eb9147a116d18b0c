"""DuckDB, shut in: it reads the files of the views and no others, and asks no network.

What was set stands until the end: a question cannot change it. Everything that may take long
runs on a thread of its own, so that an interrupt reaches it.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from tracekit.base import UsageError, on_one_line, visible
from tracekit.tables import ASKER, BLANK, INSTANCE, UNLABELLED

Form = Literal["parquet", "csv", "json"]
FORMS: Mapping[str, Form] = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
_OPTIONS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv",
    "json": "FORMAT json, ARRAY true",
}
_MEMORY = "50%"  # of what the machine, or its container, has
_T = TypeVar("_T")


def form_of(output: str, form: Form | None) -> Form:
    """Return the format that is asked for, or that the file's name says; `-` is CSV."""
    suffix = Path(output).suffix.lower()
    if form is not None:
        return form
    if output != "-" and suffix not in FORMS:
        raise UsageError(
            f"{output} has a suffix that says no format.",
            hint=f"Use {', '.join(FORMS)}, or say --format.",
        )
    return FORMS.get(suffix, "csv")


def make_names_unique(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, those that repeat one before with a number."""
    names: list[str] = []
    for name in columns:
        numbered = chain([name], (f"{name}_{number}" for number in count(1)))
        names.append(next(new_name for new_name in numbered if new_name not in names))
    return names


def texts(values: Sequence[str]) -> str:
    """Return a list of texts as SQL writes it."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


# As `tracekit.tables.labels` does it, by the same expressions in the same engine, RE2.
_SHORTER = (
    f"regexp_replace(regexp_replace(coalesce(label, ''), {text(INSTANCE)}, ''), {text(ASKER)}, '')"
)
_FAMILY = (
    f"coalesce(nullif(regexp_replace({_SHORTER}, {text(rf'^{BLANK}+|{BLANK}+$')}, '', 'g'), ''), "
    f"{text(UNLABELLED)})"
)


class QueryDatabase:
    """A database in memory, whose views read Parquet files of some folders."""

    def __init__(self, readable: Iterable[Path], workshop: Path) -> None:
        """Let files below some folders be read; `workshop` is for what memory does not hold."""
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
        folders = list(dict.fromkeys(f"{folder.resolve()}/" for folder in (*readable, workshop)))
        self.connection.execute(f"SET allowed_directories = {texts(folders)}")
        self.connection.execute(f"CREATE MACRO family(label) AS {_FAMILY}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def table(self, name: str, content: pa.Table) -> None:
        """Make a small table."""
        self.connection.register(f"{name}_given", content)
        self.connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")
        self.connection.unregister(f"{name}_given")

    def waiting(self, work: Callable[[], _T]) -> _T:
        """Do work on DuckDB's thread; at an interrupt, end it."""
        doing = self._thread.submit(work)
        try:
            return doing.result()
        except KeyboardInterrupt:
            self.connection.interrupt()
            raise

    def close(self) -> None:
        """End it, and wait for what is under way."""
        self.connection.interrupt()
        self._thread.shutdown()
        self.connection.close()


class QueryResult:
    """What was asked for; its rows are computed when they are written or shown."""

    def __init__(self, database: QueryDatabase, sql: str) -> None:
        """Ask; raise the error of DuckDB where it cannot be answered."""
        relation = database.waiting(lambda: database.connection.sql(sql))
        assert relation is not None, "what returns nothing is no question"
        self._database, self._relation = database, relation
        self._kinds: list[DuckDBPyType] = relation.types
        self.types = dict(
            zip(make_names_unique(relation.columns), map(str, self._kinds), strict=True)
        )
        """The columns, each under a name of its own, with their types in SQL's words."""

    def write(self, file: BinaryIO, form: Form) -> None:
        """Write all rows, as DuckDB does.

        CSV has lists, maps and structs as JSON, and JSON is an array of objects. Parquet holds
        integers of 128 bits as decimals.
        """
        path = self._database.workshop / f"answer.{form}"
        self._query(f"COPY ({self._select(form)}) TO {text(str(path))} ({_OPTIONS[form]})")
        with path.open("rb") as answer_file:
            shutil.copyfileobj(answer_file, file)
        path.unlink()

    def fetch_first_rows(self, max_rows: int, *, short: bool) -> tuple[list[tuple[str, ...]], int]:
        """Return the first rows in words, at most so many, and how many there are in all.

        A null is empty. Control characters, which could direct a terminal, are written out. If
        `short`, six digits of a number that is not whole will do.
        """
        self._query(
            f"CREATE OR REPLACE TEMP TABLE shown AS {self._select('short' if short else 'words')}"
        )
        ask = self._database.connection.execute
        rows: list[tuple[str | None, ...]] = ask(f"FROM shown LIMIT {max_rows}").fetchall()
        [[total]] = ask("SELECT count(*) FROM shown").fetchall()
        format_cell = (
            visible if list(self.types) == ["explain_key", "explain_value"] else on_one_line
        )
        return [tuple(format_cell(cell or "") for cell in row) for row in rows], total

    def _query(self, sql: str) -> None:
        self._database.waiting(lambda: self._relation.query("answer", sql))

    def _select(self, form: str) -> str:
        columns = enumerate(zip(self._kinds, self.types, strict=True), start=1)
        cells = (
            f"{_cell(f'#{n}', kind.id, form)} AS {_quote_name(name)}" for n, (kind, name) in columns
        )
        return f"SELECT {', '.join(cells)} FROM answer"


def _cell(column: str, kind: str, form: str) -> str:
    """Return what stands for a column of a type in a format."""
    words, real = form in {"words", "short"}, kind in {"float", "double"}
    if form == "parquet":
        return f"CAST({column} AS DECIMAL(38,0))" if kind == "hugeint" else column
    if form == "json":
        return f"if(isfinite({column}), {column}, NULL)" if real else column
    if kind in {"list", "array", "map", "struct", "tuple"}:
        return f"CAST(to_json({column}) AS VARCHAR)"
    if form == "short" and real:
        return f"printf('%.6g', {column})"
    return f"CAST({column} AS VARCHAR)" if words else column


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
