"""Names of work, so that equal work has equal names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from tracekit.units import NOT_AVAILABLE

UNLABELLED = "unlabelled"

# A trace labels work "Command Buffer 0:Compute Command 0   ( python3 (4711) )  0xf169adeb":
# who asked and which instance it was stand in columns of their own.
_INSTANCE = re.compile(r"\s+0x[0-9a-fA-F]+\s*$")
_ASKER = re.compile(r"\s*\( .* \)\s*$")


def family(label: str) -> str:
    """Return a label without the process and the instance that it names at its end."""
    return _ASKER.sub("", _INSTANCE.sub("", label)).strip() or UNLABELLED


def families(labels: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return a code for each label and the distinct families that the codes stand for."""
    codes, distinct = pd.factorize(labels.fillna("").astype(str))
    named, texts = pd.factorize(pd.Series([family(text) for text in distinct], dtype=object))
    return pd.Series(named[codes], index=labels.index, dtype="int64"), tuple(texts)


def heading(name: str) -> str:
    """Return a metric's name as a heading: "gpu_idle_ratio" becomes "GPU idle ratio"."""
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    spelled = " ".join(words)
    return spelled[:1].upper() + spelled[1:]


def flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested values as lines: ("mlx version", "0.32")."""
    for key, value in values.items():
        name = f"{within} {key}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from flat(value, name)
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(str(one) for one in value)
        else:
            yield name, NOT_AVAILABLE if value is None else str(value)


_SPELLED = {"gpu": "GPU", "cpu": "CPU"}
