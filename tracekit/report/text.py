"""Strings from traces, made harmless to read: nothing invisible, nothing endless."""

import re

LONGEST = 160

# Controls, line separators, bidirectional overrides, lone surrogates: what a browser would
# swallow, or use to show a text in another order than it is written.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SPACE = re.compile(r"[ \t\n]+")
_NEXT = re.compile(r"(?<=\.) +(?=[A-Z])")
_CONTROL_PICTURES = 0x2400
_FIRST_PRINTABLE = 0x20


def visible(text: str) -> str:
    """Return the text with every invisible character replaced by one that can be seen."""
    return _UNSEEN.sub(_picture, text)


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


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(_CONTROL_PICTURES + code) if code < _FIRST_PRINTABLE else "\ufffd"
