"""Which reader serves, and why not the fast one."""

import logging
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.flat import read_flat
from tracekit.tables.reading import read_pieces
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node

PLAIN = (
    '<row><start-time id="1" fmt="00:00.000.007">7</start-time><uint64 id="2" fmt="5">5</uint64>'
    '<formatted-label id="3" fmt="a µ"><string id="4" fmt="a µ">a µ</string></formatted-label>'
    "</row>"
)
COLUMNS = "start:start-time id:uint64 label:formatted-label"


class Taken:
    """A taker that counts."""

    def __init__(self) -> None:
        self.begun = 0
        self.pieces: list[Node] = []

    def begin(self) -> None:
        """Forget all."""
        self.begun += 1
        self.pieces = []

    def take(self, piece: Node) -> None:
        """Take a piece."""
        self.pieces.append(piece)


@pytest.fixture
def plain(tmp_path: Path, node: Callable[..., str]) -> Path:
    """Write an export byte for byte as xctrace does."""
    path = tmp_path / "plain.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        + node(COLUMNS, PLAIN, '<row><start-time ref="1"/><sentinel/><sentinel/></row>')
        + "</trace-query-result>\n"
    )
    return path


def test_a_plain_export_is_read_by_the_fast_reader(
    plain: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "tracekit"):
        flat = read_flat(plain)
    assert "read by FastReader" in caplog.text
    exact = read_flat(plain, only="exact")
    pd.testing.assert_frame_equal(flat.frame, exact.frame)


def test_the_exact_reader_reads_what_the_fast_one_gives_up(
    plain: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain.write_text(plain.read_text().replace('ref="1"/>', 'ref="1" />'))
    with caplog.at_level(logging.DEBUG, "tracekit"):
        flat = read_flat(plain)
    assert "not read by the fast reader: " in caplog.text
    assert "read by ExactReader" in caplog.text
    assert flat.frame["start"].tolist() == [7, 7]
    with pytest.raises(IrregularError):
        read_flat(plain, only="fast")


def test_what_the_fast_reader_yielded_is_forgotten(plain: Path, node: Callable[..., str]) -> None:
    two = node("n:uint32", '<row><uint32 id="9">1</uint32></row>', schema="second", table=2)
    plain.write_text(plain.read_text().replace("</trace-query", f"{two}</trace-query"))
    taken = Taken()
    read_pieces(plain, taken)
    assert taken.begun == 2
    assert [(one.schema, one.number) for one in taken.pieces] == [("table", 1), ("second", 2)]


@pytest.mark.parametrize("end", ["", "\n", " \r\n\t\n"])
def test_white_space_may_follow_the_end(plain: Path, end: str) -> None:
    plain.write_text(plain.read_text().rstrip() + end, newline="")
    assert len(read_flat(plain).frame) == 2


def test_a_file_that_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    for only in (None, "exact"):
        with pytest.raises(InputError, match="cannot be read: No such file"):
            read_flat(tmp_path / "absent.xml", only=only)
