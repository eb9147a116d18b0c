"""A question in SQL: its check, and its answer with the omissions."""

import re
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tracekit.base import InputError, InterruptedRunError, TracekitError, UsageError
from tracekit.fleet.batch import parts
from tracekit.fleet.query.database import QueryDatabase, QueryResult
from tracekit.fleet.query.sources import Opener, sources
from tracekit.fleet.query.views import LeftOut, Views
from tracekit.record import Progress, quiet
from tracekit.tables import losses

_HINT = "Ask with SELECT, WITH, PIVOT, SUMMARIZE, EXPLAIN, or DESCRIBE a table; --list lists them."
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(.*)", re.IGNORECASE | re.DOTALL)
_LISTS = re.compile(r"show\b|desc(ribe)?(\s+(all\s+)?tables)?[\s;]*$")
# The first words of a PIVOT, of which DuckDB makes several statements.
_PIVOTS = {"pivot", "pivot_wider", "with", "select", "from", "("}


def require_question(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise UsageError unless the SQL is one statement that only reads."""
    explained = _EXPLAIN.match(sql)
    if explained:
        require_question(connection, explained[1])
        return
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(
            f"There are {len(statements)} statements, and one is answered at a time.",
            hint="Ask them one after the other; WITH holds steps of one question.",
        )
    kind = statements[0].type.name
    stripped_sql = _COMMENT.sub(" ", sql).strip().lower()
    word = ""
    word_match = re.match(r"\(|\w+", stripped_sql)
    if word_match:
        word = word_match[0]
    if _LISTS.match(stripped_sql):
        raise UsageError(
            f"{word.upper()} is not answered: tables are made when a question names them.",
            hint=_HINT,
        )
    if kind != "SELECT" and not (kind == "MULTI" and word in _PIVOTS):
        raise UsageError(
            f"{word.upper()} is refused: a query reads, and neither writes nor changes anything.",
            hint=_HINT,
        )


@contextmanager
def ask_runs(
    sql: str,
    paths: Sequence[Path] | Mapping[Path, Path],
    progress: Progress = quiet,
    number: int | None = None,
    *,
    time_limit: float | None = None,
) -> Generator[tuple[QueryResult, tuple[str, ...]]]:
    """Ask all runs, batches and bundles below paths, by default those in `bench/traces`.

    A mapping gives the path that is shown instead of a run's own.

    Yield the answer, whose rows can be read as long as the context lasts, and its omissions. Tables
    that the question names are made first, and `progress` is called with each table and run. Of a
    bundle with several runs `number` is the one that is asked; None for the last. Work of DuckDB
    that takes longer than `time_limit` seconds is stopped.

    Raises:
        UsageError: It is not a question, or names a table or column that does not exist.
        RecordingError: There is no run, or none that has a table.
        InputError: DuckDB could not read a file, or ran out of memory or of time.
        InterruptedRunError: The user stopped it.
    """
    asked_sources = sources(paths)
    with tempfile.TemporaryDirectory(prefix="tracekit-query-") as name:
        workshop = Path(name).resolve()
        folders: list[Path] = []
        for batch in asked_sources.batches:
            tables_folder = batch.path / "tables"
            folders += [tables_folder, *parts.places_of(batch.path / "results")]
        database = QueryDatabase(folders, workshop, time_limit)
        try:
            omissions = LeftOut()
            opener = Opener(workshop, number)
            views = Views(database, asked_sources, opener, omissions, progress)
            database.renew = views.renew
            answer = _answer(sql, database, views)
            losses.report(omissions.losses)
            yield answer, (*opener.notes, *omissions.warnings)
        except duckdb.Error as error:
            raise refusal(error) from error
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "The query was stopped.", hint="Over many runs, ask the tables of `batch --tables`."
            ) from None
        finally:
            database.close()


def _answer(sql: str, database: QueryDatabase, views: Views) -> QueryResult:
    """Ask, and make each table that DuckDB misses, until it misses none."""
    require_question(database.connection, sql)
    made_tables: set[str] = set()
    while True:
        try:
            return QueryResult(database, sql)
        except duckdb.CatalogException as error:
            name = missing_table(error).lower()
            if not name or name in made_tables:
                raise
            views.make(name)
            made_tables.add(name)


_KIND = re.compile(r"^[\w ]+ Error: ")
_FAILED = "Ask for less at once, with WHERE, LIMIT or fewer runs; or again, if a run changed."
_DAMAGE = "Make its run or batch again. A question of fewer of them finds which one it is."
_PLACE = "It reads the tables of the runs that were named, and nothing else."
_TABLE = re.compile(r'(?:Table|View) with name "?(.+?)"? does not exist')
_NEAR = re.compile(r"(?:Candidate bindings|Did you mean).+")


def missing_table(error: duckdb.Error) -> str:
    """Return the name of the table that DuckDB misses; empty for another error."""
    if not isinstance(error, duckdb.CatalogException):
        return ""
    match = _TABLE.search(str(error))
    return match[1] if match else ""


def refusal(error: duckdb.Error) -> TracekitError:
    """Return the error for an error of DuckDB's, with a hint."""
    message = _sentence(str(error))
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"The query is refused: {message}", hint=_PLACE)
    if isinstance(error, (duckdb.OperationalError, duckdb.InternalError)):
        return InputError(f"The query failed: {message}", hint=_FAILED)
    if _is_of_a_damaged_file(error):
        return InputError(f"A Parquet file is damaged: {message}", hint=_DAMAGE)
    near = _NEAR.search(str(error))
    return UsageError(f"The query cannot be answered: {message}", hint=near[0] if near else "")


def _is_of_a_damaged_file(error: duckdb.Error) -> bool:
    # DuckDB's reader of Parquet has no class of its own for pages that it cannot decode.
    return type(error) is duckdb.Error or "Failed to read file" in str(error)


def _sentence(message: str) -> str:
    """Return the first paragraph of a message, without its kind, as one line with a full stop."""
    text = _KIND.sub("", message)
    paragraph = re.split(r"\n\s*(?:\n|Did you mean|Candidate bindings|LINE \d)", text)[0]
    line = " ".join(paragraph.split())
    if line.endswith((".", "!", "?")):
        return line
    return f"{line}."
