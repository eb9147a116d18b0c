"""The document of a bundle: found by key, and no error where it is missing or damaged."""

import zlib
from pathlib import Path

import pytest

from documented_bundle import bundle_of
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.names import Document


def document(folder: Path, content: bytes) -> Document:
    (folder / "form.template").write_bytes(content)
    return Document(Files(folder))


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
    ],
)
def test_a_damaged_one_is_told(tmp_path: Path, content: bytes, why: str) -> None:
    found = document(tmp_path, content)
    assert found.run(3) is None
    assert why in found.why_not(3)
    assert "form.template" in found.why_not(3)
    assert not found.why_not(3).endswith(".")
