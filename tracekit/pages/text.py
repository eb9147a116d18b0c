"""Strings from traces, made harmless to read; names as a page shows them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.base import streams, units

LONGEST = 160
MOST_WORDS = 60
"""The words of an advice that are read at once; the sentences behind them are folded."""

_SPACE = re.compile(r"[ \t\n]+")
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def line(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, cut with "…" if it is longer than `longest`."""
    text = _SPACE.sub(" ", streams.visible(text)).strip()
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def clip(text: str, longest: int) -> str:
    """Return a text of at most so many characters; a longer one ends after a word, with "…"."""
    if len(text) <= longest:
        return text
    kept = text[:longest]
    before_last_word = kept.rpartition(" ")[0]
    return f"{(before_last_word or kept[:-1]).rstrip(' ,;:.…')}…"


def split_words(text: str, most: int = MOST_WORDS) -> tuple[str, str]:
    """Return the first sentences of a text, of at most so many words together, and the rest.

    The first sentence always belongs to the first part.
    """
    sentences = _SENTENCE_END.split(text.strip())
    number = 1
    while number < len(sentences) and len(" ".join(sentences[: number + 1]).split()) <= most:
        number += 1
    return " ".join(sentences[:number]), " ".join(sentences[number:])


def sentence(text: str) -> str:
    """Return the text with a capital at its start and a full stop at its end."""
    text = text.strip()
    if not text:
        return ""
    text = text[:1].upper() + text[1:]
    if text.endswith((".", "!", "?")):
        return text
    return f"{text}."


def heading(name: str) -> str:
    """Return a metric's name as a heading: "gpu_idle_ratio" becomes "GPU idle ratio".

    A first word with digits in it is a name of the user's, such as "pp512", and is not changed.
    """
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    spelled = " ".join(words)
    if any(map(str.isdigit, words[0])):
        return spelled
    return spelled[:1].upper() + spelled[1:]


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested values as lines: ("mlx version", "0.32")."""
    for key, value in values.items():
        name = f"{prefix} {key}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from flat(value, name)
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(map(str, value))
        elif value is None:
            yield name, units.NOT_AVAILABLE
        else:
            yield name, str(value)


_ACRONYMS = ("alu", "cpu", "gpu", "kv", "mlx", "ttft", "tpot", "itl", "e2e", "slo")
_SPELLED = {name: name.upper() for name in _ACRONYMS}
