"""Tables that are read directly from a bundle: which there are, and what wins over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import InputError
from tracekit.tables.direct import DIRECT_NOTE, Direct, Listed, Stored, direct, note_direct
from tracekit.tables.drift import Flaw
from tracekit.tables.exports import index
from tracekit.tables.place import Choice
from tracekit.tables.tables import Tables

Xml = Callable[..., str]
TABLES = [
    ticks([5, 1]),
    intervals((10, 5, PYTHON), (0, 10, SERVER), **{"target-pid": "ALL"}),
    ticks([7], {"frequency": 10}),
    ticks([], {"frequency": 1}),
]
TOC = """<trace-toc><run number="1"><data>
<table schema="tick" frequency="10"/>
<table schema="metal-gpu-intervals" target-pid="ALL"/>
<table schema="tick" frequency="1"/>
<table schema="tick"/>
</data></run></trace-toc>"""


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """The exports of a run whose tables are read directly."""
    write_bundle(tmp_path / "recording.trace", TABLES)
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "toc.xml").write_text(TOC)
    note_direct(folder, Direct("../recording.trace"))
    return folder


def stored(listed: Listed) -> Stored:
    assert isinstance(listed.ref, Stored)
    return listed.ref


def test_places_are_those_of_the_table_of_contents(exports: Path) -> None:
    found = index(exports)
    ticks = {str(one.place): dict(one.attributes) for one in found.tables["tick"]}
    assert ticks == {
        "run 1 table 4": {},
        "run 1 table 1": {"frequency": "10"},
        "run 1 table 3": {"frequency": "1"},
    }
    raw = Tables(exports)
    assert raw.flat("tick", Choice(table=1)).part()["time"].tolist() == [7]
    with pytest.raises(InputError, match=r"run 1 table 4; run 1 table"):
        raw.flat("tick")


def test_an_export_of_the_same_place_wins(exports: Path, intervals_xml: Xml) -> None:
    xml = intervals_xml([(99, 1, 4711, "python3")]).replace("table[1]", "table[2]")
    (exports / "gpu.xml").write_text(xml)
    [only] = index(exports).tables["metal-gpu-intervals"]
    assert only.ref == exports / "gpu.xml"
    assert Tables(exports, frozenset())["gpu_intervals"]["start"].tolist() == [99]


def test_an_export_of_the_same_place_in_another_run_wins_nothing(
    exports: Path, intervals_xml: Xml
) -> None:
    second = TOC[TOC.index("<run") :].replace('number="1"', 'number="2"')
    (exports / "toc.xml").write_text(
        TOC.replace("</run>", f"</run>{second}", 1).rpartition("</t")[0]
    )
    xml = intervals_xml([(99, 1, 4711, "python3")])
    (exports / "gpu.xml").write_text(
        xml.replace("run[1]", "run[2]").replace("table[1]", "table[2]")
    )
    found = index(exports).tables["metal-gpu-intervals"]
    assert [one.place.run for one in found] == [2, 1]


def test_an_export_of_an_unknown_place_wins_for_its_schema(
    exports: Path, intervals_xml: Xml
) -> None:
    (exports / "gpu.xml").write_text(intervals_xml([(99, 1, 4711, "python3")]))
    [only] = index(exports).tables["metal-gpu-intervals"]
    assert only.ref == exports / "gpu.xml"
    assert len(index(exports).tables["tick"]) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schemas": []}', '{"bundle": 1}'])
def test_a_note_that_cannot_be_read_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / DIRECT_NOTE).write_text(text)
    with pytest.raises(InputError, match=DIRECT_NOTE):
        index(tmp_path)


def test_a_newer_note_is_refused(tmp_path: Path) -> None:
    assert direct(tmp_path) is None
    (tmp_path / DIRECT_NOTE).write_text('{"bundle": "x", "format": 99}')
    with pytest.raises(InputError, match="format 99"):
        direct(tmp_path)


def test_a_bundle_that_is_gone_is_said(exports: Path) -> None:
    (exports.parent / "recording.trace").rename(exports.parent / "elsewhere")
    raw = Tables(exports)
    assert raw.schemas == ()
    [said] = raw.warnings
    assert said.startswith("Tables of recording.trace are not read: ")
    assert [one.flaw for one in raw.remarks] == [Flaw.UNREADABLE]


def test_a_table_that_cannot_be_read_is_not_empty(exports: Path) -> None:
    bundle = exports.parent / "recording.trace"
    [one] = index(exports).tables["metal-gpu-intervals"]
    stored(one).file.with_name("schema.xml").write_bytes(b"<nonsense")
    [broken] = index(exports).tables["metal-gpu-intervals"]
    assert broken.unreadable
    assert stored(broken).bundle == bundle
    tables = Tables(exports, frozenset())
    assert "gpu_intervals" in tables
    with pytest.raises(InputError, match=r"schema\.xml is no XML"):
        tables["gpu_intervals"]


def test_of_several_the_one_that_can_be_read_is_taken_and_the_other_named(exports: Path) -> None:
    first, _, _ = index(exports).tables["tick"]
    stored(first).file.with_name("schema.xml").write_bytes(b"<nonsense")
    raw = Tables(exports)
    assert raw.flat("tick").part()["time"].tolist() == [7]
    [said, _] = raw.warnings
    assert said.startswith("tick (store 0) of run 1 is left out: ")
    assert "is no XML" in said
