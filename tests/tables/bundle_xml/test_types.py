"""Types are named by tags that can be an element's."""

import pytest

from tracekit.tables.bundle.cells.encodings import Encoding, Evidence
from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.bundle_xml.meanings import writable_type


@pytest.mark.parametrize("tag", ["fps/><row", "f ps", "1fps", "f\n"])
def test_a_tag_that_can_be_no_elements_leaves_nothing_known(tag: str) -> None:
    required = Requirements({"XRFramesPerSecond": tag})
    assert writable_type("XRFramesPerSecond", required).encoding is Encoding.UNKNOWN


def test_the_bundles_own_tag_counts() -> None:
    required = Requirements({"XRFramesPerSecond": "frames"})
    known = writable_type("XRFramesPerSecond", required)
    assert (known.tag, known.encoding) == ("frames", Encoding.DECIMAL)
    assert writable_type("XRNobodyKnows", required).evidence is Evidence.RAW
