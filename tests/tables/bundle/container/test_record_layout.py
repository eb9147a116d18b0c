"""Where the fields of a record lie, and descriptors that do not fit."""

from pathlib import Path
from typing import Any

import pytest
from tracekit.tables.bundle.container.record_layout import (
    TOPOLOGIES,
    RecordLayout,
    read_layout,
)

from bundle_writer.keyed import Archived, archive
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.errors import BundleError

POINTS, INTERVALS = TOPOLOGIES["XRT64_CC32_R_TypeID"], TOPOLOGIES["XRTD64_CC32_R_TypeID"]


def described(**changes: Any) -> bytes:
    """Return a descriptor of two rows in which some entries differ."""
    wanted = {
        "_fields": [("topology", 6, 0), ("state", 1, 1), ("id", 2, 2)],
        "_maxEventSize": 36, "_minEventSize": 36, "_variableSize": False,
        "_props": {"next_event_id": 2},
    } | changes  # fmt: skip
    wanted["_fields"] = [
        Archived("F", {"$0": {"_name": name, "_index": index, "_type": kind, "_multi": 1}})
        for name, kind, index in wanted["_fields"]
    ]
    return archive(root=Archived("XREventDescriptor", {"$0": wanted}))


def laid_out(folder: Path, content: bytes) -> RecordLayout:
    (folder / "descriptor").write_bytes(content)
    return read_layout(Files(folder), "descriptor", INTERVALS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"_variableSize": True}, "records of different sizes"),
        ({"_maxEventSize": 40}, "another size than their fields"),
        ({"_props": {"next_event_id": -1}}, "more rows than there can be"),
        ({"_props": {"next_event_id": 1 << 41}}, "more rows than there can be"),
        ({"_props": {}}, "has no number next_event_id"),
        ({"_fields": [("topology", 7, 0)]}, "another topology"),
        ({"_fields": [("topology", 6, 0), ("state", 3, 1)]}, "the unknown type 3"),
        ({"_fields": [("topology", 6, 1)]}, "fields in an unknown order"),
    ],
)
def test_a_layout_that_is_not_known_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BundleError, match=words):
        laid_out(tmp_path, described(**changes))


def test_what_is_no_descriptor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="descriptor is no property list"):
        laid_out(tmp_path, b"bplist00")
