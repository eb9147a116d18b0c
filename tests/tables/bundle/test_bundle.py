"""A bundle as a whole: its runs and tables, and folders that are none."""

import shutil
from pathlib import Path

import pytest

from bundle_writer import Run, write_bundle, write_runs
from bundle_writer.keyed import archive
from small_bundle import PYTHON, intervals, ticks
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.bundle.errors import BundleError, UnknownBundleError, name_bundle

CORE = "corespace/run1/core"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "x.trace", [ticks([1, 2]), intervals((5, 6, PYTHON))])


def test_a_table_without_a_name_has_that_of_the_list_of_tables(path: Path) -> None:
    (path / CORE / "stores/indexed-store-0/spec.plist").unlink()
    nameless_table, two = Bundle(path).runs[0].tables
    assert isinstance(nameless_table, Unreadable)
    assert (nameless_table.schema, two.schema) == ("tick", "metal-gpu-intervals")
    assert "spec.plist is missing" in nameless_table.loss.text


def test_stores_that_are_missing_are_left_out_by_name(path: Path) -> None:
    missing: list[str] = []
    for number, schema in enumerate(("tick", "metal-gpu-intervals")):
        shutil.rmtree(path / CORE / f"stores/indexed-store-{number}")
        run = Bundle(path).runs[0]
        cause = f"{CORE}/stores/indexed-store-{number} is missing."
        missing.append(f"{schema} (store {number}) of run 1 is left out: x.trace: {cause}")
        loss_texts = [table.loss.text for table in run.tables if isinstance(table, Unreadable)]
        assert loss_texts == missing, number
    with pytest.raises(BundleError, match="indexed-store-0 is missing"):
        run.store(0)


def test_stores_that_changed_places_are_left_out(path: Path) -> None:
    stores = path / CORE / "stores"
    (stores / "indexed-store-0").rename(stores / "aside")
    (stores / "indexed-store-1").rename(stores / "indexed-store-0")
    (stores / "aside").rename(stores / "indexed-store-1")
    run = Bundle(path).runs[0]
    assert run.stores == ()
    reasons = [one.reason for one in run.tables if isinstance(one, Unreadable)]
    assert [one.count("is of another table than") for one in reasons] == [1, 1]


@pytest.mark.parametrize("content", [None, b"", b"nonsense", archive(root={"tableDetails": 1})])
def test_without_the_list_of_tables_it_is_not_known_whether_any_are_missing(
    path: Path, content: bytes | None
) -> None:
    place = path / CORE / "table-manager/tables.plist"
    place.unlink()
    if content is not None:
        place.write_bytes(content)
    run = Bundle(path).runs[0]
    assert len(run.stores) == 2
    [loss] = run.unchecked_losses
    assert loss.text.startswith("Whether tables of run 1 are missing could not be checked: ")
    assert "tables.plist" in loss.text


def test_a_store_that_the_list_of_tables_lacks_is_read_and_named(path: Path) -> None:
    stores = path / CORE / "stores"
    shutil.copytree(stores / "indexed-store-0", stores / "indexed-store-7")
    run = Bundle(path).runs[0]
    assert [store.number for store in run.stores] == [0, 1, 7]
    [loss] = run.unchecked_losses
    assert loss.text.startswith("Store 7 of run 1 is not in the run's list of tables")


def test_a_store_is_read_without_those_of_other_schemas(path: Path) -> None:
    whole = Bundle(path).runs[0].store(1)
    shutil.rmtree(path / CORE / "stores/indexed-store-0")
    run = Bundle(path).runs[0]
    assert run.store(1) == whole
    assert list(run.find_stores("metal-gpu-intervals")) == [whole]
    assert list(run.find_stores("tick")) == []
    assert "tables" not in vars(run)  # which reads all of them


def test_stores_that_the_list_of_tables_lacks_are_found_by_schema(path: Path) -> None:
    stores = path / CORE / "stores"
    shutil.copytree(stores / "indexed-store-0", stores / "indexed-store-7")
    run = Bundle(path).runs[0]
    assert [store.number for store in run.find_stores("tick")] == [0, 7]


def test_a_run_that_only_the_document_names_is_missing(tmp_path: Path) -> None:
    runs = {1: Run([ticks([1])]), 2: Run([ticks([1])])}
    path = write_runs(tmp_path / "x.trace", runs)
    assert Bundle(path).missing == ()
    shutil.rmtree(path / "corespace/run2")
    [loss] = Bundle(path).missing
    assert loss.text.startswith("Run 2 is left out: x.trace has a document that names it")


@pytest.mark.parametrize(
    ("gone", "words"),
    [("open.creq", "copied in part"), ("corespace", "no corespace"), ("corespace/run1", "no run")],
)
def test_a_bundle_without_its_parts_is_not_known(path: Path, gone: str, words: str) -> None:
    (path / gone).rename(path.with_name("gone"))
    with pytest.raises(UnknownBundleError, match=words):
        Bundle(path)


def test_more_tables_than_any_run_has_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.tables.bundle.bundle._MOST_STORES", 2)
    assert len(Bundle(path).runs[0].tables) == 2
    monkeypatch.setattr("tracekit.tables.bundle.bundle._MOST_STORES", 1)
    with pytest.raises(BundleError, match="holds more than 1 tables"):
        _ = Bundle(path).runs[0].tables


def test_a_bundle_has_its_own_name_and_a_link_its_targets(tmp_path: Path) -> None:
    bundle, run = tmp_path / "mine.trace", tmp_path / "run"
    for folder in (bundle, run):
        folder.mkdir()
    (run / "recording.trace").symlink_to(bundle)
    assert name_bundle(bundle) == name_bundle(run / "recording.trace") == "mine.trace"
