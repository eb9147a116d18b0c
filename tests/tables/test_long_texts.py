"""A long text that many cells repeat: the table is refused beyond a bound."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from tracekit.base.errors import InputError
from tracekit.tables import values
from tracekit.tables.convert import convert
from tracekit.tables.direct import Stored, TableRef
from tracekit.tables.flat import ReaderName, read_flat
from tracekit.tables.values import LONG, long_bytes

Export = Callable[..., Path]
LETTERS = "x" * (LONG + 1)
MOST_ROWS = 10


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST", MOST_ROWS * len(LETTERS))


def exported(export: Export, rows: int, text: str = LETTERS) -> Path:
    first = '<row><start-time id="1" fmt="1">1</start-time><string id="2" fmt="a">{}</string></row>'
    more = ['<row><start-time ref="1"/><string ref="2"/></row>'] * (rows - 1)
    return export("start:start-time text:string", first.format(text), *more, schema="table")


def bundled(folder: Path, rows: int) -> Stored:
    columns = [
        Col("start", "S", "XRStartTimeTypeID", TIME),
        Col("text", "T", "XRPrototypeStringTypeID"),
    ]
    table = Table("table", columns, [(1, LETTERS)] * rows)
    return Stored(write_bundle(folder / "x.trace", [table]), 1, 0)


def require_bound(ref: TableRef, rows: int, out: Path, only: ReaderName | None = None) -> None:
    if rows <= MOST_ROWS:
        assert read_flat(ref, only=only).frame["text"].tolist() == [LETTERS] * rows
        assert convert(ref, out).rows == rows
        return
    for read in (lambda: read_flat(ref, only=only), lambda: convert(ref, out)):
        with pytest.raises(InputError, match="holds more text than is read of one table"):
            read()
    assert not out.exists()


@pytest.mark.parametrize("rows", [MOST_ROWS, MOST_ROWS + 1])
@pytest.mark.parametrize("only", ["fast", "exact"])
def test_of_an_export(export: Export, tmp_path: Path, only: ReaderName, rows: int) -> None:
    require_bound(exported(export, rows), rows, tmp_path / "out.parquet", only)


@pytest.mark.parametrize("rows", [MOST_ROWS, MOST_ROWS + 1])
def test_of_a_bundle(tmp_path: Path, rows: int) -> None:
    require_bound(bundled(tmp_path, rows), rows, tmp_path / "out.csv")


def test_short_texts_are_not_counted(export: Export) -> None:
    short = pa.array(["x" * LONG] * 3).dictionary_encode()
    long = pa.array([LETTERS, None, "y", LETTERS])
    assert long_bytes(pa.chunked_array([short])) == 0
    assert long_bytes(pa.chunked_array([long])) == 2 * (LONG + 1)
    assert long_bytes(pa.chunked_array([long.dictionary_encode()])) == 2 * (LONG + 1)
    assert long_bytes(pa.chunked_array([[1, 2]])) == 0
    rows = 3 * MOST_ROWS
    path = exported(export, rows, "x" * LONG)
    last = f'<row><start-time ref="1"/><string id="3" fmt="b">{LETTERS}</string></row>\n'
    path.write_text(path.read_text().replace("</node>", f"{last}</node>"))
    for only in ("fast", "exact"):
        assert len(read_flat(path, only=only).frame) == rows + 1
