"""The document of a bundle: found by key, and no error where it is missing or damaged."""

import plistlib
import zlib
from pathlib import Path
from typing import Any

import pytest

from documented_bundle import bundle_of
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.names import Document

UID = plistlib.UID
# A run list of one run, 3, as NSKeyedArchiver lays it out.
BY_HAND = {
    "$version": 100000,
    "$archiver": "NSKeyedArchiver",
    "$top": {"com.apple.xray.run.data": UID(1)},
    "$objects": [
        "$null",
        {"$0": 1, "$1": UID(2), "$class": UID(9)},
        {"NS.keys": [UID(3)], "NS.objects": [UID(4)], "$class": UID(9)},
        3,
        {"NS.keys": [UID(5), UID(7)], "NS.objects": [UID(6), UID(8)], "$class": UID(9)},
        "startTime",
        1774906678749008896,
        "inside",
        {"deeper": UID(6), "$class": UID(9)},
        {"$classname": "NSDictionary", "$classes": ["NSDictionary", "NSObject"]},
    ],
}


def document(folder: Path, content: bytes) -> Document:
    (folder / "form.template").write_bytes(content)
    return Document(Files(folder))


def binary(archive: dict[str, Any]) -> bytes:
    return plistlib.dumps(archive, fmt=plistlib.FMT_BINARY)


@pytest.mark.parametrize("number", [1, "1"])
def test_runs_are_numbered_by_numbers_or_texts(tmp_path: Path, number: int | str) -> None:
    bundle = bundle_of(tmp_path, {"startTime": 5}, number=number)
    run = bundle.document.run(1)
    assert run is not None
    assert run.get("startTime") == 5


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is no property list"),
        (b"bplist00 and then nothing", "is no property list"),
        (b"<plist><dict/></plist>", "is no keyed archive"),
        (zlib.compress(b"some text"), "is no property list"),
        (b"\x78\x9c and no stream", "cannot be inflated"),
        (binary(BY_HAND)[:-9], "is no property list"),
    ],
)
def test_a_damaged_one_is_told(tmp_path: Path, content: bytes, why: str) -> None:
    found = document(tmp_path, content)
    assert found.run(3) is None
    assert why in found.why_not(3)
    assert "form.template" in found.why_not(3)
    assert not found.why_not(3).endswith(".")
