"""What may be asked: one statement that reads, and none that writes or changes anything."""

from itertools import pairwise

import duckdb

from tracekit.errors import UsageError

_READS = {"SELECT"}
_HINT = "Ask with SELECT, WITH, PIVOT, DESCRIBE, SUMMARIZE or EXPLAIN."


def require_question(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse what is not one statement that only reads.

    Raises:
        UsageError: There is none, or several, or it does something else.
        duckdb.Error: It is no SQL.
    """
    statements = connection.extract_statements(sql)
    if not statements:
        raise UsageError("There is nothing to ask: the SQL is empty.", hint=_HINT)
    if len(statements) > 1:
        raise UsageError(
            f"There are {len(statements)} statements, and one is answered at a time.",
            hint="Ask them one after the other; WITH holds steps of one question.",
        )
    kind = statements[0].type.name
    words = _words(sql)
    if kind == "EXPLAIN":
        explained = _explained(sql)
        if explained:
            require_question(connection, explained)
            return
    elif kind in _READS or (kind == "MULTI" and _pivots(words)):
        return
    first = words[0].upper() if words else kind
    raise UsageError(
        f"{first} is refused: a query reads, and neither writes nor changes anything.", hint=_HINT
    )


def asks_for_tables(sql: str) -> bool:
    """Tell whether the statement is SHOW TABLES, or DESCRIBE with nothing after it."""
    words = [word.lower() for word in _words(sql) if word != ";"]
    return words in (["show", "tables"], ["show", "all", "tables"], ["describe"], ["show"])


def _pivots(words: list[str]) -> bool:
    """Tell whether several steps in one are a PIVOT, whose columns are looked up first."""
    lower = {word.lower() for word in words}
    begins = words[0].lower() in {"pivot", "pivot_wider", "with", "select", "from", "("}
    return begins and bool(lower & {"pivot", "pivot_wider"})


def _explained(sql: str) -> str:
    """Return what an EXPLAIN explains; empty where it has options of its own."""
    words = _words(sql)
    skipped = 2 if len(words) > 1 and words[1].lower() == "analyze" else 1
    text = sql.encode()
    return text[_starts(sql)[skipped] :].decode() if len(words) > skipped else ""


def _words(sql: str) -> list[str]:
    """Return the first word of each of DuckDB's tokens; its places count bytes."""
    starts, text = _starts(sql), sql.encode()
    tokens = [text[begin:end] for begin, end in pairwise([*starts, len(text)])]
    return [token.split(maxsplit=1)[0].decode() for token in tokens]


def _starts(sql: str) -> list[int]:
    return [start for start, kind in duckdb.tokenize(sql) if kind != duckdb.token_type.comment]
