"""The attributes of a table in the words of a table of contents.

Layout: docs/explanation/trace-bundles.md. A flag is 0 or 1; the members of a list stand behind one
another, in quotes unless they are of plain letters and digits, and so do a few single texts.
"""

import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_QUOTED = frozenset({"subsystem", "category", "pmi-event"})


def worded_attributes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return attributes as the table of contents words them; null ones are left out."""
    return {key: _text(key, value) for key, value in attributes.items() if value is not None}


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_member, value))
    if isinstance(value, bool):
        return str(int(value))
    return _member(value) if key in _QUOTED else str(value)


def _member(value: Any) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return text if _PLAIN.fullmatch(text) else f'"{text}"'
