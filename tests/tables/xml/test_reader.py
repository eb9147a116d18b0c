"""The grammar of an export, one trap a test."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.base.errors import InputError
from tracekit.tables.toc import Toc, TocRun, TocTable
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]


def texts(node: Node) -> list[list[str | None]]:
    """Return a table's cells, row by row, as the reader took them."""
    return [list(row) for row in zip(*(c.cells.to_pylist() for c in node.columns), strict=True)]


def only(path: Path) -> Node:
    (node,) = read_nodes(path)
    assert node.damage == ""
    return node


def test_a_header_names_columns_in_order(export: Export) -> None:
    node = only(export("start:start-time duration:duration", schema="metal-gpu-intervals"))
    assert node.schema == "metal-gpu-intervals"
    assert node.xpath == "//trace-toc[1]/run[1]/data[1]/table[1]"
    assert [c.column.mnemonic for c in node.columns] == ["start", "duration"]
    assert [c.column.engineering_type for c in node.columns] == ["start-time", "duration"]
    assert node.columns[0].column.name == "Start"
    assert node.rows == 0


def test_a_repeat_has_the_value_of_its_definition(export: Export) -> None:
    path = export(
        "state:gpu-state",
        '<row><gpu-state id="1" fmt="Active">Active</gpu-state></row>',
        '<row><gpu-state id="2" fmt="Idle">Idle</gpu-state></row>',
        '<row><gpu-state ref="1"/></row>',
    )
    assert texts(only(path)) == [["Active"], ["Idle"], ["Active"]]


def test_a_cell_may_repeat_what_a_compound_defined(export: Export) -> None:
    path = export(
        "label:formatted-label process:process name:string",
        '<row><formatted-label id="1" fmt="work ( App (7) )"><string id="2" fmt="work">work'
        '</string><process id="3" fmt="App (7)"><pid id="4" fmt="7">7</pid></process>'
        '</formatted-label><process ref="3"/><string ref="2"/></row>',
    )
    node = only(path)
    assert texts(node) == [["work ( App (7) )", "App (7)", "work"]]
    assert node.columns[1].pids.to_pylist() == ["7"]


def test_a_repeat_may_point_into_a_compound_that_is_still_open(export: Export) -> None:
    path = export(
        "stack:backtrace",
        '<row><backtrace id="1"><frame id="2" name="leaf" addr="0x1"><binary id="3" name="App"/>'
        '</frame><frame id="4" name="main" addr="0x2"><binary ref="3"/></frame></backtrace></row>',
    )
    assert texts(only(path)) == [["leaf ← (1 other frames)"]]


def test_a_sentinel_is_null_and_keeps_its_place(export: Export) -> None:
    path = export(
        "start:start-time latency:duration duration:duration",
        '<row><start-time id="1">5</start-time><sentinel/><duration id="2">9</duration></row>',
        '<row><sentinel/><duration ref="2"/><sentinel/></row>',
    )
    assert texts(only(path)) == [["5", None, "9"], [None, "9", None]]


def test_a_sentinel_within_a_compound_is_no_value(export: Export) -> None:
    path = export(
        "label:formatted-label",
        '<row><formatted-label id="1" fmt="a"><sentinel/><string id="2">a</string>'
        "</formatted-label></row>",
    )
    assert texts(only(path)) == [["a"]]


def test_cells_of_one_tag_stay_apart(export: Export) -> None:
    path = export(
        "duration:duration start-latency:duration",
        '<row><duration id="1">10</duration><duration id="2">20</duration></row>',
        '<row><duration ref="2"/><duration ref="1"/></row>',
    )
    assert texts(only(path)) == [["10", "20"], ["20", "10"]]


def test_the_text_counts_and_not_what_is_written_for_people(export: Export) -> None:
    path = export(
        "a:duration b:uint64",
        '<row><duration id="1" fmt="21,46 µs">21459</duration>'
        '<uint64 id="2" fmt="1.206.362.555">1206362555</uint64></row>',
    )
    assert texts(only(path)) == [["21459", "1206362555"]]


