"""The tables of a folder of exports: lazy, chosen, never glued; what is missing is said."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, TracekitError
from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.place import Choice
from tracekit.tables.tables import MissingTableError, Tables

STATES = (
    "start:start-time duration:duration state:gpu-state label:formatted-label "
    "color:render-buffer-depth num-events:uint32 gpu:metal-device-name"
)
STATE = (
    '<row><start-time id="1">{}</start-time><duration id="2">5</duration>'
    '<gpu-state id="3">Active</gpu-state><sentinel/><sentinel/><uint32 id="4">2</uint32>'
    '<metal-device-name id="5">M1</metal-device-name></row>'
)
STATES_SCHEMA = "metal-gpu-state-intervals"
INTERVALS = "start:start-time duration:duration process:process"
INTERVAL = (
    '<row><start-time id="1">{start}</start-time><duration id="2">5</duration>'
    '<process id="3" fmt="App ({pid})"><pid id="4">{pid}</pid></process></row>'
)
Export = Callable[..., Path]
Node = Callable[..., str]


def cells(columns: str, texts: str) -> str:
    types = [column.split(":")[1] for column in columns.split()]
    pairs = zip(types, texts.split(), strict=True)
    return f"<row>{''.join(f'<{kind}>{text}</{kind}>' for kind, text in pairs)}</row>"


@pytest.fixture
def states(export: Export) -> Path:
    rows = (STATE.format(10), STATE.format(20))
    return export(STATES, *rows, schema=STATES_SCHEMA, name="states.xml")


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
    assert [name in tables for name in ("gpu_states", "gpu_counters", STATES_SCHEMA, 7)] == [
        True,
        False,
        False,
        False,
    ]
    assert tables.get("gpu_counters") is None
    assert tables["gpu_states"]["start"].tolist() == [10, 20]
    assert tables.schemas == ("host-intervals", "metal-gpu-intervals", STATES_SCHEMA)


def test_the_first_source_that_is_there_counts(both: Path) -> None:
    for start, clock in ((100, "gpu"), (200, "host")):
        intervals = Tables(both, frozenset({7}))["gpu_intervals"]
        assert intervals["start"].tolist() == [start, start + 1]
        assert intervals["clock"].tolist() == [clock, clock]
        assert intervals["target"].tolist() == [True, False]
        (both / "metal-gpu-intervals.xml").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        (
            "submissions",
            "no export of metal-application-command-buffer-submissions or host-submissions",
            "Export",
        ),
        ("gpu_interval", "There is no table 'gpu_interval'", "gpu_intervals"),
        ("zzz", "There is no table 'zzz'", "gpu_states"),
    ],
)
def test_a_missing_table_says_what_would_give_it(
    both: Path, name: str, said: str, hint: str
) -> None:
    with pytest.raises(MissingTableError, match=said) as caught:
        Tables(both, frozenset())[name]
    assert hint in caught.value.hint
    assert isinstance(caught.value, TracekitError)
    assert isinstance(caught.value, KeyError)


def test_two_recordings_in_one_folder_are_not_mixed(states: Path) -> None:
    (states.parent / "again.xml").write_bytes(states.read_bytes())
    with pytest.raises(InputError, match=r"1 in again\.xml; run 1 table 1 in states\.xml"):
        Tables(states.parent, frozenset())["gpu_states"]


def test_a_callers_change_changes_no_other_frame(states: Path) -> None:
    tables = Tables(states.parent, frozenset())
    for take in (lambda: tables["gpu_states"], lambda: tables.raw(STATES_SCHEMA)):
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
    empty = states.with_name("empty.xml")
    empty.touch()
    tables = Tables(states.parent, frozenset())
    assert tables.remarks == (Remark(Flaw.DAMAGED, "", "", (), "empty.xml is empty."),)
    assert tables.warnings == (f"empty.xml is left out: {empty} is empty.",)
    for _ in range(2):
        assert len(tables["gpu_states"]) == 1
    assert tables["gpu_intervals"]["label"].isna().all()
    _, damaged, unknown = tables.warnings
    assert damaged.startswith(f"states.xml: {STATES_SCHEMA} is damaged after row 1: ")
    assert unknown == "host-intervals: columns that tracekit does not know: odd"
    assert [(remark.flaw, remark.table, remark.columns) for remark in tables.remarks[1:]] == [
        (Flaw.DAMAGED, "", ()),
        (Flaw.UNKNOWN, "gpu_intervals", ("odd",)),
    ]


def test_reading_is_put_off_until_a_table_is_asked_for(states: Path) -> None:
    broken = "<trace-query-result><node><schema name='metal-gpu-intervals'/><a"
    states.with_name("broken.xml").write_text(broken)
    tables = Tables(states.parent, frozenset())
    assert "gpu_intervals" in tables
    assert len(tables["gpu_states"]) == 2
    with pytest.raises(InputError, match="damaged before its first table"):
        tables["gpu_intervals"]
    assert tables.warnings == ()


INFO = "timestamp:event-time counter-id:uint32 name:gpu-counter-name"
INFO_SCHEMA = "gpu-counter-info"
TOC = """<trace-toc><run number="1"><data>
<table schema="tick" frequency="10"/>
<table schema="gpu-counter-info" counter-profile="0"/>
<table schema="gpu-counter-info" counter-profile="3" shader-profiler="1"/>
</data></run></trace-toc>"""


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("files", ["one file", "two files"])
def test_repeats_are_chosen_by_place_or_attributes(
    document: Export, node: Node, tmp_path: Path, files: str, kept: bool
) -> None:
    nodes = [
        node(INFO, cells(INFO, "0 0 Tracing"), schema=INFO_SCHEMA, table=2),
        node(INFO, cells(INFO, "0 0 ALU"), cells(INFO, "0 1 F32"), schema=INFO_SCHEMA, table=3),
    ]
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "toc.xml").write_text(TOC)
    for number, inside in enumerate([nodes] if files == "one file" else [[one] for one in nodes]):
        document(*inside, name=f"exports/info-{number}.xml")
    for _ in range(2):
        tables = Tables(tmp_path / "exports", frozenset(), tmp_path / "kept" if kept else None)
        with pytest.raises(InputError, match="2 tables of gpu-counter-info") as caught:
            tables.raw(INFO_SCHEMA)
        assert "run 1 table 2 (counter-profile=0) in info-0.xml" in caught.value.message
        assert "run 1 table 3 (counter-profile=3, shader-profiler=1)" in caught.value.message
        assert "--table" in caught.value.hint
        assert tables.raw(INFO_SCHEMA, run=1, table=2)["name"].tolist() == ["Tracing"]
        by_profile = tables.raw(INFO_SCHEMA, attributes={"counter-profile": "3"})
        for chosen in (tables.raw(INFO_SCHEMA, table=3), by_profile):
            assert chosen["name"].tolist() == ["ALU", "F32"]
        assert tables.symbols(INFO_SCHEMA, table=3).stacks.num_rows == 0
        with pytest.raises(InputError, match="no gpu-counter-info that is table 7"):
            tables.raw(INFO_SCHEMA, table=7)
        with pytest.raises(InputError, match="no gpu-counter-info that is run 2"):
            tables.raw(INFO_SCHEMA, run=2)
        assert tables.warnings == ()


def test_a_normalized_table_is_chosen_too(document: Export, node: Node, tmp_path: Path) -> None:
    document(
        node(STATES, STATE.format(10), schema=STATES_SCHEMA),
        node(STATES, STATE.format(20), schema=STATES_SCHEMA, table=2),
        node(STATES, STATE.format(30), schema=STATES_SCHEMA).replace("run[1]", "run[2]"),
    )
    tables = Tables(tmp_path, frozenset(), only=Choice(1))
    places = [str(listed.place) for listed in tables.repeated("gpu_states")]
    assert places == ["run 1 table 1", "run 1 table 2"]
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


VALUES = (
    "timestamp:event-time counter-id:uint32 value:fixed-decimal accelerator-id:uint64 "
    "sample-index:uint32 ring-buffer-index:uint32"
)
INFOS = (
    "timestamp:event-time counter-id:uint32 name:gpu-counter-name max-value:uint64 "
    "accelerator-id:uint64 description:string group-index:uint32 type:string "
    "ring-buffer-count:uint32 require-weighted-accumulation:boolean sample-interval:uint32"
)
COUNTERS = (
    "start:start-time duration:duration counter-id:uint32 name:gpu-counter-name "
    "label:formatted-label value:fixed-decimal percent-value:percent color:uint32 "
    "gpu:metal-device-name group-index:uint32 is-percentage:boolean ring-buffer-index:uint32"
)
OCCUPANCY = cells(INFOS, "0 3 Occupancy 100 1848 x 1 Percentage 1 0 0")


def test_counters_that_exist_only_as_values_are_named(export: Export) -> None:
    export(COUNTERS, schema="metal-gpu-counter-intervals", name="intervals.xml")
    value = cells(VALUES, "5 3 26.250000000 1848 0 0")
    export(VALUES, value, schema="gpu-counter-value", name="values.xml")
    folder = export(INFOS, OCCUPANCY, schema=INFO_SCHEMA, name="infos.xml").parent
    tables = Tables(folder, frozenset())
    assert {"gpu_counters", "gpu_counters_wide", "gpu_counter_summaries"} <= set(tables)
    assert tables["gpu_counters"]["counter"].tolist() == ["Occupancy"]
    assert tables["gpu_counters_wide"]["Occupancy"].tolist() == [26.25]
    assert tables["gpu_counter_summaries"]["unit"].tolist() == ["percent"]
    assert tables.warnings == ()
    (folder / "infos.xml").unlink()
    assert len(Tables(folder, frozenset())["gpu_counters"]) == 0
    (folder / "intervals.xml").unlink()
    with pytest.raises(MissingTableError, match="no export of metal-gpu-counter-intervals"):
        Tables(folder, frozenset())["gpu_counters"]


def test_the_counters_of_two_profiles_are_one_table(
    document: Export, node: Node, export: Export
) -> None:
    bandwidth = cells(INFOS, "0 58 Bandwidth 100 1848 x 1 Value 1 0 0")
    nodes = (
        node(INFOS, OCCUPANCY, schema=INFO_SCHEMA, table=4),
        node(INFOS, OCCUPANCY, bandwidth, schema=INFO_SCHEMA, table=9),
    )
    folder = document(*nodes, name="infos.xml").parent
    value = cells(VALUES, "5 58 2.500000000 1848 0 0")
    export(VALUES, value, schema="gpu-counter-value", name="values.xml")
    tables = Tables(folder, frozenset())
    assert tables["gpu_counter_infos"]["name"].tolist() == ["Occupancy", "Occupancy", "Bandwidth"]
    assert tables["gpu_counters"]["counter"].tolist() == ["Bandwidth"]
    assert tables.warnings == ()


PHASES = "start:start-time duration:duration name:string"
SIGNPOSTS = (
    "start:start-time duration:duration layout-qualifier:layout-id name:string category:category "
    "subsystem:subsystem identifier:os-signpost-identifier process:process end-process:process "
    "start-thread:thread end-thread:thread start-message:os-log-metadata "
    "end-message:os-log-metadata start-backtrace:text-backtrace end-backtrace:text-backtrace "
    "start-emit-location:return-location end-emit-location:return-location "
    "signature:os-log-metadata"
)
SIGNPOST = (
    '<row><start-time id="1">200</start-time><duration id="2">5</duration><sentinel/>'
    '<string id="3">steady</string><category id="4">phases</category>'
    '<subsystem id="5">{}</subsystem><os-signpost-identifier id="6">1</os-signpost-identifier>'
    '<process id="7" fmt="App (7)"><pid id="8">7</pid></process>' + "<sentinel/>" * 10 + "</row>"
)


def test_a_program_s_own_signposts_are_its_phases_before_the_worker_s_marks(
    export: Export,
) -> None:
    marks = cells(PHASES, "100 9 steady")
    folder = export(PHASES, marks, schema="host-phases", name="phases.xml").parent
    for subsystem, expected in (("tracekit", [200]), ("com.example", [100])):
        row = SIGNPOST.format(subsystem)
        export(SIGNPOSTS, row, schema="os-signpost-interval", name="signposts.xml")
        tables = Tables(folder, frozenset({7}))
        assert tables["phases"]["start"].tolist() == expected
        assert tables.warnings == ()
    assert Tables(folder, frozenset({8}))["phases"]["clock"].tolist() == ["host"]
