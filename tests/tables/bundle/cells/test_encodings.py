"""How types are stored, as the layout says; what is not listed, and what is too new."""

from bundle_writer.engineering_types import TYPES
from tracekit.tables.bundle.cells.encodings import Evidence, Unsure, engineering_type, sentences
from tracekit.tables.bundle.container.requirements import Requirements


def test_all_ones_is_a_value_of_few_types_and_64_ones_of_those_of_64_bits() -> None:
    kinds = {name: engineering_type(name.removesuffix("TypeID"), Requirements()) for name in TYPES}
    wide = {
        "XRKDebugArgumentTypeID", "XRMetalCommandBufferIDTypeID", "XROSSignpostIdentifierTypeID",
        "XRPrototypeValueTypeID", "XRThreadNameTypeID", "XRVirtualMemoryAddressTypeID",
    }  # fmt: skip
    ones = {name for name, kind in kinds.items() if kind.all_ones}
    assert ones == wide | {"XRGenericUInt32TypeID"}
    assert {name for name, kind in kinds.items() if kind.wide_ones} == wide


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
    for note in (KDEBUG, ELSEWHERE):
        found = sentences([note, "It has no rows."], bundles=False)
        assert found == (f"kdebug: {INFERRED}: d.", "It has no rows.")