def test_the_texts_of_a_compound_are_not_joined(export: Export) -> None:
    path = export(
        "process:process",
        '<row><process id="1" fmt="App (88150)"><pid id="2" fmt="88150">88150</pid>'
        '<device-session id="3" fmt="TODO">TODO</device-session></process></row>',
    )
    assert texts(only(path)) == [["App (88150)"]]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        pytest.param('<string id="1" fmt=""></string>', "", id="empty"),
        pytest.param('<string id="1" fmt=""/>', "", id="empty and closed at once"),
        pytest.param('<string id="1" fmt=" "> </string>', " ", id="a space"),
        pytest.param('<string id="1"> ) </string>', " ) ", id="spaces around"),
        pytest.param('<string id="1">a\u00a0µs ÷ ←</string>', "a\u00a0µs ÷ ←", id="not ASCII"),
        pytest.param('<string id="1">one\ntwo</string>', "one\ntwo", id="newline"),
        pytest.param('<string id="1">a &lt;b&gt; &amp; &#8232;</string>', "a <b> & \u2028", id="&"),
        pytest.param('<string id="1"><![CDATA[a <row> b]]></string>', "a <row> b", id="CDATA"),
        pytest.param('<string id="1">a<!-- no -->b</string>', "ab", id="comment"),
        pytest.param('<string id="1">a<?no no?>b</string>', "ab", id="instruction"),
        pytest.param("<string>no id</string>", "no id", id="no id"),
        pytest.param('<uint64 id="1">18446744073709551615</uint64>', str(2**64 - 1), id="2^64 - 1"),
        pytest.param('<connection-uuid64 id="1">-1</connection-uuid64>', "-1", id="-1"),
        pytest.param('<string id="1">&#181;&#xB5;&#160;</string>', "µµ\u00a0", id="references"),
        pytest.param("<string id='1' fmt='\"'>single</string>", "single", id="single quotes"),
        pytest.param('<string fmt="x"  id="1"\n>order</string >', "order", id="order and blanks"),
        pytest.param('<narrative id="1" fmt="in words"></narrative>', "in words", id="no parts"),
        pytest.param('<uint64 id="1" fmt="1,000"></uint64>', "", id="a number is never from fmt"),
    ],
)
def test_text_is_taken_as_it_is(export: Export, cell: str, text: str) -> None:
    assert texts(only(export("value:any", f"<row>{cell}</row>"))) == [[text]]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        pytest.param(
            '<backtrace id="1"><frame id="2" name="f"/><frame id="3" name="g"/></backtrace>',
            "f ← (1 other frames)",
            id="since Xcode 14.3",
        ),
        pytest.param(
            '<backtrace id="1" fmt="f ← (11 other frames)"><text-addresses id="2">1 2'
            "</text-addresses></backtrace>",
            "f ← (11 other frames)",
            id="before",
        ),
        pytest.param(
            '<tagged-backtrace id="1" fmt="f ← (1 other frames)"><backtrace id="2">'
            '<frame id="3" name="f"/><frame id="4" name="g"/></backtrace></tagged-backtrace>',
            "f ← (1 other frames)",
            id="tagged, with words",
        ),
        pytest.param(
            '<tagged-backtrace id="1"><backtrace id="2"><frame id="3" name="f"/>'
            '<frame id="4" name="g"/></backtrace></tagged-backtrace>',
            "f ← (1 other frames)",
            id="tagged, without",
        ),
        pytest.param(
            '<tagged-backtrace id="1"><frame id="2" name="f"/><frame id="3" name="g"/>'
            '<frame ref="2"/></tagged-backtrace>',
            "f ← (2 other frames)",
            id="Xcode 27",
        ),
        pytest.param(
            '<backtrace id="1"><frame id="2" addr="0x10"/></backtrace>',
            "0x10 ← (0 other frames)",
            id="no symbol",
        ),
    ],
)
def test_every_shape_of_a_stack_is_read(export: Export, cell: str, text: str) -> None:
    assert texts(only(export("stack:any", f"<row>{cell}</row>"))) == [[text]]


def test_a_thread_knows_its_own_id_and_its_process(export: Export) -> None:
    path = export(
        "process:process thread:thread",
        '<row><process id="1" fmt="App (7)"><pid id="2">7</pid></process><thread id="3" '
        'fmt="Main Thread 0x9 (App, pid: 7)"><tid id="4">9</tid><process ref="1"/></thread></row>',
        '<row><sentinel/><thread id="5" fmt="Worker"><tid id="6">8</tid><process id="7" '
        'fmt="B (3)"><pid id="8">3</pid></process></thread></row>',
        '<row><process ref="7"/><sentinel/></row>',
    )
    process, thread = only(path).columns
    assert process.pids.to_pylist() == ["7", None, "3"]
    assert thread.tids.to_pylist() == ["9", "8", None]
    assert thread.pids.to_pylist() == ["7", "3", None]
    assert process.tids is None


def test_ids_hold_across_tables_and_a_new_definition_counts(
    document: Export, node: Callable[..., str]
) -> None:
    path = document(
        node("a:string", '<row><string id="1">old</string></row>', schema="one"),
        node(
            "a:string b:string",
            '<row><string ref="1"/><string id="1">new</string></row>',
            '<row><string ref="1"/><string ref="1"/></row>',
            schema="two",
        ),
    )
    one, two = read_nodes(path)
    assert texts(one) == [["old"]]
    assert texts(two) == [["old", "new"], ["new", "new"]]


def test_a_table_without_a_header_has_that_of_the_one_before(
    document: Export, node: Callable[..., str]
) -> None:
    path = document(
        node("a:string", '<row><string id="1">x</string></row>', schema="one"),
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'>"
        '<row><string ref="1"/></row></node>',
    )
    first, second = read_nodes(path)
    assert (first.schema, second.schema) == ("one", "one")
    assert second.xpath.endswith("table[2]")
    assert texts(second) == [["x"]]


