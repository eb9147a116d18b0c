"""Names of work, so that equal work has equal names."""

import re

import pandas as pd

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


def title(name: str) -> str:
    """Return a metric's name as a heading: "gpu_idle_ratio" becomes "GPU idle ratio"."""
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    heading = " ".join(words)
    return heading[:1].upper() + heading[1:]


_SPELLED = {"gpu": "GPU", "cpu": "CPU"}
