"""What is said of a bundle in addition to its tables."""

from pathlib import Path

import pytest

from bundle_writer import RunInfo, write_bundle
from documented_bundle import TICK
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import remarks_of


def written(folder: Path, version: str) -> Path:
    info = RunInfo(instruments_version=version)
    return write_bundle(folder / "made.trace", [TICK], info=info)


@pytest.mark.parametrize("version", ["26.0 (17A5295f)", "26.0 (17C529)"])
def test_of_a_verified_build_nothing_is_said(tmp_path: Path, version: str) -> None:
    assert remarks_of(Bundle(written(tmp_path, version))) == ()


def test_another_build_is_not_verified(tmp_path: Path) -> None:
    (remark,) = remarks_of(Bundle(written(tmp_path, "27.2 (27B5019j)")))
    assert remark == (
        "Reading made.trace is not verified for this build of Instruments, 27B5019j; it was for "
        "17A5295f and 17C529."
    )


@pytest.mark.parametrize("version", ["", "26.0", "26.0 ()", "(a build; no build)"])
def test_an_unknown_build_is_told(tmp_path: Path, version: str) -> None:
    (remark,) = remarks_of(Bundle(written(tmp_path, version)))
    assert remark.startswith("Which build of Instruments made made.trace is not known")


def test_a_missing_document_is_told(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "made.trace", [TICK], with_document=False)
    build, info, names = remarks_of(Bundle(path))
    assert "is not known" in build
    assert info.startswith("Device, template, settings")
    assert names.startswith("Names of processes and threads")


def test_a_table_that_is_left_out_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "26.0 (17C529)")
    (path / "corespace/run1/core/stores/indexed-store-0/spec.plist").write_bytes(b"")
    (remark,) = remarks_of(Bundle(path))
    assert remark.startswith("tick (store 0) of run 1 is left out: made.trace: ")
    assert "spec.plist" in remark


def test_a_type_with_another_tag_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "26.0 (17C529)")
    place = path / "open.creq"
    place.write_text(place.read_text().replace("'sample-time'", "'sample-tame'"))
    (remark,) = remarks_of(Bundle(path))
    assert remark.startswith("open.creq of made.trace calls XRSampleTimestamp sample-tame, which")


def test_that_the_list_of_tables_is_missing_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "26.0 (17C529)")
    (path / "corespace/run1/core/table-manager/tables.plist").unlink()
    (remark,) = remarks_of(Bundle(path))
    assert remark.startswith("Whether tables of run 1 are missing could not be checked")
