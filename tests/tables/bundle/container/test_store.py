"""What a table is: schema, attributes and columns, and descriptions that do not fit."""

import zlib
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import DURATION, TIME, Col, Encoder, Table
from bundle_writer.keyed import Archived, archive, by_number
from bundle_writer.stores import write_store
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import (
    Spec,
    listed_stores,
    read_spec,
    read_store,
    store_folder,
    table_list,
)
from tracekit.tables.bundle.errors import BundleError

COLUMNS = [
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("id", "Id", "XRPrototypeValueTypeID"),
]
TABLE = Table(
    "made", COLUMNS, [(1, 2, "Active", 3), (4, 5, "Idle", 6)], {"target": 7, "names": ["a", "b"]}
)


def change_file(folder: Path, name: str, content: bytes) -> Files:
    """Return the files of a bundle of one table, of which one file is different."""
    store = folder / store_folder(1, 4)
    if not store.parent.exists():
        store.parent.mkdir(parents=True)
        write_store(store, TABLE, Encoder())
    (store / name).write_bytes(zlib.compress(content))
    return Files(folder)


TOPOLOGY = b"topology='XRTD64_CC32_R_TypeID'"
THREE_COLUMNS = b"<column mnemonic='a' engineeringType='XRProcessTypeID'/>" * 3


def test_a_schema_of_another_form_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content, words in (
        (b"", "is not XML"),
        (b"<schema", "is not XML"),
        (b"<table/>", "is not a schema"),
        (b"<!DOCTYPE schema [<!ENTITY a 'b'>]><schema/>", "is not a schema"),
        (b"<schema name='other' %b/>" % TOPOLOGY, "is not the one of made"),
        (b"<schema name='made' topology='XRT50_C22_TypeID'/>", "is not the one of made"),
        (b"<schema name='made' %b/>" % TOPOLOGY, "lacks columns"),
        (
            b"<schema name='made' %b>%b</schema>" % (TOPOLOGY, THREE_COLUMNS),
            "columns that its records do not",
        ),
        (b"<schema>" + b"<column/>" * 1001 + b"</schema>", "more than 1000 columns"),
    ):
        with subtests.test(words):
            files = change_file(tmp_path, "schema.xml", content)
            with pytest.raises(BundleError, match=words):
                read_store(files, 1, 4)


def descriptor(changes: dict[str, Any]) -> bytes:
    members: dict[str, Any] = {
        "_fields": [(6, 0), (1, 1), (2, 2)], "_maxEventSize": 36, "_minEventSize": 36,
        "_variableSize": False, "_props": {"next_event_id": 2},
    } | changes  # fmt: skip
    fields = ({"_index": index, "_type": kind, "_multi": 1} for kind, index in members["_fields"])
    members["_fields"] = [Archived("F", {"$0": field}) for field in fields]
    return archive(root=Archived("XREventDescriptor", {"$0": members}))


def test_a_layout_says_where_fields_lie(tmp_path: Path) -> None:
    layout = descriptor({"_props": {"next_event_id": 5}})
    store = read_store(change_file(tmp_path, "bulkstore_descriptor", layout), 1, 4)
    fields = [column.field for column in store.columns]
    assert fields == [Field(0, 8), Field(8, 8), Field(24, 4), Field(28, 8)]
    assert (store.rows, store.record) == (5, 36)


def test_a_layout_that_is_not_known_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for changes in (
        {"_variableSize": True},
        {"_maxEventSize": 40},
        {"_minEventSize": 32},
        {"_props": {"next_event_id": -1}},
        {"_props": {"next_event_id": (1 << 40) + 1}},
        {"_props": {}},
        {"_fields": [(7, 0), (1, 1), (2, 2)]},
        {"_fields": [(6, 0), (3, 1), (2, 2)]},
        {"_fields": [(6, 0), (1, 2), (2, 1)]},
    ):
        with subtests.test(changes):
            files = change_file(tmp_path, "bulkstore_descriptor", descriptor(changes))
            with pytest.raises(BundleError, match=r"has (records of a layout|no number)"):
                read_store(files, 1, 4)


@pytest.mark.parametrize("root", [{}, {"schemaName": ""}, {"schemaName": 5}])
def test_a_table_without_a_name_is_refused(tmp_path: Path, root: dict[str, Any]) -> None:
    spec = archive(root=Archived("XRAnalysisCoreTableSpec", root))
    files = change_file(tmp_path, "spec.plist", spec)
    with pytest.raises(BundleError, match="names no schema"):
        read_spec(files, 1, 4)


def entry(path: str, side: int, schema: str, **attributes: Any) -> dict[str, Any]:
    spec = {"schemaName": schema, "engineeringName": schema, "attributes": attributes}
    return {"side": side, "spec": Archived("Spec", spec), "storeSubpath": path}


def list_stores(folder: Path, details: Any) -> dict[int, Spec]:
    place = folder / table_list(2)
    place.parent.mkdir(parents=True)
    place.write_bytes(zlib.compress(archive(root={"lastStoreIdx": 9, "tableDetails": details})))
    return listed_stores(Files(folder), 2)


def test_each_store_is_listed_once_as_it_is_read(tmp_path: Path) -> None:
    first_path, two = (f"run2/core/stores/indexed-store-{number}" for number in (0, 11))
    details = {
        3: entry(first_path, 0, "tick", frequency=1),
        7: entry(two, 1, "kdebug"),
        8: entry(first_path, 1, "tick", frequency=10),
        9: entry(first_path, 0, "tick", frequency=2),
    }
    stores = list_stores(tmp_path, by_number(details))
    assert stores == {11: ("kdebug", {}), 0: ("tick", {"frequency": 10})}


@pytest.mark.parametrize(
    "path", ["", "run1/core/stores/indexed-store-0", "../run2/core/stores/indexed-store-0", "x"]
)
def test_a_store_of_elsewhere_is_damage(tmp_path: Path, path: str) -> None:
    with pytest.raises(BundleError, match=r"tables\.plist names a store that is none of its run"):
        list_stores(tmp_path, by_number({1: entry(path, 1, "tick")}))
