"""Track details: rows of attributes, names that XML does not allow, stacks."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import ExportWarning
from tracekit.tables.exports import identify
from tracekit.tables.flat import read_flat, read_table
from tracekit.tables.xml.details import DetailReader, holds_details

LIBRARY = '<binary id="1" name="lib" UUID="02C8-01" arch="arm64e" load-addr="0x1000" path="/lib"/>'
ROWS = (
    '<row address="0x6000" category="VM: 96 KiB" live="false" size="98304" index="0"/>\n',
    f"""<row address="0x6001" category="a &lt; b" live="true" size="80" index="1" share="1.50">\
<backtrace><frame id="0" name="malloc" addr="0x1010">{LIBRARY}</frame>\
<frame id="2" name="main" addr="0x2010"/></backtrace></row>
""",
    """<row category="" address="0x6002" index="2"><backtrace><frame ref="2"/>\
<frame id="3" name="free" addr="0x1020"><binary ref="1"/></frame></backtrace></row>
""",
)


def place(detail: int, run: int = 1) -> str:
    return f"//trace-toc[1]/run[{run}]/tracks[1]/track[1]/details[1]/detail[{detail}]"


def text(*rows: str, xpath: str = place(2)) -> str:
    return (
        f"<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='{xpath}'>"
        + "".join(rows)
        + "</node></trace-query-result>\n"
    )


@pytest.fixture
def detail(tmp_path: Path) -> Callable[..., Path]:
    def make(*rows: str, xpath: str = place(2)) -> Path:
        path = tmp_path / "detail.xml"
        path.write_text(text(*rows, xpath=xpath), encoding="utf-8")
        return path

    return make


Detail = Callable[..., Path]


def test_a_row_is_its_attributes_in_order_of_first_appearance(detail: Detail) -> None:
    frame = read_table(detail(*ROWS))
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "address": "string",
        "category": "string",
        "live": "string",
        "size": "Int64",
        "index": "int64",
        "share": "float64",
        "backtrace": "string",
        "backtrace.stack": "Int64",
    }
    assert frame["address"].tolist() == ["0x6000", "0x6001", "0x6002"]
    assert frame["category"].tolist() == ["VM: 96 KiB", "a < b", ""]
    assert frame["live"].tolist() == ["false", "true", pd.NA]
    assert frame["size"].tolist() == [98304, 80, pd.NA]
    assert frame["backtrace"].tolist() == [
        pd.NA,
        "malloc ← (1 other frames)",
        "main ← (1 other frames)",
    ]


def test_stacks_go_into_the_symbol_table(detail: Detail) -> None:
    flat = read_flat(detail(*ROWS))
    assert flat.frame["backtrace.stack"].tolist() == [pd.NA, 0, 1]
    assert flat.symbols.stacks.to_pylist() == [
        {"stack": 0, "frames": [0, 1]},
        {"stack": 1, "frames": [1, 2]},
    ]
    frames = flat.symbols.frames.to_pylist()
    assert [frame["name"] for frame in frames] == ["malloc", "main", "free"]
    assert [frame["address"] for frame in frames] == [0x1010, 0x2010, 0x1020]
    assert [frame["binary"] for frame in frames] == ["lib", None, "lib"]
    assert frames[2]["load_address"] == 0x1000


def test_a_name_that_xml_does_not_allow_is_read_and_said(detail: Detail) -> None:
    path = detail(
        '<row type="a % b" resident-%="100.00"/>',
        '<row type=\'\U000e0125 -%="\' resident-%="0.00"/>',
    )
    with pytest.warns(ExportWarning, match=r"detail\.xml: .* XML does not allow .*: resident-%\."):
        frame = read_table(path)
    assert list(frame) == ["type", "resident-%"]
    assert frame["type"].tolist() == ["a % b", '\U000e0125 -%="']
    assert frame["resident-%"].tolist() == [100.0, 0.0]


def test_details_are_called_by_their_place(detail: Detail) -> None:
    path = detail(*ROWS)
    assert identify(path).schemas == ("track[1]/detail[2]",)
    assert [piece.schema for piece in DetailReader(path).pieces()] == ["track[1]/detail[2]"]
    elsewhere = detail(*ROWS, xpath="/somewhere")
    assert [piece.schema for piece in DetailReader(elsewhere).pieces()] == ["details"]


def test_several_details_of_one_file_have_columns_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "details.xml"
    nodes = [
        text('<row a="1"/>').partition("</trace")[0],
        f"<node xpath='{place(1)}'/><node xpath='{place(3)}'><row b='2'/><row c='3'/></node>",
        "</trace-query-result>",
    ]
    path.write_text("".join(nodes))
    pieces = list(DetailReader(path).pieces())
    assert [(piece.number, piece.schema, piece.rows) for piece in pieces] == [
        (1, "track[1]/detail[2]", 1),
        (2, "track[1]/detail[1]", 0),
        (3, "track[1]/detail[3]", 2),
    ]
    names = [[part.column.mnemonic for part in piece.columns] for piece in pieces]
    assert names == [["a"], [], ["b", "c"]]
    assert read_table(path, "track[1]/detail[3]")["b"].tolist() == [2, pd.NA]
    with pytest.raises(InputError, match="holds 3 tables"):
        read_table(path)


def test_cut_anywhere_the_rows_before_are_read_and_it_is_said(tmp_path: Path) -> None:
    whole = text(*ROWS).encode()
    ends = [len(text(*ROWS[: n + 1]).partition("</node>")[0].encode()) - 1 for n in range(3)]
    path = tmp_path / "cut.xml"
    for cut in range(len(whole) - 1):
        path.write_bytes(whole[:cut])
        if cut < ends[0]:
            with pytest.raises(InputError):
                read_flat(path)
            continue
        pieces = list(DetailReader(path).pieces())
        assert sum(piece.rows for piece in pieces) == sum(end <= cut for end in ends), cut
        assert pieces[-1].damage, cut


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('<row a="1"><backtrace><frame ref="9"/></backtrace></row>', "never defined"),
        ('<row a="1" a="2"/>', "redefined"),
        ('<row a="&nbsp;"/>', "nbsp"),
        ("<schema name='x'/>", "stands where none belongs"),
        ("<node><row a='1'/></node>", "stands where none belongs"),
    ],
)
def test_a_broken_row_ends_the_details_before_it(detail: Detail, row: str, words: str) -> None:
    flat = read_flat(detail(ROWS[0], row, ROWS[0]))
    assert len(flat.frame) == 1
    assert words in flat.notes.damage[0]


def test_columns_without_end_are_refused(detail: Detail) -> None:
    path = detail('<row a="1"/>', *(f'<row a{n}="1"/>' for n in range(1500)))
    flat = read_flat(path)
    assert "more than 1000 columns" in flat.notes.damage[0]
    assert flat.frame.shape == (1000, 1000)


@pytest.mark.parametrize(
    ("content", "held"),
    [
        (text(*ROWS), True),
        (text('<row a="1"/>', xpath="x"), True),
        (text(), True),
        (text("<row><string>a</string></row>", xpath="x"), False),
        ('<trace-query-result><!-- <row a="1"> --><node xpath="x"><schema name="t">', False),
        ('<trace-toc><run number="1"/></trace-toc>', False),
    ],
)
def test_details_are_known_by_their_beginning(tmp_path: Path, content: str, *, held: bool) -> None:
    path = tmp_path / "x.xml"
    path.write_text(content)
    assert holds_details(path) is held
