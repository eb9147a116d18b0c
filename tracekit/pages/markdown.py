"""Markdown that shows a text as it is, whatever characters it holds."""

import re
from collections.abc import Iterator, Sequence

from tracekit.pages.text import line

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$])")
# The beginning of a list, of a rule or of the line below a heading.
_BEGINNING = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+=]+(?:\s|$)))")


def escape_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    visible_line = line(text, longest=1000)
    return _BEGINNING.sub(r"\1\\", _SPECIAL.sub(r"\\\1", visible_line))


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; cells are texts, columns are Markdown."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for cells in rows:
        yield f"| {' | '.join(map(escape_markdown, cells))} |"
