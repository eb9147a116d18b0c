"""The tables of a folder of exports: lazy, kept, and honest about what is missing."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError, TracekitError
from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.tables import MissingTableError, Tables

STATES = (
    "start:start-time duration:duration state:gpu-state label:formatted-label "
    "color:render-buffer-depth num-events:uint32 gpu:metal-device-name"
)
ROW = (
    '<row><start-time id="1">{}</start-time><duration id="2">5</duration>'
    '<gpu-state id="3">Active</gpu-state><sentinel/><sentinel/><uint32 id="4">2</uint32>'
    '<metal-device-name id="5">M1</metal-device-name></row>'
)
INTERVALS = "start:start-time duration:duration process:process"
INTERVAL = (
    '<row><start-time id="1">{start}</start-time><duration id="2">5</duration>'
    '<process id="3" fmt="App ({pid})"><pid id="4">{pid}</pid></process></row>'
)
Export = Callable[..., Path]


@pytest.fixture
def states(export: Export) -> Path:
    return export(
        STATES,
        ROW.format(10),
        ROW.format(20),
        schema="metal-gpu-state-intervals",
        name="states.xml",
    )


@pytest.fixture
def both(states: Path, export: Export) -> Path:
    """Write the GPU's intervals, and the host recorder's beside them."""
    for schema, start in (("metal-gpu-intervals", 100), ("host-intervals", 200)):
        rows = (INTERVAL.format(start=start, pid=7), INTERVAL.format(start=start + 1, pid=420))
        export(INTERVALS, *rows, schema=schema, name=f"{schema}.xml")
    return states.parent


def test_tables_are_a_mapping_of_what_is_there(both: Path) -> None:
    tables = Tables(both, frozenset({7}))
    assert isinstance(tables, Mapping)
    assert list(tables) == ["command_buffers", "gpu_intervals", "gpu_states", "gpu_jobs"]
    assert len(tables) == 4
    assert "gpu_states" in tables
    assert "gpu_counters" not in tables
    assert "metal-gpu-intervals" not in tables
    assert 7 not in tables
    assert tables.get("gpu_counters") is None
    assert tables["gpu_states"]["start"].tolist() == [10, 20]
    assert tables.schemas == (
        "host-intervals",
        "metal-gpu-intervals",
        "metal-gpu-state-intervals",
    )


def test_the_first_source_that_is_there_counts(both: Path) -> None:
    intervals = Tables(both, frozenset({7}))["gpu_intervals"]
    assert intervals["clock"].tolist() == ["gpu", "gpu"]
    assert intervals["target"].tolist() == [True, False]
    (both / "metal-gpu-intervals.xml").unlink()
    intervals = Tables(both, frozenset({7}))["gpu_intervals"]
    assert intervals["start"].tolist() == [200, 201]
    assert intervals["clock"].tolist() == ["host", "host"]


def test_a_missing_table_says_what_would_give_it(both: Path) -> None:
    tables = Tables(both, frozenset())
    with pytest.raises(MissingTableError) as caught:
        tables["submissions"]
    assert "no export of metal-application-command-buffer-submissions or host-submissions" in str(
        caught.value
    )
    assert "Export" in caught.value.hint
    assert isinstance(caught.value, TracekitError)
    assert isinstance(caught.value, KeyError)


def test_an_unknown_table_says_which_ones_are_near(both: Path) -> None:
    with pytest.raises(MissingTableError, match="There is no table 'gpu_interval'") as caught:
        Tables(both, frozenset())["gpu_interval"]
    assert "gpu_intervals" in caught.value.hint
    with pytest.raises(MissingTableError) as caught:
        Tables(both, frozenset())["zzz"]
    assert "gpu_states" in caught.value.hint


def test_two_recordings_in_one_folder_are_not_mixed(states: Path) -> None:
    (states.parent / "again.xml").write_bytes(states.read_bytes())
    with pytest.raises(InputError, match=r"1 in again\.xml; run 1 table 1 in states\.xml"):
        Tables(states.parent, frozenset())["gpu_states"]


def test_a_callers_change_changes_no_other_frame(states: Path) -> None:
    tables = Tables(states.parent, frozenset())
    for take in (lambda: tables["gpu_states"], lambda: tables.raw("metal-gpu-state-intervals")):
        mine = take()
        mine.loc[0, "start"] = 99
        mine["new"] = 1
        mine.index = [1, 0]
        assert take()["start"].tolist() == [10, 20]
        assert "new" not in take()


def test_readers_are_heard(states: Path, export: Export) -> None:
    states.write_text(states.read_text().partition("</node>")[0][:-10])
    export(
        "start:start-time duration:duration odd:string process:process",
        "<row><start-time>1</start-time><duration>2</duration><string>x</string><sentinel/></row>",
        schema="host-intervals",
        name="intervals.xml",
    )
    tables = Tables(states.parent, frozenset())
    assert tables.warnings == ()
    assert len(tables["gpu_states"]) == 1
    assert len(tables.warnings) == 1
    assert tables.warnings[0].startswith(
        "states.xml: metal-gpu-state-intervals is damaged after row 1: "
    )
    assert tables["gpu_intervals"]["label"].isna().all()
    assert "host-intervals: columns that tracekit does not know: odd" in tables.warnings
    assert len(tables["gpu_states"]) == 1
    assert len(tables.warnings) == 2
    assert [(one.flaw, one.table, one.columns) for one in tables.remarks] == [
        (Flaw.DAMAGED, "", ()),
        (Flaw.UNKNOWN, "gpu_intervals", ("odd",)),
    ]


def test_a_file_with_nothing_in_it_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "metal-gpu-intervals.xml").touch()
    [remark] = Tables(tmp_path, frozenset()).remarks
    assert remark == Remark(Flaw.DAMAGED, "", "", (), "metal-gpu-intervals.xml is empty.")


def kept(folder: Path) -> list[Path]:
    """Return the kept tables, without the notes beside them."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    assert [one for one in files if one.suffix == ".json"] == [
        one.with_suffix(".json") for one in files if one.suffix == ".parquet"
    ]
    return [one for one in files if one.suffix == ".parquet"]


def test_a_cache_with_a_changed_byte_gives_no_wrong_value(states: Path, tmp_path: Path) -> None:
    cache = tmp_path / "tables"
    frame = Tables(states.parent, frozenset(), cache)["gpu_states"]
    (file,) = kept(cache)
    whole = file.read_bytes()
    for place in range(0, len(whole), 40):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        file.write_bytes(changed)
        again = Tables(states.parent, frozenset(), cache)["gpu_states"]
        pd.testing.assert_frame_equal(again, frame)


def test_reading_is_put_off_until_a_table_is_asked_for(states: Path) -> None:
    broken = states.with_name("broken.xml")
    broken.write_text("<trace-query-result><node><schema name='metal-gpu-intervals'/><a")
    tables = Tables(states.parent, frozenset())
    assert "gpu_intervals" in tables
    assert len(tables["gpu_states"]) == 2
    with pytest.raises(InputError, match="damaged before its first table"):
        tables["gpu_intervals"]
    assert os.fspath(broken) not in "".join(tables.warnings)
