"""A bundle as a whole: its runs and tables, and folders that are none."""

import shutil
import zlib
from pathlib import Path

import pytest

from bundle_writer import Run, write_bundle, write_runs
from bundle_writer.keyed import archive
from small_bundle import PYTHON, intervals, ticks
from tracekit.errors import InputError
from tracekit.tables.bundle import Bundle, BundleError, UnknownBundleError, Unreadable

CORE = "corespace/run1/core"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "x.trace", [ticks([1, 2]), intervals((5, 6, PYTHON))])


def test_a_bundle_has_runs_with_tables(path: Path) -> None:
    (run,) = Bundle(path).runs
    assert run.number == 1
    assert [(one.number, one.schema, one.rows) for one in run.stores] == [
        (0, "tick", 2),
        (1, "metal-gpu-intervals", 1),
    ]
    assert run.strings[0] == ""
    assert "Compute" in run.strings
    assert "XRProcess" in run.types
    assert len(run.arrays) == 1


def test_runs_have_their_numbers(tmp_path: Path) -> None:
    runs = {1: Run([ticks([1])]), 3: Run([ticks([1, 2, 3])])}
    path = write_runs(tmp_path / "x.trace", runs)
    (path / "corespace" / "currentRun").mkdir()
    (path / "corespace" / "run0").mkdir()
    found = {run.number: run.stores[0].rows for run in Bundle(path).runs}
    assert found == {1: 1, 3: 3}


def test_a_damaged_table_is_unreadable_and_the_others_are_not(path: Path) -> None:
    (path / CORE / "stores/indexed-store-0/schema.xml").write_bytes(b"")
    one, two = Bundle(path).runs[0].tables
    assert isinstance(one, Unreadable)
    assert (one.schema, one.number) == ("tick", 0)
    assert "schema.xml is no XML" in one.why
    assert two.schema == "metal-gpu-intervals"


def test_a_table_without_a_name_is_unreadable_too(path: Path) -> None:
    (path / CORE / "stores/indexed-store-0/spec.plist").unlink()
    run = Bundle(path).runs[0]
    (one,) = [one for one in run.tables if isinstance(one, Unreadable)]
    assert (one.schema, dict(one.attributes)) == ("", {})
    assert len(run.stores) == 1


def test_a_file_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "x.trace").write_bytes(b"zip")
    with pytest.raises(InputError, match="is not a folder"):
        Bundle(tmp_path / "x.trace")


@pytest.mark.parametrize(
    ("gone", "words"),
    [("open.creq", "copied in part"), ("corespace", "no corespace"), (CORE, "no run")],
)
def test_a_bundle_without_its_parts_is_not_known(path: Path, gone: str, words: str) -> None:
    if (path / gone).is_dir():
        shutil.rmtree(path / gone if gone != CORE else path / "corespace/run1")
    else:
        (path / gone).unlink()
    with pytest.raises(UnknownBundleError, match=words):
        Bundle(path)


@pytest.mark.parametrize("content", [b"", b"no plist", archive(root=["a", "b"])])
def test_texts_of_another_form_are_damage(path: Path, content: bytes) -> None:
    (path / CORE / "uniquing/strings").write_bytes(zlib.compress(content))
    with pytest.raises(BundleError, match="uniquing/strings is no"):
        _ = Bundle(path).runs[0].strings


@pytest.mark.parametrize("content", [b"no plist", archive(root=[1, 2]), archive(root="text")])
def test_types_of_another_form_are_damage(path: Path, content: bytes) -> None:
    (path / CORE / "uniquing/EngineeringTypes.etypes").write_bytes(zlib.compress(content))
    with pytest.raises(BundleError, match=r"EngineeringTypes\.etypes (is no|has no)"):
        _ = Bundle(path).runs[0].types


def test_a_run_without_tables_is_damage(path: Path) -> None:
    shutil.rmtree(path / CORE / "stores")
    with pytest.raises(BundleError, match="stores is missing"):
        _ = Bundle(path).runs[0].tables
