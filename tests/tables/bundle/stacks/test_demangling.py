"""Readable names; what could fill all memory stays as it is."""

import string

import pytest

from tracekit.tables.bundle.stacks.symbols import readable


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (
            "__ZN5dyld4L7prepareERNS_4APIsEPKN6mach_o6HeaderE",
            "dyld4::prepare(dyld4::APIs&, mach_o::Header const*)",
        ),
        (
            "____ZNK5dyld46Loader4findERNS_12RuntimeStateE_block_invoke",
            "invocation function for block in dyld4::Loader::find(dyld4::RuntimeState&) const",
        ),
        ("_Z3foov", "foo()"),
        ("DYLD-STUB$$__objc_init", "DYLD-STUB$$_objc_init"),
        ("DYLD-STUB$$_strtoencf16", "DYLD-STUB$$strtoencf16"),
        ("-[MTLDevice newBuffer:]", "-[MTLDevice newBuffer:]"),
        ("_$s4main3fooyyF", "_$s4main3fooyyF"),
        ("__ZN3foo", "__ZN3foo"),
        ("__Z", "__Z"),
        ("_main", "_main"),
        ("", ""),
    ],
)
def test_names(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def doubling(levels: int) -> str:
    """Return a name of which each part holds the one before it twice."""
    digits = string.digits + string.ascii_uppercase
    places = ["", *digits[: levels - 1]]
    return "_Z1f1A" + "".join(f"FvS{place}_S{place}_E" for place in places)


@pytest.mark.parametrize("levels", [20, 30, 36])
def test_a_name_that_would_fill_all_memory_stays_as_it_is(levels: int) -> None:
    assert readable(doubling(levels)) == doubling(levels)


def test_packs_within_packs_stay_as_they_are() -> None:
    name = f"_Z1fIJ{'i' * 500}EEv{'Dp' * 5}T_"
    assert readable(name) == name
