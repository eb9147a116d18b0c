"""A table of a bundle becomes the XML that Instruments writes, and readers of XML read it."""

import io
import re
from pathlib import Path

import pytest

from bundle_writer import TIME, Col, Label, Part, Table, write_bundle
from table_of_types import COLUMNS, ROWS, TABLE
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.bundle_xml.meanings import Meanings, UnwritableError
from tracekit.tables.bundle_xml.write import write_table

START = Col("start", "Start", "XRStartTimeTypeID", TIME)


def written(bundle: Path, index: int = 3) -> str:
    run = Bundle(bundle).runs[0]
    file = io.BytesIO()
    write_table(file, run, run.stores[0], index, Meanings(run))
    return file.getvalue().decode()


def test_values_of_all_types_are_written_as_instruments_writes_them(tmp_path: Path) -> None:
    text = written(write_bundle(tmp_path / "x.trace", [TABLE], with_document=True))
    head, _, rest = text.partition("</schema>")
    assert head.startswith(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>"
        '<schema name="many-types"><col><mnemonic>time</mnemonic><name>Sample Time</name>'
        "<engineering-type>sample-time</engineering-type></col>"
    )
    assert "<name>Name &lt;&amp;&gt;</name>" in head
    assert head.count("<col>") == len(COLUMNS)
    fragment = re.compile('fmt="frag [0-9]+"')
    assert fragment.sub('fmt="frag FRAGMENT"', rest) == f"{ROWS}</node></trace-query-result>\n"


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [Table("nothing", [START])])
    assert written(bundle, 1) == (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"nothing\"><col>"
        "<mnemonic>start</mnemonic><name>Start</name><engineering-type>start-time"
        "</engineering-type></col></schema></node></trace-query-result>\n"
    )


def test_rows_are_written_in_the_order_of_their_times(tmp_path: Path) -> None:
    text = Col("text", "Text", "XRPrototypeStringTypeID")
    table = Table("t", [START, text], [(2, "b"), (1, "x"), (2, "a"), (1, "y")])
    found = re.findall(
        "<string[^>]*>([a-z])<", written(write_bundle(tmp_path / "x.trace", [table]))
    )
    assert found == ["x", "y", "b", "a"]


def test_what_cannot_be_said_is_not_said_to_be_nothing(tmp_path: Path) -> None:
    stack = Col("stack", "Stack", "XRTextBacktraceTypeID")
    empty = write_bundle(tmp_path / "a.trace", [Table("t", [START, stack], [(1, None)])])
    assert "<sentinel/></row>" in written(empty)
    filled = Table("t", [START, Col("n", "N", "XRGenericUInt32TypeID")], [(1, 5)])
    bundle = write_bundle(tmp_path / "b.trace", [filled])
    newer = bundle / "open.creq"
    newer.write_bytes(_newer(newer.read_bytes(), "XRGenericUInt32TypeID"))
    with pytest.raises(UnwritableError, match="how values of uint32 are stored is not known"):
        written(bundle)


def _newer(requirements: bytes, type_id: str) -> bytes:
    head, name, rest = requirements.partition(f"com.apple.dt.etype.{type_id}".encode())
    return head + name + rest.replace(b"<integer>1<", b"<integer>2<", 1)


def test_labels_without_end_are_damage(tmp_path: Path) -> None:
    label = Label((Part("XRPrototypeStringTypeID", "end"),))
    for _ in range(9):
        label = Label((Part("XRFormattedLabelTypeID", label),))
    table = Table("t", [START, Col("l", "L", "XRFormattedLabelTypeID")], [(1, label)])
    with pytest.raises(BundleError, match="labels within labels"):
        written(write_bundle(tmp_path / "x.trace", [table]))
