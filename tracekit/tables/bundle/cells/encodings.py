"""How a bundle stores the values of each engineering type, and how surely that is known.

What is verified was compared with Apple's own exports,
cell by cell; what is inferred follows from values seen; a type that is not listed is a number of
which nothing is known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.values import ENGINEERING_TYPES

ALL_32, ALL_64 = (1 << 32) - 1, (1 << 64) - 1
BIAS = (1 << 63) - 1
"""What 0 is stored as, of numbers that may be below it."""
UNITS = 10**9
"""What 1 is stored as, of decimals, as well."""


class Encoding(StrEnum):
    """What the number in a record stands for."""

    STRING = "the number of a text"
    INTEGER = "itself"
    DECIMAL = "itself in units of 10^-9, and 2^63 - 1"
    PROCESS = "the number of an array: pid, device session"
    THREAD = "the number of an array: tid, process"
    THREAD_NAME = "the number of a text, that of a thread's array"
    RATIO = "numerator and denominator, of 32 bits each"
    UUID = "the number of an array: both halves"
    LOCATION = "the number of a UUID's array, an offset"
    LABEL = "the number of an array of typed parts"
    ANY = "the number of an array of one typed part"
    NUMBERS = "the number of an array of integers"
    CALLSTACK = "the number of an array: addresses, program counter, process, registers"
    BACKTRACE = "the number of an array of chunks of addresses"
    TAGGED_BACKTRACE = "the number of an array: chunks, a tag"
    TEXT_SYMBOL = "the number of an array: process, address"
    UNKNOWN = "nothing known"


class Evidence(StrEnum):
    """How surely an encoding is known."""

    VERIFIED = "compared with exports"
    INFERRED = "never compared with an export"
    RAW = "not known; the stored numbers are given as they are"
    NONE = "not known; its cells are left empty"


STACKS = frozenset(
    {Encoding.CALLSTACK, Encoding.BACKTRACE, Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL}
)


@dataclass(frozen=True)
class EngineeringType:
    """A type: its tag in XML, its encoding, and whether all ones is a value instead of null.

    It is of a thread's name, too: each half may be missing, and what is there is written.
    """

    type_id: str
    tag: str
    encoding: Encoding
    evidence: Evidence
    all_ones: bool = False

    @property
    def wide_ones(self) -> bool:
        """Whether 64 ones are a value of it: not of 32 bits, as a part of a label they are null."""
        return self.all_ones and self.tag != "uint32"


_KNOWN = {
    kind.bundle: (kind.tag, Encoding[kind.encoding.upper()], Evidence[kind.evidence.upper()])
    for kind in ENGINEERING_TYPES
    if kind.bundle
}
_ALL_ONES = frozenset(kind.tag for kind in ENGINEERING_TYPES if kind.all_ones)


def engineering_type(type_id: str, required: Requirements) -> EngineeringType:
    """Return what is known of a type, by its id without "TypeID".

    A type of a newer version than 1 is not read; one that is not known is a plain number.
    """
    unlisted = (type_id, Encoding.INTEGER, Evidence.RAW)
    tag, encoding, evidence = _KNOWN.get(type_id, unlisted)
    tag = required.tags.get(type_id, tag)
    if type_id in required.newer:
        encoding, evidence = Encoding.UNKNOWN, Evidence.NONE
    all_ones = tag in _ALL_ONES or encoding is Encoding.THREAD_NAME
    return EngineeringType(type_id, tag, encoding, evidence, all_ones)


_SAID = {
    Evidence.INFERRED: "read by an encoding that was never compared with an export",
    Evidence.RAW: "of a type that is not known, the numbers as they are stored",
    Evidence.NONE: "left empty, because how the type is stored is not known",
}


@dataclass(frozen=True)
class Unsure:
    """Columns of a table that were not surely read, or not at all, by their mnemonics."""

    evidence: Evidence
    schema: str
    columns: tuple[str, ...]
    bundle: str = ""

    def __str__(self) -> str:
        return sentences([self])[0]


Said = str | Unsure
"""What a reader says of a table: a sentence, or what one is made of."""


def sentences(said: Iterable[Said], *, bundles: bool = True) -> tuple[str, ...]:
    """Return what was said in sentences, each once; those on several tables of a bundle become one.

    It stands where the first of them stood. Without the names of `bundles`, those on several
    bundles are alike.
    """
    groups: dict[str | tuple[str, Evidence], list[Unsure]] = {}
    for fromkey in dict.fromkeys(said):
        if isinstance(fromkey, str):
            groups[fromkey] = []
        else:
            groups.setdefault((fromkey.bundle, fromkey.evidence), []).append(fromkey)
    return tuple(
        kind if isinstance(kind, str) else _sentence(tables, bundles=bundles)
        for kind, tables in groups.items()
    )


def _sentence(tables: Sequence[Unsure], *, bundles: bool) -> str:
    first, columns = tables[0], [", ".join(table.columns) for table in tables]
    words = f"{first.bundle}: " if bundles and first.bundle else ""
    if len(tables) == 1:
        return f"{words}{first.schema}: {_SAID[first.evidence]}: {columns[0]}."
    named = (f"{table.schema} ({own})" for table, own in zip(tables, columns, strict=True))
    return f"{words}{_SAID[first.evidence]}: {', '.join(named)}."
