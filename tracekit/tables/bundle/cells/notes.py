"""What is to be known of the columns of a bundle's tables, in one sentence for all of them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracekit.tables.bundle.cells.encodings import Evidence

_SAID = {
    Evidence.INFERRED: "read by an encoding that was never compared with an export",
    Evidence.RAW: "of a type that is not known, the numbers as they are stored",
    Evidence.NONE: "left empty, because how the type is stored is not known",
}
_NOTE = re.compile(
    rf"(?P<bundle>.+?): (?P<table>[^:]+): (?P<said>{'|'.join(map(re.escape, _SAID.values()))}): "
    r"(?P<columns>.+)\."
)
_TABLE = re.compile(r"([^\s,()]+) \(([^()]*)\)")


def noted(table: str, columns: Mapping[Evidence, Sequence[str]]) -> tuple[str, ...]:
    """Return notes on the columns of a table that were not surely read, or not at all."""
    return tuple(
        f"{table}: {said}: {', '.join(columns[evidence])}"
        for evidence, said in _SAID.items()
        if evidence in columns
    )


def gathered(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences, each once; such notes on several tables of a bundle become one.

    It stands where the first of them stood. A sentence is a note behind the bundle's name.
    """
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for sentence in sentences:
        note = _NOTE.fullmatch(sentence)
        kind = (sentence,) if note is None else (note["bundle"], note["said"])
        one = "" if note is None else f"{note['table']} ({note['columns']})"
        found.setdefault(kind, {}).setdefault(one, sentence)
    return tuple(
        next(iter(ones.values())) if len(ones) == 1 else f"{': '.join(kind)}: {', '.join(ones)}."
        for kind, ones in found.items()
    )


def uncompared(sentences: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Return the tables and columns that these name as never compared, gathered or not."""
    found: set[tuple[str, str]] = set()
    for sentence in sentences:
        note = _NOTE.fullmatch(sentence)
        _, _, behind = sentence.partition(f": {_SAID[Evidence.INFERRED]}: ")
        named = [(note["table"], note["columns"])] if note and behind else _TABLE.findall(behind)
        found |= {(table, column) for table, columns in named for column in columns.split(", ")}
    return frozenset(found)


def without_bundle(sentence: str) -> str:
    """Return a note without the bundle's name, so that those on several bundles are alike."""
    note = _NOTE.fullmatch(sentence)
    return sentence if note is None else sentence[note.start("table") :]
