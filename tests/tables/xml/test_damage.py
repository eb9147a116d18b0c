"""Damage: the rows before it are right, the rest is missing, and it is said so."""

import tempfile
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.base.errors import InputError
from tracekit.tables.xml.node import Node

HEADER = (
    '<?xml version="1.0"?>\n<trace-query-result>\n'
    "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name=\"t\">"
    "<col><mnemonic>start</mnemonic><name>S</name><engineering-type>start-time"
    "</engineering-type></col><col><mnemonic>label</mnemonic><name>L</name>"
    "<engineering-type>string</engineering-type></col><col><mnemonic>process</mnemonic>"
    "<name>P</name><engineering-type>process</engineering-type></col></schema>"
)
APP = '<process id="3" fmt="App (7)"><pid id="4" fmt="7">7</pid></process>'
OTHER = '<process id="7" fmt="B (8)"><pid id="8" fmt="8">8</pid></process>'
ROWS = (
    f'<row><start-time id="1" fmt="0">100</start-time><string id="2">µ&lt;</string>{APP}</row>\n',
    '<row><start-time id="5" fmt="0.2">200</start-time><string ref="2"/><process ref="3"/></row>\n',
    f'<row><start-time id="6" fmt="0.3">300</start-time><sentinel/>{OTHER}</row>\n',
    '<row><start-time ref="6"/><string id="9" fmt="">\n</string><process ref="7"/></row>\n',
)
WHOLE = (HEADER + "".join(ROWS) + "</node></trace-query-result>\n").encode()
VALUES = [
    ("100", "µ<", "App (7)", "7"),
    ("200", "µ<", "App (7)", "7"),
    ("300", None, "B (8)", "8"),
    ("300", "\n", "B (8)", "8"),
]


def values(node: Node) -> list[tuple[str | None, ...]]:
    start, label, process = node.columns
    columns = (start.cells, label.cells, process.cells, process.pids)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def read(content: bytes) -> list[Node]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "export.xml")
        path.write_bytes(content)
        return read_nodes(path)


def test_cut_at_every_byte_it_gives_the_rows_before_and_says_so() -> None:
    ends = [len((HEADER + "".join(ROWS[: count + 1])).encode()) - 1 for count in range(len(ROWS))]
    header = len(HEADER.encode())
    for cut in range(len(WHOLE) - 1):
        if cut < header:
            with pytest.raises(InputError) as caught:
                read(WHOLE[:cut])
            assert str(caught.value), cut
            continue
        (node,) = read(WHOLE[:cut])
        assert values(node) == VALUES[: sum(end <= cut for end in ends)], cut
        assert node.damage, cut
    assert read(WHOLE[:-1])[0].damage == ""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('<start-time ref="99"/><sentinel/><sentinel/>', "never defined"),
        ('<start-time ref="2"/><sentinel/><sentinel/>', "repeats a value that is a <string>"),
        ('{}<process id="20" fmt="A"><pid ref="99"/></process>', "never defined"),
        ('{}<process id="20" fmt="A"><pid ref="2"/></process>', "is a <string>"),
        ('{}<process id="20"><process ref="20"/></process>', "never defined"),
        ("<start-time ref='1'/><sentinel/>", "2 cells for 3"),
        ("<sentinel/>" * 4, "4 cells for 3"),
        ('<sentinel/><string rfe="2"/><sentinel/>', "no value"),
        ("<sentinel/><row/><sentinel/>", "where none belongs"),
        ("<sentinel/><schema name='x'/><sentinel/>", "where none belongs"),
    ],
)
def test_a_row_that_breaks_the_grammar_ends_the_table_before_it(row: str, reason: str) -> None:
    whole = (
        HEADER
        + ROWS[0]
        + f"<row>{row.format('<sentinel/>' * 2)}</row>"
        + ROWS[1]
        + "</node></trace-query-result>"
    )
    (node,) = read(whole.encode())
    assert values(node) == VALUES[:1]
    assert reason in node.damage
    assert "where none belongs" in reason or node.damage.endswith(", line 4")


def test_a_second_header_or_a_nested_table_is_damage() -> None:
    header = HEADER[HEADER.index("<schema") :]
    for extra in (header, "<node xpath='x'></node>"):
        (node,) = read((HEADER + ROWS[0] + extra + ROWS[1] + "</node>").encode())
        assert values(node) == VALUES[:1]
        assert node.damage
