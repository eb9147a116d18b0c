"""What may be asked: one statement that reads, and none that writes or changes anything."""

from itertools import pairwise

import duckdb

from tracekit.base.errors import UsageError

_BEGIN = {"select", "with", "from", "values", "pivot", "pivot_wider", "unpivot", "table", "("}
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
