"""The encodings of the values of each engineering type in a bundle, and the evidence for them.

A verified encoding was compared with Apple's own exports, cell by cell; an inferred one follows
from values seen. A type that is not listed is a number of unknown meaning.
"""

from dataclasses import dataclass
from enum import StrEnum

from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.losses import EncodingEvidence
from tracekit.tables.values import ENGINEERING_TYPES

ALL_32 = (1 << 32) - 1
ALL_64 = (1 << 64) - 1
BIAS = (1 << 63) - 1
"""The stored form of 0, for numbers that may be negative."""
UNITS = 10**9
"""The distance between the stored forms of 0 and 1, for decimals."""


class Encoding(StrEnum):
    """The meaning of the number in a record."""

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


STACKS = frozenset(
    {Encoding.CALLSTACK, Encoding.BACKTRACE, Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL}
)


@dataclass(frozen=True)
class EngineeringType:
    """A type: its tag in XML, its encoding, and whether all ones is a value instead of null.

    It is for the name of a thread, too: each half may be missing, and the other one is written.
    """

    type_id: str
    tag: str
    encoding: Encoding
    evidence: EncodingEvidence
    all_ones: bool = False

    @property
    def wide_ones(self) -> bool:
        """Whether 64 ones are a value of it; as a part of a label, they are null for 32 bits."""
        return self.all_ones and self.tag != "uint32"


def _list_known_types() -> dict[str, tuple[str, Encoding, EncodingEvidence]]:
    known_types: dict[str, tuple[str, Encoding, EncodingEvidence]] = {}
    for kind in ENGINEERING_TYPES:
        if not kind.bundle:
            continue
        encoding = Encoding[kind.encoding.upper()]
        evidence = EncodingEvidence[kind.evidence.upper()]
        known_type = (kind.tag, encoding, evidence)
        known_types[kind.bundle] = known_type
    return known_types


_KNOWN = _list_known_types()
_ALL_ONES = frozenset(kind.tag for kind in ENGINEERING_TYPES if kind.all_ones)


def engineering_type(type_id: str, required: Requirements) -> EngineeringType:
    """Return a type by its id without "TypeID".

    A type of a newer version than 1 is not read; an unknown one is a plain number.
    """
    unlisted = (type_id, Encoding.INTEGER, EncodingEvidence.RAW)
    tag, encoding, evidence = _KNOWN.get(type_id, unlisted)
    tag = required.tags.get(type_id, tag)
    if type_id in required.newer:
        encoding = Encoding.UNKNOWN
        evidence = EncodingEvidence.NONE
    all_ones = tag in _ALL_ONES or encoding is Encoding.THREAD_NAME
    return EngineeringType(type_id, tag, encoding, evidence, all_ones)
