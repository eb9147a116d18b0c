"""What a table is: schema, attributes and layout, and descriptions that do not fit."""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import DURATION, TIME, Col, Encoder, Table
from bundle_writer.keyed import Archived, archive
from bundle_writer.stores import descriptor, write_store
from tracekit.tables.bundle import BundleError, Store
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.store import (
    Field,
    as_dtype,
    read_spec,
    read_store,
    store_folder,
)

COLUMNS = [
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("id", "Id", "XRPrototypeValueTypeID"),
]
TABLE = Table(
    "made", COLUMNS, [(1, 2, "Active", 3), (4, 5, "Idle", 6)], {"target": 7, "names": ["a", "b"]}
)
Change = Callable[[str, bytes], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / store_folder(1, 4)).parent.mkdir(parents=True)
    write_store(tmp_path / store_folder(1, 4), TABLE, Encoder())
    return tmp_path


@pytest.fixture
def change(folder: Path) -> Change:
    def replace(name: str, content: bytes) -> None:
        (folder / store_folder(1, 4) / name).write_bytes(zlib.compress(content))

    return replace


def read(folder: Path) -> Store:
    return read_store(Files(folder), 1, 4)


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


def test_a_table_is_what_its_files_say(folder: Path) -> None:
    found = read(folder)
    assert (found.run, found.number, found.schema) == (1, 4, "made")
    assert (found.rows, found.record) == (2, 36)
    assert dict(found.attributes) == {"target": 7, "names": ["a", "b"]}
    assert [(one.mnemonic, one.title, one.type_id, one.field) for one in found.columns] == [
        ("start", "Start", "XRStartTime", Field(0, 8)),
        ("duration", "Duration", "XRDuration", Field(8, 8)),
        ("state", "State", "XRGPUState", Field(24, 4)),
        ("id", "Id", "XRPrototypeValue", Field(28, 8)),
    ]
    assert found.bulkstore == "corespace/run1/core/stores/indexed-store-4/bulkstore"


def test_some_fields_of_a_record_are_looked_at(folder: Path) -> None:
    dtype = as_dtype(read(folder), {"id": Field(28, 8), "state": Field(24, 4)})
    assert (dtype.itemsize, dtype.names) == (36, ("id", "state"))


def test_what_is_written_here_is_what_the_writer_writes(folder: Path, change: Change) -> None:
    whole = read(folder)
    change("bulkstore_descriptor", described())
    assert read(folder) == whole
    assert descriptor(TABLE, 2) != described()


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
        ({"_fields": [("topology", 6, 0)], "_maxEventSize": 24, "_minEventSize": 24},
         "columns that its records do not"),
        ({"_fields": [("topology", 6, 0), ("a", 1, 1), ("b", 2, 2), ("c", 1, 3)],
          "_maxEventSize": 40, "_minEventSize": 40}, "lacks columns that its records have"),
    ],
)  # fmt: skip
def test_a_layout_that_does_not_fit_is_refused(
    folder: Path, change: Change, changes: dict[str, Any], words: str
) -> None:
    change("bulkstore_descriptor", described(**changes))
    with pytest.raises(BundleError, match=words):
        read(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no XML"),
        (b"<schema", "is no XML"),
        (b"<table/>", "is no schema"),
        (b"<!DOCTYPE schema [<!ENTITY a 'b'>]><schema/>", "is no schema"),
        (b"<schema name='other' topology='XRTD64_CC32_R_TypeID'/>", "is not the one of made"),
        (b"<schema name='made' topology='XRT50_C22_TypeID'/>", "is not the one of made"),
        (b"<schema>" + b"<column/>" * 1001 + b"</schema>", "more than 1000 columns"),
    ],
)
def test_a_schema_of_another_form_is_refused(
    folder: Path, change: Change, content: bytes, words: str
) -> None:
    change("schema.xml", content)
    with pytest.raises(BundleError, match=words):
        read(folder)


@pytest.mark.parametrize("root", [{}, {"schemaName": ""}, {"schemaName": 5}])
def test_a_table_without_a_name_is_refused(
    folder: Path, change: Change, root: dict[str, Any]
) -> None:
    change("spec.plist", archive(root=Archived("XRAnalysisCoreTableSpec", root)))
    with pytest.raises(BundleError, match="names no schema"):
        read_spec(Files(folder), 1, 4)
