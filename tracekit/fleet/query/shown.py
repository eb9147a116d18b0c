"""The first rows of an answer as words for a terminal or a pipe."""

from typing import Any

import msgspec

from tracekit.base.streams import on_one_line, visible
from tracekit.fleet.query.database import Answer
from tracekit.fleet.query.writing import plain


def first(answer: Answer, most: int, *, short: bool) -> tuple[list[tuple[str, ...]], int]:
    """Return the first rows, and how many there are in all.

    A null is empty. Control characters, which could direct a terminal, are written out.

    Args:
        answer: What was asked.
        most: How many rows to return.
        short: Whether six digits of a number that is not whole will do.
    """
    drawn = list(answer.types) == ["explain_key", "explain_value"]
    shown: list[tuple[str, ...]] = []
    total = 0
    for batch in answer.worded():
        total += batch.num_rows
        if len(shown) < most and batch.num_rows:
            some = batch.slice(0, most - len(shown))
            shown += [
                tuple(_cell(value, short=short, drawn=drawn) for value in row.values())
                for row in plain(some)
            ]
    return shown, total


def _cell(value: Any, *, short: bool, drawn: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if short else repr(value)
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return visible(str(value)) if drawn else on_one_line(str(value))
