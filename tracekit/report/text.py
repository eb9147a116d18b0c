"""Strings from traces, made harmless to read: nothing invisible, nothing endless."""

import re

from tracekit.base.streams import visible

LONGEST = 160

_SPACE = re.compile(r"[ \t\n]+")
_NEXT = re.compile(r"(?<=\.) +(?=[A-Z])")


def line(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, cut with "…" where it is longer than `longest`."""
    text = _SPACE.sub(" ", visible(text)).strip()
    return text if len(text) <= longest else text[: longest - 1] + "…"


def sentence(text: str) -> str:
    """Return the text with a capital at its start and a full stop at its end."""
    text = text.strip()
    end = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}" if text else ""


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop that a new sentence follows."""
    return _NEXT.split(text, maxsplit=1)[0]


def continued(text: str) -> str:
    """Return a sentence as it stands after a colon: its first word small, unless it is a name."""
    first, *_ = text.split(" ", maxsplit=1)
    return text[0].lower() + text[1:] if first.isalpha() and first.istitle() else text
