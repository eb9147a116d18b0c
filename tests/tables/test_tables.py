"""The tables of a folder of exports: lazy, chosen, never glued; what is missing is said."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, TracekitError
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.place import Choice
from tracekit.tables.tables import MissingTableError, Tables
from tracekit.tables.toc import Toc, TocRun, toc_text

GOLDEN = Path(__file__).parent / "goldens/schemas.txt"
COLUMNS = dict(line.split(": ") for line in GOLDEN.read_text(encoding="utf-8").splitlines())
STATES = "metal-gpu-state-intervals"
INFOS, VALUES = "gpu-counter-info", "gpu-counter-value"
Export = Callable[..., Path]
Node = Callable[..., str]


def row(schema: str, texts: str) -> str:
    """Write a row of a schema; a dash is null, and a process is named by its pid."""

    def cell(column: str, text: str) -> str:
        tag = column.split(":")[1]
        if text == "-":
            return "<sentinel/>"
        content = f"<pid>{text}</pid>" if tag == "process" else text
        return f"<{tag} fmt='App ({text})'>{content}</{tag}>"

    pairs = zip(COLUMNS[schema].split(), texts.split(), strict=True)
    return f"<row>{''.join(cell(*pair) for pair in pairs)}</row>"


def write(export: Export, schema: str, *texts: str) -> Path:
    rows = (row(schema, text) for text in texts)
    return export(COLUMNS[schema], *rows, schema=schema, name=f"{schema}.xml").parent


@pytest.fixture
def states(export: Export) -> Path:
    return write(export, STATES, "10 5 Active - - 2 M1", "20 5 Active - - 2 M1") / f"{STATES}.xml"


@pytest.fixture
def both(states: Path, export: Export) -> Path:
    columns = "start:start-time duration:duration process:process"
    for schema, start in (("metal-gpu-intervals", 100), ("host-intervals", 200)):
        rows = (
            f"<row><start-time>{start + number}</start-time><duration>5</duration>"
            f"<process fmt='App ({pid})'><pid>{pid}</pid></process></row>"
            for number, pid in enumerate((7, 420))
        )
        export(columns, *rows, schema=schema, name=f"{schema}.xml")
    return states.parent


def test_tables_are_a_mapping_of_existing_tables(both: Path) -> None:
    tables = Tables(both, frozenset({7}))
    assert isinstance(tables, Mapping)
    assert list(tables) == ["command_buffers", "gpu_intervals", "gpu_states", "gpu_jobs", "losses"]
    assert len(tables) == 5
    there = [name for name in ("gpu_states", "gpu_counters", STATES, 7) if name in tables]
    assert there == ["gpu_states"]
    assert tables.get("gpu_counters") is None
    assert tables["gpu_states"]["start"].tolist() == [10, 20]
    assert tables.schemas == ("host-intervals", "metal-gpu-intervals", STATES)


def test_the_first_source_that_is_there_counts(both: Path) -> None:
    for start, clock in ((100, "gpu"), (200, "host")):
        intervals = Tables(both, frozenset({7}))["gpu_intervals"]
        assert intervals["start"].tolist() == [start, start + 1]
        assert intervals["clock"].tolist() == [clock, clock]
        assert intervals["target"].tolist() == [True, False], start
        (both / "metal-gpu-intervals.xml").unlink(missing_ok=True)


def test_a_missing_table_names_its_remedy(both: Path, subtests: pytest.Subtests) -> None:
    for name, message, hint in (
        (
            "submissions",
            "no export of metal-application-command-buffer-submissions or host-submissions",
            "Export",
        ),
        ("gpu_interval", "There is no table 'gpu_interval'", "gpu_intervals"),
        ("zzz", "There is no table 'zzz'", "gpu_states"),
    ):
        with subtests.test(name):
            with pytest.raises(MissingTableError, match=message) as caught:
                Tables(both, frozenset())[name]
            assert hint in caught.value.hint
            assert isinstance(caught.value, TracekitError)
            assert isinstance(caught.value, KeyError)


def test_two_recordings_in_one_folder_are_not_mixed(states: Path) -> None:
    (states.parent / "again.xml").write_bytes(states.read_bytes())
    with pytest.raises(
        InputError, match=r"1 in again\.xml; run 1 table 1 in metal-gpu-state-intervals\.xml"
    ):
        Tables(states.parent, frozenset())["gpu_states"]


def test_a_callers_change_changes_no_other_frame(states: Path) -> None:
    tables = Tables(states.parent, frozenset())
    for way, take in (
        ("by name", lambda: tables["gpu_states"]),
        ("raw", lambda: tables.raw(STATES)),
    ):
        mine = take()
        mine.loc[0, "start"] = 99
        mine["new"] = 1
        mine.index = [1, 0]
        assert take()["start"].tolist() == [10, 20], way
        assert "new" not in take()


def test_readers_are_heard(states: Path, export: Export) -> None:
    states.write_text(states.read_text().partition("</node>")[0][:-10])
    export(
        "start:start-time duration:duration odd:string process:process",
        "<row><start-time>1</start-time><duration>2</duration><string>x</string><sentinel/></row>",
        schema="host-intervals",
        name="intervals.xml",
    )
    export("n:uint32", "<row><uint32>x</uint32></row>", schema="odd", name="odd.xml")
    empty = states.with_name("empty.xml")
    empty.touch()
    tables = Tables(states.parent, frozenset())
    empty_message = "empty.xml is empty."
    assert tables.losses[0] == Loss(Flaw.DAMAGED, empty_message)
    unknown = "Exports that tracekit has no table for: odd"
    assert [text.partition(";")[0] for text in tables.warnings] == [empty_message, unknown]
    assert tables.raw("odd")["n"].tolist() == ["x"]
    for _ in range(2):
        assert len(tables["gpu_states"]) == 1
    assert tables["gpu_intervals"]["label"].isna().all()
    _, _, damaged, _, unknown = tables.warnings
    assert damaged.startswith(f"{STATES}.xml: {STATES} is damaged after row 1: ")
    assert unknown == "host-intervals: columns that tracekit does not know: odd"
    assert [(loss.flaw, loss.table, loss.columns) for loss in tables.losses[1:]] == [
        (Flaw.CHANGED, "", ()),
        (Flaw.DAMAGED, "", ()),
        (Flaw.NOTED, "", ()),
        (Flaw.UNKNOWN, "gpu_intervals", ("odd",)),
    ]


def test_reading_is_put_off_until_a_table_is_asked_for(states: Path) -> None:
    broken = "<trace-query-result><node><schema name='metal-gpu-intervals'/><a"
    states.with_name("broken.xml").write_text(broken)
    tables = Tables(states.parent, frozenset())
    assert "gpu_intervals" in tables
    assert len(tables["gpu_states"]) == 2
    assert tables.warnings == ()
    for _ in range(2):
        with pytest.raises(InputError, match="damaged before its first table"):
            tables["gpu_intervals"]
    [loss] = tables.losses
    assert (loss.flaw, loss.schema) == (Flaw.DAMAGED, "metal-gpu-intervals")


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
    tables = {2: ["Tracing"], 3: ["ALU", "F32"]}
    nodes = [
        node(
            COLUMNS[INFOS],
            *(
                row(INFOS, f"0 {number} {name} - - - - - - - -")
                for number, name in enumerate(names)
            ),
            schema=INFOS,
            table=table,
        )
        for table, names in tables.items()
    ]
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "toc.xml").write_text(TOC)
    for number, file_nodes in enumerate(
        [nodes] if files == "one file" else [[table_node] for table_node in nodes]
    ):
        document(*file_nodes, name=f"exports/info-{number}.xml")
    for _ in range(2):
        tables = Tables(tmp_path / "exports", frozenset(), tmp_path / "kept" if kept else None)
        with pytest.raises(InputError, match="2 tables of gpu-counter-info") as caught:
            tables.raw(INFOS)
        assert "run 1 table 2 (counter-profile=0) in info-0.xml" in caught.value.message
        assert "run 1 table 3 (counter-profile=3, shader-profiler=1)" in caught.value.message
        assert "--table" in caught.value.hint
        assert tables.raw(INFOS, run=1, table=2)["name"].tolist() == ["Tracing"]
        by_profile = tables.raw(INFOS, attributes={"counter-profile": "3"})
        for chosen in (tables.raw(INFOS, table=3), by_profile):
            assert chosen["name"].tolist() == ["ALU", "F32"]
        assert tables.symbols(INFOS, table=3).stacks.num_rows == 0
        with pytest.raises(InputError, match="no gpu-counter-info that is table 7"):
            tables.raw(INFOS, table=7)
        for read in (tables.raw, tables.symbols):
            with pytest.raises(InputError, match="no gpu-counter-info that is run 2"):
                read(INFOS, run=2)
        assert tables.warnings == ()


def test_a_normalized_table_is_chosen_too(document: Export, node: Node, tmp_path: Path) -> None:
    nodes = [
        node(COLUMNS[STATES], row(STATES, f"{start} 5 Active - - 2 M1"), schema=STATES, table=table)
        for start, table in ((10, 1), (20, 2), (30, 1))
    ]
    document(*nodes[:2], nodes[2].replace("run[1]", "run[2]"))
    runs = (TocRun(number, settings={"GPU": (f"Set: {number}",)}) for number in (1, 2))
    (tmp_path / "toc.xml").write_text(toc_text(Toc(tuple(runs))))
    tables = Tables(tmp_path, frozenset(), only=Choice(1))
    assert tables.settings == (("GPU", "Set: 1"),)
    places = [str(listed.place) for listed in tables.list_choices("gpu_states")]
    assert places == ["run 1 table 1", "run 1 table 2"]
    with pytest.raises(InputError, match="2 tables of metal-gpu-state-intervals"):
        tables["gpu_states"]
    assert tables.chosen("gpu_states", table=2)["start"].tolist() == [20]
    assert tables.chosen("gpu_states", run=1, table=1)["start"].tolist() == [10]
    with pytest.raises(InputError, match="that is run 2; it has run 1 table 1"):
        tables.chosen("gpu_states", run=2)
    assert Tables(tmp_path, frozenset())["gpu_states"]["start"].tolist() == [30]
    assert tables.list_choices("gpu_intervals") == ()
    with pytest.raises(MissingTableError):
        tables.list_choices("gpu_state")
    with pytest.raises(MissingTableError):
        tables.chosen("gpu_intervals", run=1)


OCCUPANCY, BANDWIDTH = (
    f"0 {counter} {name} 100 1848 x 1 {kind} 1 0 0"
    for counter, name, kind in ((3, "Occupancy", "Percentage"), (58, "Bandwidth", "Value"))
)


def test_counters_that_exist_only_as_values_are_named(export: Export) -> None:
    write(export, "metal-gpu-counter-intervals")
    write(export, VALUES, "5 3 26.25 1848 0 0")
    folder = write(export, INFOS, OCCUPANCY)
    tables = Tables(folder, frozenset())
    assert {"gpu_counters", "gpu_counters_wide", "gpu_counter_summaries"} <= set(tables)
    assert tables["gpu_counters"]["counter"].tolist() == ["Occupancy"]
    assert tables["gpu_counters_wide"]["Occupancy"].tolist() == [26.25]
    assert tables["gpu_counter_summaries"]["unit"].tolist() == ["percent"]
    assert tables.warnings == ()
    (folder / f"{INFOS}.xml").unlink()
    assert len(Tables(folder, frozenset())["gpu_counters"]) == 0
    (folder / "metal-gpu-counter-intervals.xml").unlink()
    with pytest.raises(MissingTableError, match="no export of metal-gpu-counter-intervals"):
        Tables(folder, frozenset())["gpu_counters"]


def test_the_counters_of_two_profiles_are_one_table(
    document: Export, node: Node, export: Export
) -> None:
    nodes = [
        node(COLUMNS[INFOS] + odd, *(row(INFOS, info) for info in infos), schema=INFOS, table=table)
        for table, infos, odd in ((4, [OCCUPANCY], ""), (9, [OCCUPANCY, BANDWIDTH], " odd:uint32"))
    ]
    nodes[1] = nodes[1].replace("</row>", "<uint32>1</uint32></row>")
    folder = document(*nodes, name="infos.xml").parent
    write(export, VALUES, "5 58 2.5 1848 0 0")
    tables = Tables(folder, frozenset())
    assert tables["gpu_counter_infos"]["name"].tolist() == ["Occupancy", "Occupancy", "Bandwidth"]
    assert tables["gpu_counters"]["counter"].tolist() == ["Bandwidth"]
    assert tables.warnings == (f"{INFOS}: columns that tracekit does not know: odd",)


def test_a_program_s_own_signposts_are_its_phases_before_the_worker_s_marks(export: Export) -> None:
    marks = "<row><start-time>100</start-time><duration>9</duration><string>steady</string></row>"
    columns = "start:start-time duration:duration name:string"
    export(columns, marks, schema="host-phases", name="phases.xml")
    for subsystem, pid, start, clock in (
        ("tracekit", 7, 200, "gpu"),
        ("com.example", 7, 100, "host"),
        ("tracekit", 8, 100, "host"),  # another process's
    ):
        texts = f"200 5 - steady phases {subsystem} 1 7 - - - - - - - - - -"
        tables = Tables(write(export, "os-signpost-interval", texts), frozenset({pid}))
        phases = tables["phases"][["start", "clock"]].to_numpy().tolist()
        assert phases == [[start, clock]], (subsystem, pid)
        assert tables.warnings == (), (subsystem, pid)
