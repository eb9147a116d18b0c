"""Track details: rows of attributes, names that XML does not allow, stacks."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import ExportWarning
from tracekit.tables.export_files import identify
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


def place(detail: int) -> str:
    return f"//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]/detail[{detail}]"


def text(*rows: str, xpath: str = place(2)) -> str:
    head = f"<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='{xpath}'>"
    return head + "".join(rows) + "</node></trace-query-result>\n"


@pytest.fixture
def detail(tmp_path: Path) -> Callable[..., Path]:
    def make(*rows: str, xpath: str = place(2)) -> Path:
        path = tmp_path / "detail.xml"
        path.write_text(text(*rows, xpath=xpath), encoding="utf-8")
        return path

    return make


Detail = Callable[..., Path]


def test_a_row_is_its_attributes_in_order_of_first_appearance(detail: Detail) -> None:
    flat = read_flat(detail(*ROWS))
    assert flat.frame.dtypes.map(str).to_dict() == {
        "address": "string",
        "category": "string",
        "live": "string",
        "size": "Int64",
        "index": "int64",
        "share": "float64",
        "backtrace": "string",
        "backtrace.stack": "Int64",
    }
    columns = flat.frame.drop(columns="share").astype(object).to_dict("list")
    assert columns == {
        "address": ["0x6000", "0x6001", "0x6002"],
        "category": ["VM: 96 KiB", "a < b", ""],
        "live": ["false", "true", None],
        "size": [98304, 80, None],
        "index": [0, 1, 2],
        "backtrace": [None, "malloc ← (1 other frames)", "main ← (1 other frames)"],
        "backtrace.stack": [None, 0, 1],
    }
    assert flat.symbols.stacks["frames"].to_pylist() == [[0, 1], [1, 2]]
    frames = flat.symbols.frames.select(["name", "address", "binary", "load_address"])
    assert [tuple(frame.values()) for frame in frames.to_pylist()] == [
        ("malloc", 0x1010, "lib", 0x1000),
        ("main", 0x2010, None, None),
        ("free", 0x1020, "lib", 0x1000),
    ]


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


def test_details_are_called_by_their_place_and_have_columns_of_their_own(detail: Detail) -> None:
    more = f"<node xpath='{place(1)}'/><node xpath='{place(3)}'><row b='2'/><row c='3'/></node>"
    path = detail('<row a="1"/>')
    path.write_text(path.read_text().replace("</trace-query", f"{more}</trace-query"))
    pieces = list(DetailReader(path).pieces())
    names = [[part.column.mnemonic for part in piece.columns] for piece in pieces]
    piece_facts = [(piece.number, piece.schema, piece.rows) for piece in pieces]
    assert [*zip(piece_facts, names, strict=True)] == [
        ((1, "track[1]/detail[2]", 1), ["a"]),
        ((2, "track[1]/detail[1]", 0), []),
        ((3, "track[1]/detail[3]", 2), ["b", "c"]),
    ]
    assert identify(path).schemas == tuple(piece.schema for piece in pieces)
    assert read_table(path, "track[1]/detail[3]")["b"].tolist() == [2, pd.NA]
    with pytest.raises(InputError, match="holds 3 tables"):
        read_table(path)
    [elsewhere] = DetailReader(detail(*ROWS, xpath="/somewhere")).pieces()
    assert elsewhere.schema == "details"


def test_cut_anywhere_the_rows_before_are_read_and_it_is_said(detail: Detail) -> None:
    path = detail(*ROWS)
    content = path.read_bytes()
    ends = [content.index(row.encode()) + len(row.encode()) - 1 for row in ROWS]
    for cut_position in range(len(content) - 1):
        path.write_bytes(content[:cut_position])
        if cut_position < ends[0]:
            with pytest.raises(InputError):
                read_flat(path)
            continue
        pieces = list(DetailReader(path).pieces())
        assert sum(piece.rows for piece in pieces) == sum(end <= cut_position for end in ends), (
            cut_position
        )
        assert pieces[-1].damage, cut_position


def test_a_broken_row_ends_the_details_before_it(detail: Detail, subtests: pytest.Subtests) -> None:
    for row, words in (
        ('<row a="1"><backtrace><frame ref="9"/></backtrace></row>', "never defined"),
        ('<row a="1" a="2"/>', "redefined"),
        ('<row a="&nbsp;"/>', "nbsp"),
        ("<schema name='x'/>", "does not belong"),
        ("<node><row a='1'/></node>", "does not belong"),
    ):
        with subtests.test(row):
            flat = read_flat(detail(ROWS[0], row, ROWS[0]))
            assert len(flat.frame) == 1
            assert words in flat.notes.damage[0]


def test_columns_without_end_are_refused(detail: Detail) -> None:
    path = detail('<row a="1"/>', *(f'<row a{n}="1"/>' for n in range(1200)))
    flat = read_flat(path)
    assert "more than 1000 columns" in flat.notes.damage[0]
    assert flat.frame.shape == (1000, 1000)


def test_details_are_known_by_their_beginning(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content, is_details in (
        (text(*ROWS), True),
        (text('<row a="1"/>', xpath="x"), True),
        (text(), True),
        (text("<row><string>a</string></row>", xpath="x"), False),
        ('<trace-query-result><!-- <row a="1"> --><node xpath="x"><schema name="t">', False),
        ('<trace-toc><run number="1"/></trace-toc>', False),
    ):
        path = tmp_path / "x.xml"
        path.write_text(content)
        with subtests.test(content):
            assert holds_details(path) is is_details
