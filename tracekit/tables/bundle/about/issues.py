"""What Instruments itself noted of a run: the issues that its window lists.

Layout: docs/explanation/trace-bundles.md. They stand in a small database. It is opened to be read
only, and as one that does not change, so that nothing is written beside it; a query that takes too
long is given up. How grave an issue is, the database does not say in a way that is known.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.errors import BundleError

_LARGEST = 1 << 26
_STEPS = 2_000_000  # of the database's machine: far less than a second
_LONGEST = 1 << 16
_MOST_ISSUES = 20
_MOST_LETTERS = 200
_HEALTHY = (2, "Data stream: Time Mapping")
_PAGE = "PRAGMA page_size"
_WHOLE = "PRAGMA quick_check(1)"
_TABLE = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'ZISSUE'"
_ISSUES = """
    SELECT ZTYPE, ZMESSAGE, total(ZCOUNT) FROM ZISSUE WHERE typeof(ZMESSAGE) = 'text'
    GROUP BY ZTYPE, ZMESSAGE ORDER BY min(ZRELATIVETIMESTAMP), min(Z_PK) LIMIT ?
"""


def issues_of(bundle: Bundle, run: BundleRun) -> tuple[str, ...]:
    """Return a sentence for each kind of issue that was noted of a run.

    That the database is not there, or is damaged, is told in a sentence, too.
    """
    name = f"Trace{run.number}.run/RunIssues.storedata"
    try:
        bundle.files.open(name).close()
        if bundle.files.size(name) > _LARGEST:
            raise bundle.files.damaged(name, f"is larger than {_LARGEST:,} bytes")
        return tuple(_read((bundle.path / name).resolve()))
    except BundleError as error:
        why = error.message
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        why = f"{name} is no database that can be read."
    return (f"What Instruments noted of run {run.number} is not available: {why}",)


def _read(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        database.set_progress_handler(lambda: 1, _STEPS)
        database.execute("PRAGMA trusted_schema = OFF")
        [page] = database.execute(_PAGE).fetchone()
        # Of a last page that is cut, the rest would be read as zeroes.
        if path.stat().st_size % page or database.execute(_WHOLE).fetchone() != ("ok",):
            raise sqlite3.DatabaseError
        if database.execute(_TABLE).fetchone()[0] != 1:
            raise sqlite3.DatabaseError
        issues = database.execute(_ISSUES, (_MOST_ISSUES + 1,)).fetchall()
    for kind, message, count in issues[:_MOST_ISSUES]:
        yield _sentence(kind, message, max(1, int(count)))
    if len(issues) > _MOST_ISSUES:
        yield f"Instruments noted more than {_MOST_ISSUES} kinds of issues; the rest is left out."


def _sentence(kind: int, message: str, count: int) -> str:
    times = "once" if count == 1 else f"{count:,} times"
    plain = " ".join(message.split())
    text = plain if len(plain) <= _MOST_LETTERS else plain[: _MOST_LETTERS - 1] + "…"
    if (kind, message) == _HEALTHY:
        return f'Instruments noted {times} "{text}", as in nearly every trace that is whole.'
    return f'Instruments noted {times} "{text}"; how grave that is, the bundle does not tell.'
