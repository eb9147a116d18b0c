"""The list of a run's tables, written by hand."""

import zlib
from pathlib import Path
from typing import Any

import pytest

from bundle_writer.keyed import Archived, archive, by_number
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.store import ListedStore, listed_stores, table_list
from tracekit.tables.bundle.errors import BundleError


def entry(path: str, side: int, schema: str, **attributes: Any) -> dict[str, Any]:
    spec = {"schemaName": schema, "engineeringName": schema, "attributes": attributes}
    return {"side": side, "spec": Archived("Spec", spec), "storeSubpath": path}


def listed(folder: Path, details: Any) -> dict[int, ListedStore]:
    place = folder / table_list(2)
    place.parent.mkdir(parents=True)
    place.write_bytes(zlib.compress(archive(root={"lastStoreIdx": 9, "tableDetails": details})))
    return listed_stores(Files(folder), 2)


def test_each_store_is_listed_once_as_it_is_read(tmp_path: Path) -> None:
    one, two = (f"run2/core/stores/indexed-store-{number}" for number in (0, 11))
    details = {
        3: entry(one, 0, "tick", frequency=1),
        7: entry(two, 1, "kdebug"),
        8: entry(one, 1, "tick", frequency=10),
        9: entry(one, 0, "tick", frequency=2),
    }
    assert listed(tmp_path, by_number(details)) == {
        11: ListedStore("kdebug", {}),
        0: ListedStore("tick", {"frequency": 10}),
    }


@pytest.mark.parametrize(
    "path", ["", "run1/core/stores/indexed-store-0", "../run2/core/stores/indexed-store-0", "x"]
)
def test_a_store_of_elsewhere_is_damage(tmp_path: Path, path: str) -> None:
    with pytest.raises(BundleError, match=r"tables\.plist names a store that is none of its run"):
        listed(tmp_path, by_number({1: entry(path, 1, "tick")}))


@pytest.mark.parametrize("details", [None, 7, {"a": 1}, by_number({1: "text"})])
def test_a_list_of_another_form_is_damage(tmp_path: Path, details: Any) -> None:
    with pytest.raises(BundleError, match=r"tables\.plist has no"):
        listed(tmp_path, details)


def test_a_list_that_is_not_there_is_damage(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"tables\.plist is missing"):
        listed_stores(Files(tmp_path), 1)


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "count"), [("gpu_baseline", 114), ("cpu_time_profiler", 40)])
def test_the_lists_of_real_bundles_name_every_store(corpus: Path, name: str, count: int) -> None:
    real = corpus / f"Oichkatzelesfrettschen+steinmarder/_history_8227983/{name}.trace"
    assert sorted(listed_stores(Files(real), 1)) == list(range(count))
