"""Tables that are read directly from a bundle: which there are, and what wins over them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bundle_writer import Issue, Run, RunInfo, write_bundle, write_runs
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import InputError
from tracekit.tables.cache import keep_bundle_tables
from tracekit.tables.direct import Listed, Stored
from tracekit.tables.exports import index
from tracekit.tables.losses import Flaw
from tracekit.tables.notes import DirectNote
from tracekit.tables.of_bundle import leave_in_place, losses_of_run, tables_of_bundle
from tracekit.tables.place import Choice
from tracekit.tables.tables import Tables

Xml = Callable[..., str]
GPU = "metal-gpu-intervals"
RUN = """<run number="1"><data>
<table schema="tick" frequency="10"/>
<table schema="metal-gpu-intervals" target-pid="ALL"/>
<table schema="tick" frequency="1"/>
<table schema="tick"/>
</data></run>"""


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    tables = [
        ticks([5, 1]),
        intervals((10, 5, PYTHON), (0, 10, SERVER), **{"target-pid": "ALL"}),
        ticks([7], {"frequency": 10}),
        ticks([], {"frequency": 1}),
    ]
    write_bundle(tmp_path / "recording.trace", tables)
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "toc.xml").write_text(f"<trace-toc>{RUN}</trace-toc>")
    DirectNote("../recording.trace").save(folder)
    return folder


def damage(listed: Listed) -> Stored:
    assert isinstance(listed.ref, Stored)
    listed.ref.file.with_name("schema.xml").write_bytes(b"<nonsense")
    return listed.ref


def test_places_are_those_of_the_table_of_contents(exports: Path) -> None:
    tick_tables = index(exports).tables["tick"]
    assert {str(listed.place): dict(listed.attributes) for listed in tick_tables} == {
        "run 1 table 4": {},
        "run 1 table 1": {"frequency": "10"},
        "run 1 table 3": {"frequency": "1"},
    }
    raw = Tables(exports)
    assert raw.flat("tick", Choice(table=1)).frame["time"].tolist() == [7]
    with pytest.raises(InputError, match=r"run 1 table 4; run 1 table"):
        raw.flat("tick")
    DirectNote("../recording.trace", ("metal-gpu-intervals", "absent")).save(exports)
    assert [*index(exports).tables] == ["metal-gpu-intervals"]


@pytest.mark.parametrize(
    ("place", "from_bundle"),
    [
        ("run[1]/data[1]/table[2]", 0),
        ("run[2]/data[1]/table[2]", 1),
        ("run[1]/data[1]/table[1]", 0),
    ],
    ids=["the same", "another run's", "an unknown one"],
)
def test_an_export_of_the_same_or_an_unknown_place_wins(
    exports: Path, intervals_xml: Xml, place: str, from_bundle: int
) -> None:
    second = RUN.replace('number="1"', 'number="2"')
    (exports / "toc.xml").write_text(f"<trace-toc>{RUN}{second}</trace-toc>")
    xml = intervals_xml([(99, 1, 4711, "python3")]).replace("run[1]/data[1]/table[1]", place)
    (exports / "gpu.xml").write_text(xml)
    first_table, *other_tables = index(exports).tables[GPU]
    assert first_table.ref == exports / "gpu.xml"
    assert [listed.place.run for listed in other_tables] == [1] * from_bundle
    assert Tables(exports, frozenset())["gpu_intervals"]["start"].tolist() == [99]
    assert len(index(exports).tables["tick"]) == 3


def test_a_note_that_cannot_be_read_is_an_error(tmp_path: Path, subtests: pytest.Subtests) -> None:
    assert DirectNote.read(tmp_path) is None
    for text, message in (
        *((text, DirectNote.FILE) for text in ("", "{", "[]", '{"schemas": []}', '{"bundle": 1}')),
        ('{"bundle": "x", "format": 99}', "format 99"),
    ):
        with subtests.test(text):
            (tmp_path / DirectNote.FILE).write_text(text)
            with pytest.raises(InputError, match=message):
                index(tmp_path)


def test_rows_of_the_target_that_a_bundle_names_are_known(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [intervals((10, 5, PYTHON), (0, 10, SERVER))])
    assert tables_of_bundle(bundle)["gpu_intervals"]["target"].tolist() == [False, True]


def test_of_each_run_its_own_is_said_and_a_bundle_elsewhere_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = RunInfo(instruments_version="")
    first_run = Run([ticks([5])], info=old, issues=(Issue("a"), Issue("b")))
    bundle = write_runs(tmp_path / "two.trace", {1: first_run, 3: Run([ticks([6])], issues=())})
    assert [len(losses_of_run(bundle, number)) for number in (1, 3)] == [3, 0]
    warnings_by_run = [tables_of_bundle(bundle, Choice(run)).warnings for run in (1, 3)]
    assert ["not verified" in " ".join(warnings) for warnings in warnings_by_run] == [True, False]
    monkeypatch.chdir(tmp_path)
    leave_in_place(Path(bundle.name), tmp_path / "run" / "exports")
    monkeypatch.chdir(tmp_path / "run")
    assert Tables(tmp_path / "run" / "exports").raw("tick")["time"].tolist() == [6]


def test_a_bundle_that_is_gone_is_said(exports: Path) -> None:
    (exports.parent / "recording.trace").rename(exports.parent / "elsewhere")
    raw = Tables(exports)
    assert raw.schemas == ()
    [warning] = raw.warnings
    assert warning.startswith("Tables of recording.trace are not read: ")
    assert keep_bundle_tables(exports, exports.parent / "kept", "") == ([], warning)
    assert [loss.flaw for loss in raw.losses] == [Flaw.DAMAGED]


def test_a_table_that_cannot_be_read_is_not_empty(exports: Path) -> None:
    [whole_table] = index(exports).tables[GPU]
    ref = damage(whole_table)
    [broken] = index(exports).tables[GPU]
    assert broken.unreadable
    assert broken.ref == ref
    tables = Tables(exports, frozenset())
    assert "gpu_intervals" in tables
    with pytest.raises(InputError, match=r"schema\.xml is not XML"):
        tables["gpu_intervals"]


def test_of_several_the_one_that_can_be_read_is_taken_and_the_other_named(exports: Path) -> None:
    damage(index(exports).tables["tick"][0])
    raw = Tables(exports)
    assert raw.flat("tick").frame["time"].tolist() == [7]
    [warning, _] = raw.warnings
    assert warning.startswith("tick (store 0) of run 1 is left out: ")
    assert "is not XML" in warning


def test_a_table_that_cannot_be_read_counts_before_one_without_rows(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([]), ticks([1])])
    damage(index(bundle).tables["tick"][1])
    with pytest.raises(InputError, match="is not XML"):
        Tables(bundle).flat("tick")
