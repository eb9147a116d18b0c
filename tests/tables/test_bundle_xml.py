"""A run of a bundle becomes a folder of XML that is read as an export of Instruments is."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from bundle_writer import TIME, Col, Table, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from table_of_types import TABLE
from tracekit.base.errors import InputError, UsageError
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import (
    Exported,
    UnwritableError,
    escape_text,
    quote_attribute,
    write_exports,
    write_table,
)
from tracekit.tables.direct import Stored
from tracekit.tables.flat import ReaderName, read_flat
from tracekit.tables.losses import sentences
from tracekit.tables.toc import read_toc

START = Col("start", "Start", "XRStartTimeTypeID", TIME)
Choose = Callable[[frozenset[str]], frozenset[str]]


def export_bundle(bundle: Path, folder: str = "out", choose: Choose = frozenset) -> Exported:
    return write_exports(Bundle(bundle), bundle.parent / folder, choose, list[str]().append)


def names(done: Exported) -> list[str]:
    file_names = [file.name for file in done.files]
    assert sorted(file_names) == sorted(file.name for file in done.files[0].parent.iterdir())
    return file_names


def test_each_table_is_written_under_the_name_of_its_schema(tmp_path: Path) -> None:
    tables = [ticks([1, 2], {"frequency": 10}), intervals((5, 7, PYTHON)), ticks([3])]
    done = export_bundle(write_bundle(tmp_path / "x.trace", tables))
    assert names(done) == ["toc.xml", "tick.xml", "metal-gpu-intervals.xml", "tick-2.xml"]
    (run,) = read_toc(done.files[0]).runs
    assert [table.schema for table in run.tables] == ["tick", "metal-gpu-intervals", "tick"]
    assert b"table[3]'" in done.files[3].read_bytes()[:120]
    assert done.warnings == ()


def test_only_chosen_tables_are_written_and_empty_ones_get_a_substitute(tmp_path: Path) -> None:
    def choose(there: frozenset[str]) -> frozenset[str]:
        return frozenset({"tick"} if "tick" in there else {"metal-gpu-intervals"})

    tables = [ticks([]), intervals((5, 7, PYTHON)), Table("other", [START], [(1,)])]
    done = export_bundle(write_bundle(tmp_path / "x.trace", tables), choose=choose)
    assert names(done) == ["toc.xml", "tick.xml", "metal-gpu-intervals.xml"]


def test_both_readers_of_xml_equal_the_direct_reader(tmp_path: Path) -> None:
    rows = [(n * 1000, n % 7 * 100, PYTHON if n % 3 else SERVER) for n in range(500)]
    bundle = write_bundle(tmp_path / "x.trace", [intervals(*rows)])
    direct = read_flat(Stored(bundle, 1, 0)).frame
    file = export_bundle(bundle).files[1]
    readers: tuple[ReaderName, ...] = ("exact", "fast")
    for reader_name in readers:
        pd.testing.assert_frame_equal(read_flat(file, reader_name=reader_name).frame, direct)


def write_xml(bundle: Path) -> str:
    run = Bundle(bundle).runs[0]
    file = io.BytesIO()
    write_table(file, run, run.stores[0], 3)
    return file.getvalue().decode()


def test_values_of_all_types_are_written_as_instruments_writes_them(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [TABLE], with_document=True)
    golden = Path(__file__).parent / "goldens/many-types.xml"
    assert write_xml(bundle) == golden.read_text(encoding="utf-8")


def test_columns_that_are_not_surely_read_are_named_for_each_table(tmp_path: Path) -> None:
    tables = [TABLE, replace(TABLE, schema="more-types")]
    done = export_bundle(write_bundle(tmp_path / "x.trace", tables, with_document=True))
    [sentence] = sentences(done.losses)
    assert sentence.endswith("many-types (value, fps, events), more-types (value, fps, events).")


def test_unknown_cells_are_not_written_as_empty(tmp_path: Path) -> None:
    stack = Col("stack", "Stack", "XRTextBacktraceTypeID")
    empty = write_bundle(tmp_path / "a.trace", [Table("t", [START, stack], [(1, None)])])
    assert "<sentinel/></row>" in write_xml(empty)
    kind = "XRGenericUInt32TypeID"
    bundle = write_bundle(
        tmp_path / "b.trace", [Table("t", [START, Col("n", "N", kind)], [(1, 5)])]
    )
    requirements = bundle / "open.creq"
    head, name, tail = requirements.read_bytes().partition(f"com.apple.dt.etype.{kind}".encode())
    newer = tail.replace(b"<integer>1<", b"<integer>2<", 1)
    requirements.write_bytes(head + name + newer)
    with pytest.raises(UnwritableError, match="how values of uint32 are stored is not known"):
        write_xml(bundle)


def is_xml(character: str) -> bool:
    number = ord(character)
    is_plain = number in {9, 10, 13} or 0x20 <= number <= 0xD7FF
    return is_plain or 0xE000 <= number <= 0xFFFD or number >= 0x10000


@given(st.text())
def test_any_text_becomes_xml_that_says_it_as_far_as_xml_can(text: str) -> None:
    document = f'<a b="{quote_attribute(text)}">{escape_text(text)}</a>'
    element = etree.fromstring(document.encode())
    expected = "".join(letter if is_xml(letter) else "\ufffd" for letter in text)
    assert element.text == (expected or None)
    assert element.get("b") == expected


def test_a_damaged_table_is_left_out_by_name_and_the_others_are_written(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([1]), intervals((5, 7, PYTHON))])
    (bundle / "corespace/run1/core/stores/indexed-store-0/bulkstore").write_bytes(b"x\x9c\0")
    done = export_bundle(bundle)
    assert names(done) == ["toc.xml", "metal-gpu-intervals.xml"]
    (damage,) = done.losses
    assert damage.text.startswith("The table tick is not written: x.trace: corespace/run1/")


def test_no_table_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    done = export_bundle(write_bundle(tmp_path / "x.trace", [Table("../evil", [START], [(1,)])]))
    (loss,) = done.losses
    assert loss.text == "The table ../evil is not written: its name can be no file's."
    assert names(done) == ["toc.xml"]
    assert not (tmp_path / "evil.xml").exists()


def test_existing_files_are_not_overwritten_and_a_run_must_exist(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([1])])
    export_bundle(bundle)
    with pytest.raises(InputError, match="is there already"):
        export_bundle(bundle)
    with pytest.raises(UsageError, match="has no run 2"):
        write_exports(Bundle(bundle), tmp_path / "other", frozenset, print, number=2)
