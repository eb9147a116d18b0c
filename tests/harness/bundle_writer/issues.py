"""Writes `RunIssues.storedata`: what went wrong in a run, in a small database."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Issue:
    message: str
    kind: int = 2
    count: int = 1
    nanoseconds: int = 0


def write_issues(path: Path, issues: Sequence[Issue]) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE ZISSUE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
            "ZCOUNT INTEGER, ZRELATIVETIMESTAMP INTEGER, ZSUBTYPE INTEGER, ZTYPE INTEGER, "
            "ZPARENT INTEGER, Z_FOK_PARENT INTEGER, ZMESSAGE VARCHAR)"
        )
        database.executemany(
            "INSERT INTO ZISSUE (ZMESSAGE, ZTYPE, ZCOUNT, ZRELATIVETIMESTAMP, ZSUBTYPE) "
            "VALUES (?, ?, ?, ?, 0)",
            [astuple(issue) for issue in issues],
        )
