"""Types are named by tags that can be an element's."""

from dataclasses import replace

import pytest

from tracekit.tables.bundle.cells.encodings import Encoding, Evidence
from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.bundle_xml.types import Types, is_null


@pytest.mark.parametrize("tag", ["fps/><row", "f ps", "1fps", "f\n"])
def test_a_tag_that_can_be_no_elements_leaves_nothing_known(tag: str) -> None:
    types = Types(Requirements({"XRFramesPerSecond": tag}))
    assert types.of("XRFramesPerSecond").encoding is Encoding.UNKNOWN


def test_the_bundles_own_tag_counts_and_is_asked_for_once() -> None:
    types = Types(Requirements({"XRFramesPerSecond": "frames"}))
    known = types.of("XRFramesPerSecond")
    assert (known.tag, known.encoding) == ("frames", Encoding.DECIMAL)
    assert types.of("XRFramesPerSecond") is known
    assert types.of("XRNobodyKnows").evidence is Evidence.RAW


def test_64_ones_are_a_value_of_some_types_only() -> None:
    of = Types(Requirements()).of
    assert [is_null(of(one)) for one in ("XRProcess", "XRGenericUInt32", "XRDuration")] == [
        True
    ] * 3
    values = ("XRThreadName", "XRPrototypeValue", "XRVirtualMemoryAddress")
    assert [is_null(of(one)) for one in values] == [False] * 3
    assert not is_null(replace(of("XRDuration"), all_ones=True))
