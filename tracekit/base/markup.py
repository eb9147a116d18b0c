"""HTML of small tables and lines, as notebooks show objects."""

from collections.abc import Iterable, Sequence
from html import escape


def html_line(text: str, *, strong: bool = False) -> str:
    """Return a paragraph."""
    words = escape(text)
    if strong:
        words = f"<strong>{words}</strong>"
    return f"<p>{words}</p>"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; no cell is taken for markup."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines: list[str] = []
    for row in rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    body = "".join(lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
