"""A question in SQL, and its answer with what it lacks."""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit.base.errors import InterruptedRunError
from tracekit.fleet.query.database import Answer, Database
from tracekit.fleet.query.leftout import LeftOut
from tracekit.fleet.query.opening import Opener
from tracekit.fleet.query.sources import sources
from tracekit.fleet.query.statements import require_question
from tracekit.fleet.query.views import Views, folders
from tracekit.fleet.query.words import missing_table, refusal
from tracekit.record.recorder import Progress, quiet


@dataclass(frozen=True)
class Asked:
    """An answer, and what it does not hold."""

    answer: Answer
    warnings: tuple[str, ...]


@contextmanager
def asked(
    sql: str, paths: Sequence[Path], progress: Progress = quiet, number: int | None = None
) -> Generator[Asked]:
    """Ask all runs, batches and bundles below paths, by default those in `bench/traces`.

    The answer's rows can be read for as long as the context lasts. Tables that the question
    names are made where they are not kept yet.

    Args:
        sql: One statement that reads, in DuckDB's SQL.
        paths: What is asked; see `tracekit.fleet.query.sources`.
        progress: Is told which table of which run is made.
        number: Which run of a bundle that has several; None for the last.

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
            yield Asked(answer, (*opener.notes, *left_out.warnings))
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
