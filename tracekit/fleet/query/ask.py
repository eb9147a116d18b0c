"""A question in SQL: what may be asked, and its answer with what it lacks."""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb

from tracekit.base import InterruptedRunError, UsageError
from tracekit.fleet.query.database import Answer, Database
from tracekit.fleet.query.refusals import LeftOut, missing_table, refusal
from tracekit.fleet.query.sources import Opener, sources
from tracekit.fleet.query.views import Views, folders
from tracekit.record import Progress, quiet

_BEGIN = {"select", "with", "from", "values", "pivot", "pivot_wider", "unpivot", "table", "("}
_HINT = "Ask with SELECT, WITH, PIVOT, DESCRIBE, SUMMARIZE or EXPLAIN."


def require_question(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse what is not one statement that only reads."""
    statements = connection.extract_statements(sql)
    if not statements:
        raise UsageError("There is nothing to ask: the SQL is empty.", hint=_HINT)
    if len(statements) > 1:
        raise UsageError(
            f"There are {len(statements)} statements, and one is answered at a time.",
            hint="Ask them one after the other; WITH holds steps of one question.",
        )
    words = _words(sql)
    if words[0].lower() == "explain":
        if explained := _explained(sql, words):
            require_question(connection, explained)
            return
    elif statements[0].type.name == "SELECT" or _pivots(statements[0].type.name, words):
        return
    raise UsageError(
        f"{words[0].upper()} is refused: a query reads, and neither writes nor changes anything.",
        hint=_HINT,
    )


def asks_for_tables(sql: str) -> bool:
    """Tell whether the statement is SHOW TABLES, or DESCRIBE with nothing after it."""
    words = [word.lower() for word in _words(sql) if word != ";"]
    return words in (["show", "tables"], ["show", "all", "tables"], ["describe"], ["show"])


def _pivots(kind: str, words: list[str]) -> bool:
    """Tell whether several steps in one are a PIVOT, whose columns are looked up first."""
    lower = [word.lower() for word in words]
    pivots = not {"pivot", "pivot_wider"}.isdisjoint(lower)
    return kind == "MULTI" and pivots and lower[0] in _BEGIN


def _explained(sql: str, words: list[str]) -> str:
    """Return what an EXPLAIN explains; empty where nothing that could be a question."""
    lower = [word.lower() for word in words]
    skipped = 2 if lower[1:2] == ["analyze"] else 1
    if lower[1:2] == ["("] and lower[2] not in _BEGIN:  # options, which we do not look into
        return ""
    text = sql.encode()
    return text[_starts(sql)[skipped] :].decode() if len(words) > skipped else ""


def _words(sql: str) -> list[str]:
    """Return the first word of each of DuckDB's tokens; its places count bytes."""
    starts, text = _starts(sql), sql.encode()
    tokens = [text[begin:end] for begin, end in pairwise([*starts, len(text)])]
    return [token.split(maxsplit=1)[0].decode() for token in tokens]


def _starts(sql: str) -> list[int]:
    return [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]


@dataclass(frozen=True)
class Reply:
    """An answer, and what it does not hold."""

    answer: Answer
    warnings: tuple[str, ...]


@contextmanager
def asked(
    sql: str, paths: Sequence[Path], progress: Progress = quiet, number: int | None = None
) -> Generator[Reply]:
    """Ask all runs, batches and bundles below paths, by default those in `bench/traces`.

    The answer's rows can be read for as long as the context lasts. Tables that the question names
    are made where they are not kept yet, and `progress` is called with which of which run. Of a
    bundle that has several runs `number` is the one that is asked; None for the last.

    Raises:
        UsageError: It is no question, or names what there is not.
        RecordingError: There is no run, or none that has a table.
        InputError: DuckDB could not read a file, or ran out of memory.
        InterruptedRunError: Someone asked to stop; tables that were made are kept.
    """
    found = sources(paths)
    with tempfile.TemporaryDirectory(prefix="tracekit-query-") as name:
        workshop = Path(name).resolve()
        database = Database(folders(found), workshop)
        try:
            left_out = LeftOut()
            opener = Opener(workshop, number)
            views = Views(database, found, opener, workshop, left_out, progress)
            answer = _answer(sql, database, views)
            yield Reply(answer, (*opener.notes, *left_out.warnings))
        except duckdb.Error as error:
            raise refusal(error) from error
        except KeyboardInterrupt:
            raise InterruptedRunError(
                "The query was stopped.", hint="Tables that were made are kept for the next one."
            ) from None
        finally:
            database.close()


def _answer(sql: str, database: Database, views: Views) -> Answer:
    """Ask, and make each table that DuckDB misses, until it misses none."""
    require_question(database.connection, sql)
    made: set[str] = set()
    while True:
        try:
            return database.answer(sql)
        except duckdb.CatalogException as error:
            name = missing_table(error).lower()
            if not name or name in made:
                raise
            views.make(name)
            made.add(name)
