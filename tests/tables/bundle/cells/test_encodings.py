"""How types are stored, as the layout says; what is not listed, and what is too new."""

from bundle_writer.engineering_types import TYPES
from tracekit.tables.bundle.cells.encodings import engineering_type
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
