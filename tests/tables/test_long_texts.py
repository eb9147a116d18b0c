"""A long text that many cells repeat: held once, written in portions, refused beyond a bound."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from small_bundle import PYTHON, intervals
from tracekit.analysis.work_names import families
from tracekit.base.errors import InputError
from tracekit.tables.cache import Cache, Kept
from tracekit.tables.convert import convert
from tracekit.tables.direct import Stored
from tracekit.tables.flat import read_flat
from tracekit.tables.reading import ReaderName
from tracekit.tables.tables import Tables
from tracekit.tables.values import AT_ONCE, LONG, MOST, long_bytes, portions

Export = Callable[..., Path]
SIZE, ROWS = 1_000_000, 100  # 100 MB, of which no more than a third is written out at once
MOST_MIB = 400  # what importing takes is half of it
LETTERS = "x" * SIZE


@pytest.fixture
def xml(export: Export) -> Path:
    return repeated(export, LETTERS, ROWS)


def repeated(export: Export, text: str, rows: int) -> Path:
    first = '<row><start-time id="1" fmt="1">1</start-time><string id="2" fmt="a">{}</string></row>'
    more = ['<row><start-time ref="1"/><string ref="2"/></row>'] * (rows - 1)
    return export("start:start-time text:string", first.format(text), *more)


def bundled(folder: Path, text: str, rows: int) -> Path:
    columns = [
        Col("start", "S", "XRStartTimeTypeID", TIME),
        Col("text", "T", "XRPrototypeStringTypeID"),
    ]
    table = Table("table", columns, [(1, text)] * rows)
    return Stored(write_bundle(folder / "x.trace", [table]), 1, 0).file


def require_repeated(frame: pd.DataFrame, text: str, rows: int) -> None:
    assert frame["start"].tolist() == [1] * rows
    assert (frame["text"] == text).tolist() == [True] * rows


@pytest.mark.parametrize("only", ["fast", "exact"])
def test_cells_of_an_export_share_a_text(xml: Path, only: ReaderName) -> None:
    flat = read_flat(xml, only=only)
    require_repeated(flat.frame, LETTERS, ROWS)
    assert len(set(map(id, flat.frame["text"]))) == 1
    assert (flat.reader, flat.said) == (only, ())


def test_cells_of_a_bundle_share_a_text(tmp_path: Path) -> None:
    flat = read_flat(bundled(tmp_path, LETTERS, ROWS))
    require_repeated(flat.frame, LETTERS, ROWS)
    assert len(set(map(id, flat.frame["text"]))) == 1


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        ("export", "parquet"),
        ("bundle", "csv"),
        *(
            pytest.param(form, suffix, marks=pytest.mark.campaign)
            for form in ("export", "bundle")
            for suffix in ("parquet", "feather", "csv")
            if (form, suffix) not in {("export", "parquet"), ("bundle", "csv")}
        ),
    ],
)
def test_files_hold_every_cell(xml: Path, tmp_path: Path, form: str, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    convert(xml if form == "export" else bundled(tmp_path, LETTERS, ROWS), out)
    read = {"parquet": pd.read_parquet, "feather": pd.read_feather, "csv": pd.read_csv}
    require_repeated(read[suffix](out), LETTERS, ROWS)


def test_a_kept_table_shares_texts_too(xml: Path, tmp_path: Path) -> None:
    for expected in (Kept, Kept):
        found = Cache(tmp_path / "kept").table(xml, "table")
        assert isinstance(found, expected)
        require_repeated(found.part(), LETTERS, ROWS)
        assert len(set(map(id, found.part()["text"]))) <= 5  # one for each part of the file


def test_a_normalized_table_shares_texts_too(tmp_path: Path) -> None:
    short = intervals(*[(place, 1, PYTHON) for place in range(ROWS)])
    columns = [*short.columns, Col("event-label", "L", "XRMetalObjectLabelTypeID")]
    table = Table(short.schema, columns, [(*row, LETTERS) for row in short.rows])
    bundle = write_bundle(tmp_path / "x.trace", [table])
    labels = Tables(bundle, frozenset())["gpu_intervals"]["label"]
    assert (labels == LETTERS).tolist() == [True] * ROWS
    assert len(set(map(id, labels))) == 1
    codes, names = families(labels)
    assert (codes.tolist(), names) == ([0] * ROWS, (LETTERS,))


_CHILD = """
import resource, sys
from pathlib import Path
from tracekit.tables.cache import Cache
from tracekit.tables.convert import convert
from tracekit.tables.flat import read_flat
path, way, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
if way == "frame":
    read_flat(path)
elif way == "kept":
    Cache(out).table(path, "table").part()
else:
    convert(path, out / f"out.{way}")
unit = 20 if sys.platform == "darwin" else 10
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> unit)
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="resource is of POSIX")
@pytest.mark.parametrize(
    ("form", "way"),
    [
        ("export", "frame"),
        ("bundle", "csv"),
        *(
            pytest.param(form, way, marks=pytest.mark.campaign)
            for form in ("export", "bundle")
            for way in ("frame", "kept", "parquet", "feather", "csv")
            if (form, way) not in {("export", "frame"), ("bundle", "csv")}
        ),
    ],
)
def test_hundreds_of_megabytes_of_repeats_takes_little_memory(
    export: Export, tmp_path: Path, form: str, way: str
) -> None:
    rows = 250 if way == "csv" else 500  # which pandas writes at 25 MB/s
    path = repeated(export, LETTERS, rows) if form == "export" else bundled(tmp_path, LETTERS, rows)
    command = [sys.executable, "-c", _CHILD, path, way, tmp_path]
    # A child begins with the peak of its parent, so it is started by a small one.
    starter = [
        sys.executable,
        "-c",
        "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
    ]
    done = subprocess.run(
        [*starter, *map(os.fspath, command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert int(done.stdout) < MOST_MIB


@pytest.mark.parametrize("form", ["export", "bundle"])
def test_more_text_than_a_table_may_stand_for_is_refused(
    export: Export, tmp_path: Path, form: str
) -> None:
    rows = MOST // SIZE + 2
    path = repeated(export, LETTERS, rows) if form == "export" else bundled(tmp_path, LETTERS, rows)
    for read in (lambda: read_flat(path), lambda: convert(path, tmp_path / "out.csv")):
        with pytest.raises(InputError, match="table holds more text than is read of one table"):
            read()
    assert not (tmp_path / "out.csv").exists()


def test_short_texts_are_not_counted() -> None:
    short = pa.array(["x" * LONG] * 3).dictionary_encode()
    long = pa.array(["x" * (LONG + 1), None, "y", "x" * (LONG + 1)])
    assert long_bytes(pa.chunked_array([short])) == 0
    assert long_bytes(pa.chunked_array([long])) == 2 * (LONG + 1)
    assert long_bytes(pa.chunked_array([long.dictionary_encode()])) == 2 * (LONG + 1)
    assert long_bytes(pa.chunked_array([[1, 2]])) == 0


def test_a_portion_has_one_row_at_least() -> None:
    text = "x" * (AT_ONCE // 2)
    coded = pa.chunked_array([pa.array([text, None, text, text + text, "x"]).dictionary_encode()])
    table = pa.table({"text": coded, "number": [1, 2, 3, 4, 5]})
    assert [one["number"].to_pylist() for one in portions(table)] == [[1, 2, 3], [4, 5]]
    assert [one.num_rows for one in portions(table.slice(0, 0))] == [0]
