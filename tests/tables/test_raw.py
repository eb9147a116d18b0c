"""Repeated schemas in a folder of exports: chosen by place or attributes, never glued."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.place import Choice
from tracekit.tables.tables import MissingTableError, Tables

Export = Callable[..., Path]
COLUMNS = "timestamp:event-time counter-id:uint32 name:gpu-counter-name"
ROW = (
    '<row><event-time id="1">0</event-time><uint32 id="2">{0}</uint32>'
    '<gpu-counter-name id="3">{1}</gpu-counter-name></row>'
)
TOC = """<trace-toc><run number="1"><data>
<table schema="tick" frequency="10"/>
<table schema="gpu-counter-info" counter-profile="0"/>
<table schema="gpu-counter-info" counter-profile="3" shader-profiler="1"/>
</data></run></trace-toc>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "toc.xml").write_text(TOC)
    return tmp_path / "exports"


def info(node: Callable[..., str], table: int, *rows: tuple[int, str]) -> str:
    cells = [ROW.format(*row) for row in rows]
    return node(COLUMNS, *cells, schema="gpu-counter-info", table=table)


@pytest.fixture
def two(document: Export, node: Callable[..., str], folder: Path) -> Path:
    """Write both tables of counters into one file."""
    document(
        info(node, 2, (0, "RT Unit Active")),
        info(node, 3, (0, "ALU Limiter"), (1, "F32 Limiter")),
        name="exports/info.xml",
    )
    return folder


@pytest.fixture
def apart(document: Export, node: Callable[..., str], folder: Path) -> Path:
    """Write each into a file of its own."""
    document(info(node, 2, (0, "RT Unit Active")), name="exports/info.xml")
    document(info(node, 3, (0, "ALU Limiter"), (1, "F32 Limiter")), name="exports/info-2.xml")
    return folder


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("how", ["two", "apart"])
def test_repeats_are_chosen_by_place_or_attributes(
    request: pytest.FixtureRequest, tmp_path: Path, how: str, kept: bool
) -> None:
    exports: Path = request.getfixturevalue(how)
    cache = tmp_path / "kept" if kept else None
    for _ in range(2):
        tables = Tables(exports, frozenset(), cache)
        with pytest.raises(InputError, match="2 tables of gpu-counter-info") as caught:
            tables.raw("gpu-counter-info")
        assert "run 1 table 2 (counter-profile=0) in info.xml" in caught.value.message
        assert "run 1 table 3 (counter-profile=3, shader-profiler=1)" in caught.value.message
        assert "--table" in caught.value.hint
        limiters = ["ALU Limiter", "F32 Limiter"]
        assert tables.raw("gpu-counter-info", table=3)["name"].tolist() == limiters
        assert tables.raw("gpu-counter-info", run=1, table=2)["name"].tolist() == ["RT Unit Active"]
        by_profile = tables.raw("gpu-counter-info", attributes={"counter-profile": "3"})
        assert by_profile["name"].tolist() == limiters
        assert tables.symbols("gpu-counter-info", table=3).stacks.num_rows == 0
        with pytest.raises(InputError, match="no gpu-counter-info that is table 7"):
            tables.raw("gpu-counter-info", table=7)
        with pytest.raises(InputError, match="no gpu-counter-info that is run 2"):
            tables.raw("gpu-counter-info", run=2)
        assert tables.warnings == ()


def test_a_normalized_table_is_chosen_too(
    document: Export, node: Callable[..., str], tmp_path: Path
) -> None:
    row = (
        '<row><start-time id="1">{}</start-time><duration id="2">5</duration>'
        '<gpu-state id="3">Active</gpu-state></row>'
    )
    columns = "start:start-time duration:duration state:gpu-state"
    schema = "metal-gpu-state-intervals"
    document(
        node(columns, row.format(10), schema=schema),
        node(columns, row.format(20), schema=schema, table=2),
        node(columns, row.format(30), schema=schema).replace("run[1]", "run[2]"),
    )
    tables = Tables(tmp_path, frozenset(), only=Choice(1))
    assert [str(one.place) for one in tables.repeated("gpu_states")] == [
        "run 1 table 1",
        "run 1 table 2",
    ]
    with pytest.raises(InputError, match="2 tables of metal-gpu-state-intervals"):
        tables["gpu_states"]
    assert tables.chosen("gpu_states", table=2)["start"].tolist() == [20]
    assert tables.chosen("gpu_states", run=1, table=1)["start"].tolist() == [10]
    with pytest.raises(InputError, match="that is run 2; it has run 1 table 1"):
        tables.chosen("gpu_states", run=2)
    assert Tables(tmp_path, frozenset())["gpu_states"]["start"].tolist() == [30]
    assert tables.repeated("gpu_intervals") == ()
    with pytest.raises(MissingTableError):
        tables.repeated("gpu_state")
    with pytest.raises(MissingTableError):
        tables.chosen("gpu_intervals", run=1)
