"""What a launch counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Order(StrEnum):
    """In which order the threads of a group run between two places where they meet.

    A result that depends on it shows a missing barrier or a data race.
    """

    ASCENDING = "ascending"
    DESCENDING = "descending"
    RANDOM = "random"


@dataclass(frozen=True)
class Traffic:
    """Bytes of one buffer.

    Attributes:
        loaded: Read, each access of each thread counted.
        stored: Written, likewise.
        touched: Different bytes that were read or written at least once.
        referenced: Accessed through a reference to a struct, which may read or write.
    """

    loaded: int
    stored: int
    touched: int
    referenced: int = 0


@dataclass(frozen=True)
class Statistics:
    """What one launch did.

    Attributes:
        barriers: Threadgroup barriers passed, summed over threadgroups.
        simd_operations: Operations of simdgroups, summed over simdgroups.
        threadgroup_bytes: Most threadgroup memory that a threadgroup used.
        switches: How often a thread was continued.
        traffic: Of each buffer by its parameter's name; only of checked programs. What is
            passed by reference (`constant T&`) is not counted.
        partial_simd_operations: Operations that not all lanes took part in; lenient runs only.
    """

    barriers: int
    simd_operations: int
    threadgroup_bytes: int
    switches: int
    traffic: Mapping[str, Traffic] = field(default_factory=dict[str, Traffic])
    partial_simd_operations: int = 0
