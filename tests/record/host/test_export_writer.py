from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tracekit.base.errors import RecordingError
from tracekit.record.host.writer import (
    Cell,
    ExportColumn,
    ExportTable,
    process,
    thread,
    write_export,
)

Reader = Callable[[Path], tuple[list[str], list[list[str | None]]]]

TABLE = ExportTable(
    "metal-tiny",
    (
        ExportColumn("start", "Creation", "start-time"),
        ExportColumn("duration", "Duration", "duration"),
        ExportColumn("start-latency", "Latency", "duration"),
        ExportColumn("event-label", 'Label "<&>"', "string"),
        ExportColumn("process", "Process", "process"),
        ExportColumn("thread", "Thread", "thread"),
    ),
    index=108,
)

GOLDEN = """\
<?xml version="1.0"?>
<trace-query-result>
<node xpath='//trace-toc[1]/run[1]/data[1]/table[108]'><schema name="metal-tiny">\
<col><mnemonic>start</mnemonic><name>Creation</name>\
<engineering-type>start-time</engineering-type></col>\
<col><mnemonic>duration</mnemonic><name>Duration</name>\
<engineering-type>duration</engineering-type></col>\
<col><mnemonic>start-latency</mnemonic><name>Latency</name>\
<engineering-type>duration</engineering-type></col>\
<col><mnemonic>event-label</mnemonic><name>Label "&lt;&amp;&gt;"</name>\
<engineering-type>string</engineering-type></col>\
<col><mnemonic>process</mnemonic><name>Process</name>\
<engineering-type>process</engineering-type></col>\
<col><mnemonic>thread</mnemonic><name>Thread</name>\
<engineering-type>thread</engineering-type></col>\
</schema><row><start-time id="1" fmt="00:00.000.001">1000</start-time>\
<duration id="2" fmt="500 ns">500</duration><duration ref="2"/>\
<string id="3" fmt="a&lt;b&quot;c">a&lt;b"c</string>\
<process id="4" fmt="x (7)"><pid id="5" fmt="7">7</pid></process>\
<thread id="6" fmt="Main Thread 0x9 (x, pid: 7)"><tid id="7" fmt="0x9">9</tid>\
<process ref="4"/></thread></row>
<row><start-time id="8" fmt="-00:00.000.001">-1000</start-time>\
<duration ref="2"/><sentinel/><string id="9" fmt=""></string>\
<process ref="4"/><thread ref="6"/></row>
</node></trace-query-result>
"""


def rows() -> Iterator[tuple[Cell, ...]]:
    owner = process("x", 7)
    main = thread("Main Thread", 9, owner)
    yield 1000, 500, 500, 'a<b"c', owner, main
    yield -1000, 500, None, "", owner, main


def test_a_small_table_to_the_letter(tmp_path: Path) -> None:
    assert write_export(tmp_path / "tiny.xml", TABLE, rows()) == 2
    assert (tmp_path / "tiny.xml").read_text() == GOLDEN


def test_an_empty_table_has_its_schema(tmp_path: Path, read_export: Reader) -> None:
    path = tmp_path / "exports" / "empty.xml"
    assert write_export(path, TABLE, []) == 0
    assert path.read_text().endswith("</schema></node></trace-query-result>\n")
    assert read_export(path)[1] == []


def test_it_follows_the_grammar(tmp_path: Path, read_export: Reader) -> None:
    write_export(tmp_path / "tiny.xml", TABLE, rows())
    mnemonics, cells = read_export(tmp_path / "tiny.xml")
    assert mnemonics == [column.mnemonic for column in TABLE.columns]
    assert cells[0] == ["1000", "500", "500", 'a<b"c', "x (7)", "Main Thread 0x9 (x, pid: 7)"]
    assert cells[1][2:4] == [None, ""]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
            st.none() | st.integers(0, 2**64 - 1),
        ),
        max_size=8,
    )
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    read_export: Reader,
    values: list[tuple[int, str, int | None]],
) -> None:
    table = ExportTable(
        "t",
        (
            ExportColumn("owner", "Owner", "process"),
            ExportColumn("label", "Label", "string"),
            ExportColumn("count", "Count", "uint64"),
        ),
    )
    path = tmp_path_factory.mktemp("written") / "t.xml"
    written = [(process("p", pid), label, count) for pid, label, count in values]
    write_export(path, table, iter(written))
    # what XML cannot hold is replaced; all else comes back, whitespace too
    kept = [
        [f"p ({pid})", _as_xml(label), None if count is None else str(count)]
        for pid, label, count in values
    ]
    assert read_export(path)[1] == kept


def _as_xml(label: str) -> str:
    def allowed(character: str) -> bool:
        try:
            etree.Element("x").text = character
        except ValueError:
            return False
        return True

    return "".join(one if allowed(one) else "\ufffd" for one in label)


def test_a_row_of_another_length_is_our_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="metal-tiny has 6 columns, a row has 1"):
        write_export(tmp_path / "tiny.xml", TABLE, [(1,)])
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "tiny.xml"
    path.write_text("before")

    def broken() -> Iterator[tuple[Cell, ...]]:
        yield from rows()
        raise OSError(28, "No space left on device")

    with pytest.raises(RecordingError, match=r"tiny\.xml cannot be written: No space left"):
        write_export(path, TABLE, broken())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("")
    with pytest.raises(RecordingError, match="cannot be written"):
        write_export(tmp_path / "exports" / "tiny.xml", TABLE, [])
