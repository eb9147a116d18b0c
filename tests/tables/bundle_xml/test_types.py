"""Types are named by tags that can be an element's."""

import pytest

from tracekit.tables.bundle.cells.encodings import Encoding, Evidence
from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.bundle_xml.meanings import Types


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
