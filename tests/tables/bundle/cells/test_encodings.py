"""How types are stored, as the layout says; what is not listed, and what is too new."""

from bundle_writer.engineering_types import TYPES
from tracekit.tables.bundle.cells.encodings import (
    Evidence,
    Unsure,
    engineering_type,
    sentences,
)
from tracekit.tables.bundle.container.requirements import Requirements

NONE = Requirements()


def test_all_ones_is_a_value_of_few_types() -> None:
    with_value = {one for one in TYPES if engineering_type(one[:-6], NONE).all_ones}
    assert with_value == {
        "XRGenericUInt32TypeID",
        "XRKDebugArgumentTypeID",
        "XRMetalCommandBufferIDTypeID",
        "XROSSignpostIdentifierTypeID",
        "XRPrototypeValueTypeID",
        "XRThreadNameTypeID",
        "XRVirtualMemoryAddressTypeID",
    }


def test_64_ones_are_a_value_of_types_of_64_bits_only() -> None:
    asked = ("XRGenericUInt32", "XRPrototypeValue", "XRThreadName", "XRProcess", "XRDuration")
    found = [engineering_type(one, NONE).wide_ones for one in asked]
    assert found == [False, True, True, False, False]


INFERRED = "read by an encoding that was never compared with an export"
UNKNOWN = "left empty, because how the type is stored is not known"

TICK = Unsure(Evidence.INFERRED, "tick", ("a", "b"), "x.trace")
KDEBUG = Unsure(Evidence.INFERRED, "kdebug", ("d",), "x.trace")
EMPTY = Unsure(Evidence.NONE, "tick", ("c",), "x.trace")
ELSEWHERE = Unsure(Evidence.INFERRED, "kdebug", ("d",), "y.trace")


def test_notes_on_several_tables_become_one_sentence_where_the_first_stood() -> None:
    assert sentences(["It is old.", TICK, EMPTY, "The last.", KDEBUG, ELSEWHERE]) == (
        "It is old.",
        f"x.trace: {INFERRED}: tick (a, b), kdebug (d).",
        f"x.trace: tick: {UNKNOWN}: c.",
        "The last.",
        f"y.trace: kdebug: {INFERRED}: d.",
    )


def test_notes_on_like_tables_of_several_bundles_are_alike() -> None:
    said = f"kdebug: {INFERRED}: d."
    for one in (KDEBUG, ELSEWHERE):
        assert sentences([one, "It has no rows."], bundles=False) == (said, "It has no rows.")