def test_the_table_of_contents_names_a_table_without_a_header(
    document: Export, node: Callable[..., str]
) -> None:
    bare = "<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>{}</node>"
    path = document(
        node("a:string", schema="one", table=1),
        node("b:uint64", schema="two", table=2),
        bare.format('<row><string id="1">x</string></row>'),
    )
    schemas = [TocTable(1, "one"), TocTable(2, "two"), TocTable(3, "one")]
    assert [n.schema for n in read_nodes(path)] == ["one", "two", "two"]
    nodes = read_nodes(path, Toc((TocRun(1, tables=tuple(schemas)),)))
    assert [n.schema for n in nodes] == ["one", "two", "one"]
    assert texts(nodes[2]) == [["x"]]


def test_many_rows_are_packed_in_order(export: Export) -> None:
    count = 20_000
    rows = [f'<row><uint64 id="{i}">{i}</uint64></row>' for i in range(1, count + 1)]
    assert texts(only(export("n:uint64", *rows))) == [[str(i)] for i in range(1, count + 1)]


def test_whitespace_between_elements_means_nothing(export: Export) -> None:
    path = export(
        "a:string b:string", '<row>\n  <string id="1"> x </string>\n  <string ref="1" />\n</row>'
    )
    assert texts(only(path)) == [[" x ", " x "]]


def test_what_stands_between_cells_means_nothing(export: Export) -> None:
    path = export(
        "p:process a:string",
        '<row> <!-- a --> <process id="8" fmt="A (7)" ><pid id="9">7</pid><!-- b --></process>\n'
        '<?c?><string id="1">x</string> text </row>',
        "<row><process ref=\"8\" /><!-- <string/> --><string\tref='1'></string></row>",
    )
    node = only(path)
    assert texts(node) == [["A (7)", "x"], ["A (7)", "x"]]
    assert node.columns[0].pids.to_pylist() == ["7", "7"]


def test_pieces_are_parts_of_their_table(document: Export, node: Callable[..., str]) -> None:
    rows = [f'<row><string id="{n}">{n}</string></row>' for n in range(1, 30_001)]
    again = [f'<row><string ref="{n}"/></row>' for n in range(30_000, 0, -1)]
    path = document(
        node("a:string", *rows, schema="one"),
        node("a:string", schema="none", table=2),
        node("a:string", *again, schema="two", table=3),
    )
    pieces = list(ExactReader(path).pieces())
    assert [number for number, _ in groupby(piece.number for piece in pieces)] == [1, 2, 3]
    assert {(piece.number, piece.schema) for piece in pieces} == {
        (1, "one"), (2, "none"), (3, "two")
    }  # fmt: skip
    assert [piece.rows for piece in pieces if piece.number == 2] == [0]
    assert len(pieces) > 4
    assert max(piece.rows for piece in pieces) < 20_000
    assert texts(read_nodes(path)[2]) == [[str(n)] for n in range(30_000, 0, -1)]


@pytest.mark.parametrize("count", [0, 1, 20_000, 1 << 13])
def test_damage_stands_on_the_last_piece_of_its_table(export: Export, count: int) -> None:
    rows = ["<row><string>x</string></row>\n"] * count
    pieces = list(ExactReader(export("a:string", *rows, "<row/>")).pieces())
    assert sum(piece.rows for piece in pieces) == count
    assert [bool(piece.damage) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_values_without_ids_are_read_too(export: Export) -> None:
    path = export(
        "p:process a:string",
        '<row><process fmt="A (7)"><pid>7</pid></process><string>x</string></row>',
        '<row><process fmt="B (8)"><pid>8</pid></process><string fmt=""/></row>',
    )
    node = only(path)
    assert texts(node) == [["A (7)", "x"], ["B (8)", ""]]
    assert node.columns[0].pids.to_pylist() == ["7", "8"]


def test_an_empty_answer_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "empty.xml"
    for text in ("<trace-query-result/>", "<trace-query-result>\n</trace-query-result>\n"):
        path.write_text(f'<?xml version="1.0"?>\n{text}')
        assert read_nodes(path) == []


def test_other_tags_than_the_declared_ones_are_kept_in_mind(export: Export) -> None:
    path = export(
        "value:any start:start-time",
        '<row><uint64 id="1">1</uint64><start-time id="2">1</start-time></row>',
        '<row><string id="3">x</string><sentinel/></row>',
    )
    value, start = only(path).columns
    assert value.foreign == {"uint64", "string"}
    assert start.foreign == frozenset()


def test_the_details_of_a_track_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "details.xml"
    path.write_text(
        "<trace-query-result><node xpath='//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]"
        '/detail[1]\'><row address="0x1" category="Malloc" live="true"/></node>'
        "</trace-query-result>"
    )
    with pytest.raises(InputError, match="a track's details"):
        read_nodes(path)
