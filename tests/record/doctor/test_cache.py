"""What a probe found is kept for this very machine, and for no other."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.capabilities import Capabilities, Combination, Identity
from tracekit.base.errors import RecordingError
from tracekit.record.doctor.examine import keep, recall_probe

MACHINE = Identity("25D2128", "17C529", "Apple M1")
FOUND = Capabilities(
    MACHINE,
    "2026-11-20T10:00:00+00:00",
    (Combination("launch", counters=True, rows=1, saving=0.5, warnings=("Slow.",)),),
)


def test_what_was_kept_is_recalled(tmp_path: Path) -> None:
    keep(FOUND, tmp_path / "cache")
    [file] = (tmp_path / "cache").iterdir()
    assert file.name == "capabilities-25D2128_17C529_Apple-M1.json"
    assert recall_probe(MACHINE, tmp_path / "cache") == FOUND


def test_a_new_probe_takes_the_place_of_the_old(tmp_path: Path) -> None:
    keep(FOUND, tmp_path)
    again = replace(FOUND, probed="2026-11-21", combinations=())
    keep(again, tmp_path)
    assert recall_probe(MACHINE, tmp_path) == again
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(MACHINE, system_build="25E100"),
        replace(MACHINE, xcode_build="17F113"),
        replace(MACHINE, chip="Apple M3 Max"),
        Identity(),
    ],
)
def test_another_build_or_chip_was_never_probed(other: Identity, tmp_path: Path) -> None:
    keep(FOUND, tmp_path)
    assert recall_probe(other, tmp_path) is None
    keep(replace(FOUND, identity=other), tmp_path)
    assert recall_probe(MACHINE, tmp_path) == FOUND


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"identity": 1}', b"\xff\xfe"])
def test_a_damaged_file_is_said_and_counts_as_nothing(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep(FOUND, tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert recall_probe(MACHINE, tmp_path) is None
    assert "cannot be read" in caplog.text


def test_a_newer_format_is_not_guessed_at(tmp_path: Path) -> None:
    keep(replace(FOUND, format=2), tmp_path)
    assert recall_probe(MACHINE, tmp_path) is None


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(RecordingError):
        keep(FOUND, tmp_path / "cache")
